import base64
import json
from collections import Counter
from collections.abc import Callable
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from copyfit_harness.errors import EnvironmentLacks
from copyfit_harness.local_provider.vocabulary import (
    Vocabulary,
    byte_alphabet,
    find_vocabulary,
    merges,
    parse_tekken,
    read_vocabulary,
    spell,
)

Order = Callable[[bytes, bytes], int | None]
"""How early a pair is joined: the lower the earlier, None for never."""


def tekken_document(*tokens: bytes, control: int = 22, beyond: int = 1) -> dict[str, Any]:
    """Return a tekken document of `tokens`, with entries beyond its declared size as the real file has them."""
    listed = [*tokens, *(b"beyond%d" % place for place in range(beyond))]
    return {
        "config": {"default_num_special_tokens": control, "default_vocab_size": control + len(tokens)},
        "vocab": [{"token_bytes": base64.b64encode(token).decode()} for token in listed],
    }


def by_ranks(ordinary: tuple[bytes, ...]) -> Order:
    ranks = {token: rank for rank, token in enumerate(ordinary)}
    return lambda left, right: ranks.get(left + right)


def by_merges(ordinary: tuple[bytes, ...]) -> Order:
    places = {pair: place for place, pair in enumerate(merges(ordinary))}
    return lambda left, right: places.get((left, right))


def join(text: bytes, order: Order) -> list[bytes]:
    """Join the bytes of `text`, always the pair of the lowest order and of those the leftmost."""
    parts = [text[place : place + 1] for place in range(len(text))]
    while True:
        orders = [(order(left, right), place) for place, (left, right) in enumerate(pairwise(parts))]
        allowed = [(first, place) for first, place in orders if first is not None]
        if not allowed:
            return parts
        place = min(allowed)[1]
        parts[place : place + 2] = [parts[place] + parts[place + 1]]


def train(corpus: bytes, rounds: int) -> tuple[bytes, ...]:
    """Train a rank table on `corpus` (of a, b and blanks): each round makes the most frequent pair a token."""
    ordinary: tuple[bytes, ...] = (b"a", b"b", b" ")
    for _ in range(rounds):
        pairs = Counter(left + right for left, right in pairwise(join(corpus, by_ranks(ordinary))))
        if not pairs:
            break
        ordinary += (pairs.most_common(1)[0][0],)
    return ordinary


class TestParsing:
    def test_the_declared_size_cuts_the_list_of_tokens(self) -> None:
        vocabulary = parse_tekken(tekken_document(b"a", b"b", b"ab", control=22, beyond=5))
        assert vocabulary.ordinary == (b"a", b"b", b"ab")
        assert len(vocabulary) == 25

    def test_control_tokens_without_a_name_are_filled_up(self) -> None:
        vocabulary = parse_tekken(tekken_document(b"a", control=22))
        assert vocabulary.control[-3:] == ("[TOOL_CONTENT]", "<SPECIAL_20>", "<SPECIAL_21>")

    def test_ordinary_ids_come_after_the_control_tokens(self) -> None:
        vocabulary = parse_tekken(tekken_document(b"a", b"b", control=22))
        assert vocabulary.control_id("</s>") == 2
        assert vocabulary.ordinary_id(b"b") == 23

    def test_a_file_is_read_as_its_document(self, tmp_path: Path) -> None:
        file = tmp_path / "tekken.json"
        file.write_text(json.dumps(tekken_document(b"a", b"b")))
        assert read_vocabulary(file) == parse_tekken(tekken_document(b"a", b"b"))

    def test_a_token_that_is_not_there_has_no_id(self) -> None:
        vocabulary = Vocabulary(control=("<unk>",), ordinary=(b"a",))
        with pytest.raises(ValueError, match="not in tuple"):
            vocabulary.control_id("[INST]")


class TestFinding:
    def test_a_missing_distribution_names_the_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def absent(name: str) -> metadata.Distribution:
            raise metadata.PackageNotFoundError(name)

        monkeypatch.setattr(metadata, "distribution", absent)
        with pytest.raises(EnvironmentLacks, match=r'mistral-common.*pip install "copyfit\[local\]"') as caught:
            find_vocabulary()
        assert isinstance(caught.value.__cause__, metadata.PackageNotFoundError)

    def test_a_release_without_the_file_is_named(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        folder = tmp_path / "mistral_common-0.1.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text("Name: mistral-common\nVersion: 0.1\n")
        monkeypatch.setattr(metadata, "distribution", lambda name: metadata.Distribution.at(folder))
        with pytest.raises(EnvironmentLacks, match=r"mistral-common 0\.1 brings no .*tekken"):
            find_vocabulary()

    @pytest.mark.live
    def test_the_installed_file_begins_with_the_single_bytes(self) -> None:
        vocabulary = read_vocabulary(find_vocabulary())
        assert (len(vocabulary), len(vocabulary.control)) == (131_072, 1000)
        assert vocabulary.ordinary[:256] == tuple(bytes([byte]) for byte in range(256))

    @pytest.mark.live
    def test_every_longer_token_of_the_installed_file_has_a_merge(self) -> None:
        ordinary = read_vocabulary(find_vocabulary()).ordinary
        assert [left + right for left, right in merges(ordinary)] == [
            token for token in ordinary if len(token) > 1
        ]


class TestMerges:
    def test_a_pair_of_bytes_is_its_own_merge(self) -> None:
        assert list(merges((b"a", b"b", b"ab"))) == [(b"a", b"b")]

    def test_a_longer_token_is_split_where_the_lower_ranks_leave_two_parts(self) -> None:
        assert list(merges((b"a", b"b", b"c", b"bc", b"ab", b"abc"))) == [
            (b"b", b"c"),
            (b"a", b"b"),
            (b"a", b"bc"),
        ]

    def test_a_rank_above_the_token_takes_no_part(self) -> None:
        assert list(merges((b"a", b"b", b"c", b"ab", b"abc", b"bc"))) == [
            (b"a", b"b"),
            (b"ab", b"c"),
            (b"b", b"c"),
        ]

    def test_of_equal_pairs_the_leftmost_is_joined_first(self) -> None:
        assert list(merges((b"a", b"aa", b"aaa"))) == [(b"a", b"a"), (b"aa", b"a")]

    def test_a_token_out_of_reach_yields_nothing(self) -> None:
        assert list(merges((b"a", b"b", b"c", b"abc"))) == []

    @given(corpus=st.text("ab ", max_size=60), text=st.text("ab ", max_size=20), rounds=st.integers(0, 12))
    def test_joining_by_merges_is_joining_by_ranks(self, corpus: str, text: str, rounds: int) -> None:
        ordinary = train(corpus.encode(), rounds)
        assume(len(list(merges(ordinary))) == sum(len(token) > 1 for token in ordinary))
        assert join(text.encode(), by_merges(ordinary)) == join(text.encode(), by_ranks(ordinary))


class TestSpelling:
    def test_each_byte_has_a_visible_character_of_its_own(self) -> None:
        characters = byte_alphabet()
        assert len(set(characters.values())) == len(characters) == 256
        assert all(character.isprintable() and not character.isspace() for character in characters.values())

    def test_blanks_are_spelt_as_gpt2_spells_them(self) -> None:
        assert spell(b" a\n\t", byte_alphabet()) == "ĠaĊĉ"

    @given(st.binary(max_size=12))
    def test_spelling_can_be_undone(self, token: bytes) -> None:
        alphabet = byte_alphabet()
        back = {character: byte for byte, character in alphabet.items()}
        assert bytes(back[character] for character in spell(token, alphabet)) == token
