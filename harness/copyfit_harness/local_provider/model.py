"""Build the model file of a variant once, and find it again in the cache folder."""

import hashlib
import os
import tempfile
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from copyfit_harness.local_provider.extra import installed
from copyfit_harness.local_provider.options import TRAINING_CONTEXT, ModelVariant
from copyfit_harness.local_provider.vocabulary import (
    Vocabulary,
    byte_alphabet,
    find_vocabulary,
    merges,
    read_vocabulary,
    spell,
)
from copyfit_harness.local_provider.weights import (
    EPSILON,
    FEED_FORWARD,
    HEAD_WIDTH,
    HEADS,
    HIDDEN,
    ROTARY_BASE,
    Weights,
    make_weights,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_TEMPLATE_FILE = "chat_template.jinja"
_SHAPING_FILES = ("options.py", "vocabulary.py", "steering.py", "weights.py", "model.py", _TEMPLATE_FILE)
_SHAPING_DISTRIBUTIONS = ("gguf", "numpy")


def default_cache_folder() -> Path:
    """Return the folder of model files: `copyfit/models` under `$XDG_CACHE_HOME`, else under `~/.cache`."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "copyfit" / "models"


def ensure_model(variant: ModelVariant, *, seed: int, folder: Path) -> Path:
    """Return the model file of `variant` in `folder`, building it first where it is missing (23 MB, 3 seconds).

    The name carries a digest of everything that shapes the bytes, so a file of that name is never stale. It is
    moved into place whole: of two builders at once, the later one puts the same bytes over the earlier one's file.

    Raises:
        EnvironmentLacks: gguf, numpy or mistral-common is missing.

    """
    vocabulary_file = find_vocabulary()
    path = folder / f"tiny-{variant}-{_digest(variant, seed, vocabulary_file)}.gguf"
    if path.is_file():
        return path
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="building-", dir=folder) as scratch:
        unfinished = Path(scratch) / path.name
        vocabulary = read_vocabulary(vocabulary_file)
        write_gguf(unfinished, vocabulary, make_weights(vocabulary, variant, seed))
        unfinished.replace(path)
    return path


def _digest(variant: ModelVariant, seed: int, vocabulary_file: Path) -> str:
    """Digest the request, the vocabulary, the code of this room and the libraries that write the file."""
    digest = hashlib.sha256(f"{variant} {seed}".encode())
    digest.update(vocabulary_file.read_bytes())
    for name in _SHAPING_FILES:
        digest.update(resources.files(__package__).joinpath(name).read_bytes())
    for name in _SHAPING_DISTRIBUTIONS:
        digest.update(f"{name} {installed(name).version}".encode())
    return digest.hexdigest()[:16]


def write_gguf(path: Path, vocabulary: Vocabulary, weights: Weights) -> None:
    """Write the model as a GGUF file of the `llama` architecture, its large matrices in 8 bits (Q8_0)."""
    import gguf
    import numpy as np

    writer = gguf.GGUFWriter(str(path), "llama")
    _add_shape(writer, len(vocabulary))
    _add_tokenizer(writer, vocabulary)
    norm = np.ones(HIDDEN, dtype=np.float32)
    _add_quantised(writer, "token_embd.weight", weights.embedding)
    _add_quantised(writer, "output.weight", weights.output)
    writer.add_tensor("output_norm.weight", norm)
    for name in ("attn_norm", "ffn_norm"):
        writer.add_tensor(f"blk.0.{name}.weight", norm)
    for name, matrix in weights.layer.items():
        writer.add_tensor(f"blk.0.{name}.weight", matrix.astype(np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_quantised(writer: Any, name: str, matrix: "NDArray[np.float32]") -> None:
    import gguf

    kind = gguf.GGMLQuantizationType.Q8_0
    writer.add_tensor(name, gguf.quants.quantize(matrix, kind), raw_dtype=kind)


def _add_shape(writer: Any, vocabulary_size: int) -> None:
    import gguf

    writer.add_name("copyfit tiny random")
    writer.add_context_length(TRAINING_CONTEXT)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(1)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(EPSILON)
    writer.add_rope_dimension_count(HEAD_WIDTH)
    writer.add_rope_freq_base(ROTARY_BASE)
    writer.add_vocab_size(vocabulary_size)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)


def _add_tokenizer(writer: Any, vocabulary: Vocabulary) -> None:
    import gguf

    alphabet = byte_alphabet()
    spelt = {token: spell(token, alphabet) for token in vocabulary.ordinary}
    kinds = [gguf.TokenType.CONTROL] * len(vocabulary.control) + [gguf.TokenType.NORMAL] * len(vocabulary.ordinary)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("tekken")
    writer.add_token_list([*vocabulary.control, *spelt.values()])
    writer.add_token_types(kinds)
    writer.add_token_merges([f"{spelt[left]} {spelt[right]}" for left, right in merges(vocabulary.ordinary)])
    writer.add_unk_token_id(vocabulary.control_id("<unk>"))
    writer.add_bos_token_id(vocabulary.control_id("<s>"))
    writer.add_eos_token_id(vocabulary.control_id("</s>"))
    writer.add_pad_token_id(vocabulary.control_id("<pad>"))
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)
    writer.add_chat_template(resources.files(__package__).joinpath(_TEMPLATE_FILE).read_text("utf-8"))
