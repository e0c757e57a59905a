"""Start llama.cpp's server as a child process, wait until it answers, and stop it by its own handle."""

import http.client
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from copyfit_harness.errors import EnvironmentLacks
from copyfit_harness.local_provider.extra import installed
from copyfit_harness.local_provider.model import default_cache_folder, ensure_model
from copyfit_harness.local_provider.options import LocalProviderOptions

_HOST = "127.0.0.1"
_SERVER_MODULE = "copyfit_harness.local_provider.serve"
_POLL_SECONDS = 0.05
_STOP_SECONDS = 5.0
_TAIL_LINES = 20


class LocalProvider:
    """Hold a running server; leaving the context, or `stop`, ends it.

    `base_url` is what OpenAI clients take, with `/v1` at its end; `model` is the name the server answers with;
    `description` says what was run, for the metadata of cassettes recorded from it.
    """

    def __init__(self, process: "ServerProcess", *, address: str, model: str, description: str) -> None:
        self._process = process
        self.base_url = f"{address}/v1"
        self.model = model
        self.description = description

    @classmethod
    def start(
        cls,
        options: LocalProviderOptions | None = None,
        *,
        timeout_seconds: float = 60.0,
        cache_dir: Path | None = None,
        port: int = 0,
    ) -> Self:
        """Build the model if `cache_dir` has none, start the server, and return once it answers.

        `timeout_seconds` bounds the start of the server; building the model comes before it. `port` 0 takes a free
        one.

        Raises:
            EnvironmentLacks: a package of the extra `local` is missing, `port` is taken, or the server ended or
                was not ready in time (the end of its log is in the message).

        """
        options = options or LocalProviderOptions()
        release = installed("xllamacpp").version
        _require_free(port)
        model_file = ensure_model(options.variant, seed=options.seed, folder=cache_dir or default_cache_folder())
        model = f"copyfit-tiny-{options.variant}"
        process = ServerProcess(server_arguments(options, model_file=model_file, alias=model, port=port))
        with ExitStack() as on_failure:
            on_failure.callback(process.stop)
            address = process.wait_until_ready(timeout_seconds)
            on_failure.pop_all()
        description = f"llama.cpp server of xllamacpp {release}, tiny random model (tekken vocabulary)"
        return cls(process, address=address, model=model, description=description)

    @property
    def process_id(self) -> int:
        """Return the process id of the server."""
        return self._process.process_id

    def stop(self) -> None:
        """End the server and wait until it is gone; a second call does nothing."""
        self._process.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class ServerProcess:
    """Own the child process, the pipe that keeps it alive, and its log, an unnamed file."""

    def __init__(self, arguments: list[str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="copyfit-server-")
        self._address_file = Path(self._folder.name) / "address"
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the child
        # A session of its own: Ctrl-C reaches the parent alone, which stops the server or lets go of the pipe.
        self._child = subprocess.Popen(
            [sys.executable, "-m", _SERVER_MODULE, "--address-file", str(self._address_file), *arguments],
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    @property
    def process_id(self) -> int:
        """Return the process id of the child."""
        return self._child.pid

    def wait_until_ready(self, timeout_seconds: float) -> str:
        """Wait until the server has named its address and answers there; return it, without a path.

        Raises:
            EnvironmentLacks: the child ended, or the time was up first; the child is gone then.

        """
        deadline = time.monotonic() + timeout_seconds
        while time.monotonic() < deadline:
            if self._child.poll() is not None:
                what = f"The local server ended at its start, with code {self._child.returncode}"
                raise self._failure(what, "Mend what the end of its log tells")
            if self._address_file.exists():
                address = self._address_file.read_text("ascii")
                if _answers(address):
                    # Not kept until the end: a parent that is killed would leave it behind.
                    self._folder.cleanup()
                    return address
            time.sleep(_POLL_SECONDS)
        what = f"The local server was not ready within {timeout_seconds:g} seconds"
        raise self._failure(what, "Give it a larger timeout_seconds, or mend what the end of its log tells")

    def stop(self) -> None:
        """End the child and drop its files; a second call does nothing."""
        self._end()
        self._log.close()
        self._folder.cleanup()

    def _end(self) -> None:
        """Close the pipe, ask the child to end, and kill it if it does not."""
        if self._child.stdin is not None:
            self._child.stdin.close()
        self._child.terminate()
        try:
            self._child.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    def _failure(self, what: str, remedy: str) -> EnvironmentLacks:
        # The child writes through the same file position: it must be gone before the log is read.
        self._end()
        self._log.seek(0)
        tail = self._log.read().decode("utf-8", errors="replace").splitlines()[-_TAIL_LINES:]
        return EnvironmentLacks(what, "\n".join([f"{remedy}:", *(tail or ["(it is empty)"])]))


def server_arguments(options: LocalProviderOptions, *, model_file: Path, alias: str, port: int) -> list[str]:
    """Write the options as the command line that the child understands."""
    arguments = [str(model_file), "--alias", alias, "--port", str(port)]
    arguments += ["--pool-tokens", str(options.pool_tokens), "--slots", str(options.slots)]
    if options.shared_kv:
        arguments.append("--shared-kv")
    if options.prompt_cache:
        arguments.append("--prompt-cache")
    return arguments


def _require_free(port: int) -> None:
    """Refuse a port that somebody listens on, where llama.cpp's own complaint would be hard to read."""
    with socket.socket() as probe:
        if sys.platform != "win32":
            # Else connections that a former server left in TIME_WAIT would count as use. A listener still does.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError as error:
            raise EnvironmentLacks(
                f"Port {port} of {_HOST} cannot be used ({error.strerror})",
                "Stop what listens there, or ask for another port; 0 takes a free one.",
            ) from error


def _answers(address: str) -> bool:
    """Ask `/health`; 503 means that the model is still loading.

    The standard library asks, not httpx: a recorder may have its hook in every httpx client of this process.
    """
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=1.0)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
