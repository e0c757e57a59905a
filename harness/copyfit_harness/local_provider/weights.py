"""Make the weights of the model: one transformer layer of noise with one attention head made by hand.

Shapes are (outputs, inputs), as a GGUF file has them. Noise comes from the raw bits of PCG64, whose stream numpy
promises to keep (NEP 19), so that a seed gives the same model with every numpy.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from copyfit_harness.local_provider.options import ModelVariant
from copyfit_harness.local_provider.steering import MARKS, Channel, pulls, token_id
from copyfit_harness.local_provider.vocabulary import Vocabulary

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix: TypeAlias = NDArray[np.float32]

HIDDEN = 64
HEADS = 2
HEAD_WIDTH = HIDDEN // HEADS
FEED_FORWARD = 64
EPSILON = 1e-5

ROTARY_BASE = 1e9
"""Slow enough that the last rotary pair turns by 0.0005 radians over the whole training context."""

_SLOWEST = HEAD_WIDTH - 2
"""The first dimension of that pair: what is written there by hand does not depend on the position."""

# Above 1, attention picks a few tokens out of the whole prompt, so that each turn of a conversation answers
# differently under the same sampling seed.
_QUERY_SHARPNESS = 12.0
_ATTENTION_SHARE = 1.0
_FEED_FORWARD_SHARE = 0.1
_HEAD_SHARE = 1.5


@dataclass(frozen=True, slots=True)
class Weights:
    """Hold the matrices of the model; `layer` maps the name of each matrix of the one layer to it."""

    embedding: "Matrix"
    output: "Matrix"
    layer: "dict[str, Matrix]"


class Noise:
    """Draw matrices of independent numbers, evenly spread, of variance `share**2 / columns`."""

    def __init__(self, seed: int) -> None:
        from numpy.random import PCG64

        self._bits = PCG64(seed)

    def matrix(self, rows: int, columns: int, share: float = 1.0) -> "Matrix":
        """Draw the next matrix; `columns` a multiple of 4, one raw number of 64 bits gives four values."""
        import numpy as np

        raw = self._bits.random_raw(rows * columns // 4).astype("<u8").view("<i2").reshape(rows, columns)
        scale = np.float32(share * (3.0 / columns) ** 0.5 / 2**15)
        return raw.astype(np.float32) * scale


def make_weights(vocabulary: Vocabulary, variant: ModelVariant, seed: int) -> Weights:
    """Make the weights that `variant` has for `seed`; the two variants differ in the output matrix alone."""
    noise = Noise(seed)
    return Weights(
        embedding=_embedding(noise, vocabulary),
        output=_output(noise, vocabulary, variant),
        layer=_attention(noise) | _feed_forward(noise),
    )


def _embedding(noise: Noise, vocabulary: Vocabulary) -> "Matrix":
    matrix = noise.matrix(len(vocabulary), HIDDEN)
    matrix[:, : len(Channel)] = 0.0
    matrix[:, Channel.STEADY] = 1.0
    for name, channel, size in MARKS:
        matrix[token_id(vocabulary, name), channel] = size
    return matrix


def _output(noise: Noise, vocabulary: Vocabulary, variant: ModelVariant) -> "Matrix":
    import numpy as np

    matrix = noise.matrix(len(vocabulary), HIDDEN, _HEAD_SHARE)
    by_token = pulls(vocabulary, variant)
    matrix[[not pull.noisy for pull in by_token]] = 0.0
    matrix[:, : len(Channel)] = np.array([pull.by_channel() for pull in by_token], dtype=np.float32)
    return matrix


def _attention(noise: Noise) -> "dict[str, Matrix]":
    """Make a first head that finds [AVAILABLE_TOOLS] from anywhere and writes OFFERED; the second is noise."""
    query = noise.matrix(HIDDEN, HIDDEN, _QUERY_SHARPNESS)
    key = noise.matrix(HIDDEN, HIDDEN)
    value = noise.matrix(HIDDEN, HIDDEN)
    output = noise.matrix(HIDDEN, HIDDEN, _ATTENTION_SHARE)
    for matrix in (query, key, value):
        matrix[:HEAD_WIDTH] = 0.0
        matrix[:, : len(Channel)] = 0.0
    output[:, :HEAD_WIDTH] = 0.0
    output[: len(Channel)] = 0.0
    # Scores 39 or more where the beacon is and 0 elsewhere: e**39 outweighs any number of other tokens.
    query[_SLOWEST, Channel.STEADY] = 3.0
    key[_SLOWEST, Channel.BEACON] = 3.0
    value[0, Channel.BEACON] = 1.0
    output[Channel.OFFERED, 0] = 0.267
    return {"attn_q": query, "attn_k": key, "attn_v": value, "attn_output": output}


def _feed_forward(noise: Noise) -> "dict[str, Matrix]":
    gate = noise.matrix(FEED_FORWARD, HIDDEN)
    up = noise.matrix(FEED_FORWARD, HIDDEN)
    down = noise.matrix(HIDDEN, FEED_FORWARD, _FEED_FORWARD_SHARE)
    down[: len(Channel)] = 0.0
    return {"ffn_gate": gate, "ffn_up": up, "ffn_down": down}
