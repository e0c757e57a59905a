"""The local real providers that the live tests share: each is started by the first test that asks for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from copyfit_harness.local_provider import LocalProvider, LocalProviderOptions, ModelVariant


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder in which this session builds its models, each once."""
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def plain_provider(model_folder: Path) -> Iterator[LocalProvider]:
    """Run the model that answers prose, with a window of 4,096 tokens."""
    with LocalProvider.start(LocalProviderOptions(variant=ModelVariant.PLAIN), cache_dir=model_folder) as provider:
        yield provider


@pytest.fixture(scope="session")
def tools_provider(model_folder: Path) -> Iterator[LocalProvider]:
    """Run the model that answers offered tools with one call, with a window of 4,096 tokens."""
    with LocalProvider.start(LocalProviderOptions(variant=ModelVariant.TOOLS), cache_dir=model_folder) as provider:
        yield provider
