from argparse import Namespace
from pathlib import Path

import pytest

from copyfit_harness.local_provider import LocalProviderOptions
from copyfit_harness.local_provider.provider import server_arguments
from copyfit_harness.local_provider.serve import argument_parser


def understood(options: LocalProviderOptions) -> Namespace:
    arguments = server_arguments(options, model_file=Path("m.gguf"), alias="tiny", port=8080)
    return argument_parser().parse_args(["--address-file", "address", *arguments])


def test_the_child_understands_what_the_parent_writes() -> None:
    read = understood(LocalProviderOptions(context_tokens=512, slots=2))
    assert (read.model, read.alias, read.port, read.address_file) == ("m.gguf", "tiny", 8080, Path("address"))
    assert (read.pool_tokens, read.slots, read.shared_kv, read.prompt_cache) == (1024, 2, False, False)


def test_each_switch_arrives() -> None:
    read = understood(LocalProviderOptions(context_tokens=512, slots=2, shared_kv=True, prompt_cache=True))
    assert (read.pool_tokens, read.shared_kv, read.prompt_cache) == (512, True, True)


def test_a_server_without_a_place_for_its_address_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        argument_parser().parse_args(["m.gguf", "--alias", "tiny"])
    assert "--address-file" in capsys.readouterr().err
