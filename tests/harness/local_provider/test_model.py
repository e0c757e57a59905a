import json
import os
import stat
from importlib import metadata
from pathlib import Path

import pytest

from copyfit_harness.errors import EnvironmentLacks
from copyfit_harness.local_provider import ModelVariant, model
from copyfit_harness.local_provider.model import default_cache_folder, ensure_model


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Path]:
    """Replace the vocabulary and the writing of the file, and list the files that were written."""
    vocabulary_file = tmp_path / "tekken.json"
    vocabulary_file.write_text(
        json.dumps({"config": {"default_num_special_tokens": 20, "default_vocab_size": 20}, "vocab": []})
    )
    written: list[Path] = []

    def write(path: Path, vocabulary: object, weights: object) -> None:
        path.write_bytes(b"a model")
        written.append(path)

    def found(name: str) -> metadata.Distribution:
        return metadata.distribution("pytest")

    monkeypatch.setattr(model, "find_vocabulary", lambda: vocabulary_file)
    monkeypatch.setattr(model, "installed", found)
    monkeypatch.setattr(model, "make_weights", lambda vocabulary, variant, seed: None)
    monkeypatch.setattr(model, "write_gguf", write)
    return written


class TestCacheFolder:
    def test_xdg_cache_home_comes_first(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert default_cache_folder() == tmp_path / "copyfit" / "models"

    @pytest.mark.parametrize("value", ["", None])
    def test_without_it_the_home_folder_has_one(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str | None
    ) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        if value is None:
            monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        else:
            monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert default_cache_folder() == tmp_path / ".cache" / "copyfit" / "models"


class TestNaming:
    def test_the_same_model_is_built_once(self, builds: list[Path], tmp_path: Path) -> None:
        first = ensure_model(ModelVariant.PLAIN, seed=7, folder=tmp_path / "models")
        again = ensure_model(ModelVariant.PLAIN, seed=7, folder=tmp_path / "models")
        assert first == again
        assert first.read_bytes() == b"a model"
        assert len(builds) == 1

    def test_each_variant_and_seed_has_a_file_of_its_own(self, builds: list[Path], tmp_path: Path) -> None:
        wanted = [(variant, seed) for variant in ModelVariant for seed in (7, 8)]
        paths = {ensure_model(variant, seed=seed, folder=tmp_path / "models") for variant, seed in wanted}
        assert len(paths) == len(builds) == 4

    def test_another_vocabulary_is_another_model(
        self, builds: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        before = ensure_model(ModelVariant.PLAIN, seed=7, folder=tmp_path / "models")
        changed = tmp_path / "changed.json"
        changed.write_text((tmp_path / "tekken.json").read_text() + "\n")
        monkeypatch.setattr(model, "find_vocabulary", lambda: changed)
        assert ensure_model(ModelVariant.PLAIN, seed=7, folder=tmp_path / "models") != before

    def test_another_writer_is_another_model(
        self, builds: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        before = ensure_model(ModelVariant.PLAIN, seed=7, folder=tmp_path / "models")
        monkeypatch.setattr(model, "installed", lambda name: metadata.distribution("hypothesis"))
        assert ensure_model(ModelVariant.PLAIN, seed=7, folder=tmp_path / "models") != before


class TestBuilding:
    @pytest.mark.skipif(os.name == "nt", reason="Windows has no such permission bits")
    def test_a_new_folder_is_for_its_owner_alone(self, builds: list[Path], tmp_path: Path) -> None:
        ensure_model(ModelVariant.PLAIN, seed=7, folder=tmp_path / "models")
        assert stat.S_IMODE((tmp_path / "models").stat().st_mode) == 0o700

    def test_a_build_that_fails_leaves_nothing(
        self, builds: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        def fail(path: Path, vocabulary: object, weights: object) -> None:
            path.write_bytes(b"half a mo")
            raise OSError("no space left")

        monkeypatch.setattr(model, "write_gguf", fail)
        with pytest.raises(OSError, match="no space left"):
            ensure_model(ModelVariant.PLAIN, seed=7, folder=tmp_path / "models")
        assert list((tmp_path / "models").iterdir()) == []

    @pytest.mark.parametrize("missing", ["gguf", "numpy"])
    def test_a_missing_library_names_the_extra(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, missing: str
    ) -> None:
        def look_up(name: str) -> metadata.Distribution:
            if name == missing:
                raise metadata.PackageNotFoundError(name)
            return metadata.Distribution.from_name("pytest")

        vocabulary_file = tmp_path / "tekken.json"
        vocabulary_file.write_text("{}")
        monkeypatch.setattr(model, "find_vocabulary", lambda: vocabulary_file)
        monkeypatch.setattr(metadata, "distribution", look_up)
        with pytest.raises(EnvironmentLacks, match=rf'{missing} is not installed.*pip install "copyfit\[local\]"'):
            ensure_model(ModelVariant.PLAIN, seed=7, folder=tmp_path / "models")
        assert not (tmp_path / "models").exists()

    @pytest.mark.live
    def test_one_seed_is_one_file_byte_for_byte(self, tmp_path: Path) -> None:
        first, again = (ensure_model(ModelVariant.TOOLS, seed=7, folder=tmp_path / name) for name in ("a", "b"))
        assert first.name == again.name
        assert first.read_bytes() == again.read_bytes()
