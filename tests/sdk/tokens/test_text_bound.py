from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.tokens.families import FAMILIES, UNKNOWN
from copyfit.tokens.text_bound import TextWeights, bound_text

NOTHING = TextWeights(**{field.name: 0.0 for field in fields(TextWeights)})
FAMILY_NAMES = sorted(FAMILIES)


def count(text: str, feature: str) -> int:
    return bound_text(text, replace(NOTHING, **{feature: 1.0}))


@pytest.mark.parametrize(
    ("text", "feature", "expected"),
    [
        ("one two  three", "word", 3),
        ("readFileNow", "word", 3),
        ("HTTPServer", "word", 1),
        ("internationalization", "long", 16),
        ("internationalization", "very_long", 12),
        ("The cat and The Dog", "title", 3),
        ("iPhone DNA", "capital", 3),
        ("2024-01-15", "digit", 8),
        ("2024-01-15", "number", 3),
        ("a 12 b3 4", "spaced_number", 2),
        ('{"a":1}', "mark", 5),
        ('{"a":1}', "mark_run", 3),
        ("a\n\tb", "newline", 2),
        ("a    b  c d", "indent", 2),
        ("科学", "simplified", 2),
        ("學習", "traditional", 2),
        ("龘", "ideograph", 1),
        ("カタ かな", "kana", 4),
        ("한국어", "hangul", 3),
        ("。，！", "cjk_mark", 3),
        ("éαβ", "latin", 3),
        ("Привет", "cyrillic", 6),
        ("שלום سلام", "semitic", 8),
        ("नमस्ते", "indic", 6),
        ("∑≤", "sign", 2),
        ("😀🚀", "astral", 2),
    ],
)
def test_a_feature_is_counted_where_it_occurs(text: str, feature: str, expected: int) -> None:
    assert count(text, feature) == expected


def test_text_outside_ascii_parts_words_and_costs_no_newline() -> None:
    assert count("gene基因gene", "word") == 2
    assert count("gene基因gene", "newline") == 0
    assert count("基 5", "spaced_number") == 1


def test_an_empty_text_costs_nothing() -> None:
    assert bound_text("", UNKNOWN.weights) == 0


@pytest.mark.parametrize("name", FAMILY_NAMES)
@given(text=st.text(max_size=300))
def test_a_text_never_costs_less_than_its_words_and_ideographs(name: str, text: str) -> None:
    weights = FAMILIES[name].weights
    words = sum(word.isascii() and word.isalpha() for word in text.split())
    ideographs = sum("\u4e00" <= character <= "\u9fff" for character in text)
    assert bound_text(text, weights) >= 0.9 * words + ideographs


@given(left=st.text(max_size=200), right=st.text(max_size=200))
def test_lines_cost_the_same_together_as_apart(left: str, right: str) -> None:
    weights = UNKNOWN.weights
    apart = bound_text(left, weights) + bound_text("\n", weights) + bound_text(right, weights)
    assert apart - 3 <= bound_text(left + "\n" + right, weights) <= apart


@given(text=st.text(alphabet=st.characters(codec="utf-8"), max_size=300))
def test_the_unknown_family_bounds_every_other_family(text: str) -> None:
    highest = max(bound_text(text, family.weights) for family in FAMILIES.values())
    assert bound_text(text, UNKNOWN.weights) == highest


def test_half_a_token_a_character_would_undercount_chinese_and_this_does_not() -> None:
    text = "苯甲酸乙酯与头孢菌素类抗生素的药代动力学研究" * 40
    assert bound_text(text, UNKNOWN.weights) > len(text) * 1.1 > (len(text) + 1) // 2


@pytest.fixture(scope="module")
def real_vocabulary() -> object:
    """Tekken, an open vocabulary that a wheel of the `local` group carries; nothing is fetched."""
    mistral_common = pytest.importorskip("mistral_common", reason="the wheel with a vocabulary is not installed")
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    return Tekkenizer.from_file(Path(mistral_common.__file__).parent / "data" / "tekken_240911.json")


@pytest.mark.parametrize(
    "sample",
    [
        Path(__file__).read_text("utf-8"),
        "The kinetics of ethyl benzoate were measured in twelve rats over 48 hours; no toxicity was seen.\n" * 8,
        '{"type":"object","properties":{"path":{"type":"string","description":"A file"}},"required":["path"]}' * 8,
        "".join(f"{index},{index * 3.7:.3f},{index**3}\n" for index in range(80)),
        "动态上下文组装在每一轮都会重新计算系统提示词、工具和历史的预算，并且不会削弱受保护的指令。" * 10,
        "3fa85f64-5717-4562-b3fc-2c963f66afa6 " * 20,
        "CC(=O)OC1=CC=CC=C1C(=O)O.N[C@@H](C)C(=O)O " * 20,
        "苯甲酸乙酯、二甲基亚砜、四氢呋喃、乙酰水杨酸、盐酸二甲双胍、氯吡格雷、头孢曲松钠、左氧氟沙星。" * 10,
        "Привет, мир! Сегодня мы измеряем стоимость текста. " * 10,
    ],
    ids=["code", "english", "json", "csv", "chinese", "uuid", "smiles", "chemistry", "russian"],
)
def test_the_bound_holds_on_a_real_vocabulary(real_vocabulary: object, sample: str) -> None:
    true = len(real_vocabulary.encode(sample, bos=False, eos=False))  # type: ignore[attr-defined]
    assert bound_text(sample, FAMILIES["mistral"].weights) >= true
