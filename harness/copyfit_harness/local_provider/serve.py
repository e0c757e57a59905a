"""Serve one model file with llama.cpp's HTTP server, as the child process of a `LocalProvider`.

Writes its address, `http://127.0.0.1:PORT`, to the file it is given, once it listens. Ends on SIGTERM, on SIGINT,
and when standard input closes: a parent that dies closes it, however it dies, so no server outlives its parent
(unless the parent forked: a forked copy holds the pipe open too).
"""

import argparse
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the server until it is told to stop, and return the exit code."""
    options = argument_parser().parse_args(arguments)
    stop = threading.Event()

    def on_signal(number: int, frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    threading.Thread(target=_wait_for_end_of_input, args=(stop,), daemon=True).start()

    import xllamacpp

    server = xllamacpp.Server(_parameters(options))
    _announce(server.listening_address, options.address_file)
    stop.wait()
    return 0


def _announce(address: str, file: Path) -> None:
    # Moved into place whole: the parent polls for the file, and must not read half an address.
    unfinished = file.with_suffix(".unfinished")
    unfinished.write_text(address, "ascii")
    unfinished.replace(file)


def _wait_for_end_of_input(stop: threading.Event) -> None:
    # Read without a file object: the lock that a daemon thread holds on one would abort the exit of Python.
    while os.read(sys.stdin.fileno(), 4096):
        pass
    stop.set()


def _parameters(options: argparse.Namespace) -> Any:
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = options.model
    parameters.model_alias = {options.alias}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = options.port
    parameters.n_ctx = options.pool_tokens
    parameters.n_parallel = options.slots
    parameters.kv_unified = options.shared_kv
    parameters.cache_prompt = options.prompt_cache
    if not options.prompt_cache:
        parameters.cache_ram_mib = 0
    parameters.fit_params = False
    parameters.warmup = False
    parameters.ui = False
    # There is no key: pages in a browser may not read answers, and nobody may read the prompts of others.
    parameters.cors_origins = ""
    parameters.endpoint_slots = False
    # A second thread gains a model of this size nothing, and waiting threads spin: on a busy machine that costs
    # several times the work.
    parameters.cpuparams.n_threads = 1
    return parameters


def argument_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="copyfit_harness.local_provider.serve", description=__doc__)
    parser.add_argument("model", help="the GGUF file to serve")
    parser.add_argument("--address-file", type=Path, required=True, help="where to write the address")
    parser.add_argument("--alias", required=True, help="the model name to answer with")
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free one")
    parser.add_argument(
        "--pool-tokens", type=int, default=4096, help="the window of all slots together, in tokens"
    )
    parser.add_argument("--slots", type=int, default=1, help="how many requests run at once")
    parser.add_argument("--shared-kv", action="store_true", help="let each slot use the whole pool")
    parser.add_argument("--prompt-cache", action="store_true", help="reuse the prefix of an earlier prompt")
    return parser


if __name__ == "__main__":
    sys.exit(main())
