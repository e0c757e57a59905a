"""The arrays themselves; numpy comes with the extra `local`, so these run with the live tests."""

import numpy as np
import pytest

from copyfit_harness.local_provider import ModelVariant
from copyfit_harness.local_provider.steering import Channel, token_id
from copyfit_harness.local_provider.vocabulary import CONTROL_TOKENS, Vocabulary
from copyfit_harness.local_provider.weights import HIDDEN, Noise, make_weights

pytestmark = pytest.mark.live

VOCABULARY = Vocabulary(control=CONTROL_TOKENS, ordinary=(b" word", b"word", b'"', b"]", b"}", b",", b"7"))
RESERVED = slice(0, len(Channel))
FREE = slice(len(Channel), HIDDEN)


def test_a_seed_gives_the_same_weights_again_and_another_seed_others() -> None:
    first, again, other = (make_weights(VOCABULARY, ModelVariant.TOOLS, seed) for seed in (7, 7, 8))
    assert np.array_equal(first.embedding, again.embedding)
    assert np.array_equal(first.layer["attn_v"], again.layer["attn_v"])
    assert not np.array_equal(first.embedding, other.embedding)


def test_the_variants_differ_in_what_they_bring_out_alone() -> None:
    plain, tools = (make_weights(VOCABULARY, variant, 7) for variant in ModelVariant)
    assert np.array_equal(plain.embedding, tools.embedding)
    assert all(np.array_equal(plain.layer[name], tools.layer[name]) for name in plain.layer)
    assert not np.array_equal(plain.output, tools.output)


def test_noise_is_centred_and_of_the_variance_it_names() -> None:
    drawn = Noise(7).matrix(4096, 64, share=2.0)
    assert abs(float(drawn.mean())) < 0.01
    assert float(drawn.var()) == pytest.approx(4.0 / 64, rel=0.02)


def test_the_layer_writes_one_reserved_channel_and_only_from_the_made_head() -> None:
    layer = make_weights(VOCABULARY, ModelVariant.TOOLS, 7).layer
    written = np.concatenate([layer["attn_output"][RESERVED], layer["ffn_down"][RESERVED]], axis=1)
    assert {tuple(place) for place in np.argwhere(written).tolist()} == {(int(Channel.OFFERED), 0)}


def test_a_token_that_noise_may_not_touch_reads_reserved_channels_only() -> None:
    output = make_weights(VOCABULARY, ModelVariant.TOOLS, 7).output
    assert not output[token_id(VOCABULARY, "[TOOL_CALLS]"), FREE].any()
    assert output[token_id(VOCABULARY, " word"), FREE].any()
