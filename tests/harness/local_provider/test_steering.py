import pytest

from copyfit_harness.local_provider import ModelVariant
from copyfit_harness.local_provider.steering import MARKS, Channel, Pull, pull_of_bytes, pulls, token_id
from copyfit_harness.local_provider.vocabulary import CONTROL_TOKENS, Vocabulary

VOCABULARY = Vocabulary(control=CONTROL_TOKENS, ordinary=(b" word", b"word", b'"', b"]", b"}", b",", b" \n", b"7"))

PROSE = {Channel.STEADY: 1.0}
OPENING = PROSE | {Channel.TURN: 2.0}
TOOLS_IN_SIGHT = PROSE | {Channel.OFFERED: 2.0}
STRING_OPENED = TOOLS_IN_SIGHT | {Channel.OPENED: 2.0}


def strength(pull: Pull, state: dict[Channel, float]) -> float:
    return sum(pull.by_channel()[channel] * level for channel, level in state.items())


def steered(name: str, variant: ModelVariant) -> Pull:
    return pulls(VOCABULARY, variant)[token_id(VOCABULARY, name)]


@pytest.mark.parametrize(
    "token", [b"", b" ", b"\n", b"\tx", b"x\n", b" }", b"}}", b'":', b"},", b' "a', b"[{", b"a:b"]
)
def test_blanks_and_groups_with_json_signs_are_held_back(token: bytes) -> None:
    assert strength(pull_of_bytes(token), PROSE) < 0


@pytest.mark.parametrize(
    "token", [b"{", b"}", b"[", b"]", b":", b",", b'"', b"7", b"_", b"a", "é".encode(), b" ."]
)
def test_single_json_signs_and_other_symbols_are_left_to_noise(token: bytes) -> None:
    assert pull_of_bytes(token) == Pull(noisy=True)


def test_prose_prefers_words_to_fragments_and_an_opened_string_the_reverse() -> None:
    word, fragment = pull_of_bytes(b" word"), pull_of_bytes(b"word")
    assert strength(word, PROSE) > strength(fragment, PROSE)
    assert strength(word, STRING_OPENED) < strength(fragment, STRING_OPENED)


@pytest.mark.parametrize("variant", ModelVariant)
def test_an_answer_may_end_but_not_where_it_begins(variant: ModelVariant) -> None:
    end, word = steered("</s>", variant), steered(" word", variant)
    assert strength(end, PROSE) > strength(word, PROSE)
    assert strength(end, OPENING) < strength(word, OPENING)


def test_a_call_needs_both_tools_in_sight_and_an_answer_that_begins() -> None:
    call = steered("[TOOL_CALLS]", ModelVariant.TOOLS)
    assert strength(call, OPENING | TOOLS_IN_SIGHT) > 10
    assert strength(call, OPENING) < 0
    assert strength(call, TOOLS_IN_SIGHT) < 0
    assert strength(call, PROSE) < 0


def test_a_string_is_closed_after_its_first_word_and_not_before() -> None:
    quote, fragment = steered('"', ModelVariant.TOOLS), steered("word", ModelVariant.TOOLS)
    assert strength(quote, TOOLS_IN_SIGHT) > strength(fragment, TOOLS_IN_SIGHT)
    assert strength(quote, STRING_OPENED) < strength(fragment, STRING_OPENED)


@pytest.mark.parametrize("state", [TOOLS_IN_SIGHT, STRING_OPENED])
def test_a_list_is_closed_rather_than_continued(state: dict[Channel, float]) -> None:
    assert strength(steered("]", ModelVariant.TOOLS), state) > strength(steered(",", ModelVariant.TOOLS), state)


def test_the_plain_variant_never_calls() -> None:
    call = steered("[TOOL_CALLS]", ModelVariant.PLAIN)
    assert max(strength(call, state) for state in (PROSE, OPENING, OPENING | TOOLS_IN_SIGHT)) < 0


def test_only_one_token_carries_the_beacon() -> None:
    assert [name for name, channel, _ in MARKS if channel is Channel.BEACON] == ["[AVAILABLE_TOOLS]"]


def test_every_mark_stands_on_a_token_of_its_own() -> None:
    ids = [token_id(VOCABULARY, name) for name, _, _ in MARKS]
    assert len(set(ids)) == len(ids)


def test_a_control_token_is_found_before_an_ordinary_one_of_that_spelling() -> None:
    vocabulary = Vocabulary(control=CONTROL_TOKENS, ordinary=(b"[INST]",))
    assert token_id(vocabulary, "[INST]") == CONTROL_TOKENS.index("[INST]")
