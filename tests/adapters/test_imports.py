"""Importing the adapters, or any one module of them, loads no HTTP client and no vendor's library."""

import subprocess
import sys
from pathlib import Path

import copyfit_adapters

ROOT = Path(copyfit_adapters.__file__).parent
HEAVY = {"httpx", "httpx2", "requests", "openai", "anthropic", "google.genai", "mistralai", "cohere", "ollama"}
HEAVY |= {"botocore", "google.auth", "litellm", "tiktoken"}


def test_no_module_loads_an_http_or_vendor_library() -> None:
    modules = [
        ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
        for path in sorted(ROOT.rglob("*.py"))
    ]
    assert "copyfit_adapters.http" in modules
    load = f"[importlib.import_module(name) for name in {modules}]"
    probe = f"import importlib, sys; {load}; print({HEAVY} & set(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "set()"
