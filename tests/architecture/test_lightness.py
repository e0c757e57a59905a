"""Importing a package loads what it needs and nothing heavier."""

import subprocess
import sys

import pytest

HEAVY = {
    "httpx", "httpx2", "requests", "aiohttp", "openai", "anthropic", "litellm", "tiktoken", "tokenizers",
    "mistral_common", "numpy", "yaml", "vcr", "respx", "pytest", "hypothesis", "typer", "rich", "jsonschema",
    "xllamacpp", "gguf",
}  # fmt: skip

PROBE = """
import sys, time
started = time.process_time()
import {module}
took = time.process_time() - started
print(took, *sorted({{name.partition(".")[0] for name in sys.modules}}))
"""


def probe(module: str) -> tuple[float, set[str]]:
    answer = subprocess.run(
        [sys.executable, "-I", "-c", PROBE.format(module=module)], capture_output=True, text=True, check=True
    )
    took, *loaded = answer.stdout.split()
    return float(took), set(loaded)


@pytest.mark.parametrize("module", ["copyfit", "copyfit_adapters", "copyfit_harness"])
def test_importing_a_package_loads_no_http_vendor_yaml_or_test_library(module: str) -> None:
    _, loaded = probe(module)
    assert loaded & HEAVY == set()


def test_the_pytest_plugin_loads_nothing_of_ours_but_itself() -> None:
    _, loaded = probe("copyfit_pytest")
    assert {name for name in loaded if name.startswith("copyfit")} == {"copyfit_pytest"}


def test_importing_copyfit_takes_under_three_tenths_of_a_second() -> None:
    """Seconds of the processor, the best of ten: other tests run beside this one."""
    assert min(probe("copyfit")[0] for _ in range(10)) < 0.3
