"""A finished answer is judged by its finish reason, and by its own figures against a window that is known."""

from typing import Any

import pytest

from copyfit_adapters.overflow import Kind, judge
from copyfit_adapters.overflow.answers import answer_in


def openai_chat(finish: str, used: int, answered: int) -> dict[str, Any]:
    usage = {"prompt_tokens": used, "completion_tokens": answered}
    return {"choices": [{"finish_reason": finish, "message": {"content": ""}}], "usage": usage}


ANSWERS = [
    pytest.param(openai_chat("length", 900, 3), id="openai-chat"),
    pytest.param(
        {
            "status": "incomplete",
            "incomplete_details": {"reason": "max_output_tokens"},
            "usage": {"input_tokens": 900, "input_tokens_details": {"cached_tokens": 800}, "output_tokens": 3},
        },
        id="openai-responses",
    ),
    pytest.param(
        {
            "stop_reason": "max_tokens",
            "usage": {"input_tokens": 100, "cache_read_input_tokens": 800, "output_tokens": 3},
        },
        id="anthropic",
    ),
    pytest.param(
        {
            "candidates": [{"finishReason": "MAX_TOKENS"}],
            "usageMetadata": {"promptTokenCount": 900, "candidatesTokenCount": 3},
        },
        id="gemini",
    ),
    pytest.param(
        {"stopReason": "max_tokens", "usage": {"inputTokens": 900, "outputTokens": 3}, "output": {"message": {}}},
        id="bedrock",
    ),
    pytest.param(
        {"finish_reason": "MAX_TOKENS", "usage": {"tokens": {"input_tokens": 900, "output_tokens": 3}}},
        id="cohere",
    ),
    pytest.param({"done_reason": "length", "prompt_eval_count": 900, "eval_count": 3}, id="ollama"),
    pytest.param(
        {
            "type": "response.incomplete",
            "response": {
                "incomplete_details": {"reason": "max_output_tokens"},
                "usage": {"input_tokens": 900, "output_tokens": 3},
            },
        },
        id="responses-event",
    ),
]


@pytest.mark.parametrize("body", ANSWERS)
def test_the_figures_are_read_in_every_protocol(body: dict[str, Any]) -> None:
    answer = answer_in(body)
    assert answer is not None
    assert answer.finish in {"length", "max_tokens", "max_output_tokens"}
    assert (answer.input_tokens, answer.output_tokens) == (900, 3)


@pytest.mark.parametrize("body", ANSWERS)
@pytest.mark.parametrize(
    ("window", "kind"),
    [
        (None, Kind.OUTPUT_LIMIT),
        (8000, Kind.OUTPUT_LIMIT),
        (905, Kind.SILENT_TRUNCATION),
        (900, Kind.SILENT_TRUNCATION),
        (128, Kind.SILENT_TRUNCATION),
    ],
)
def test_a_stop_at_the_length_is_an_overflow_only_if_the_input_fills_the_window(
    body: dict[str, Any], window: int | None, kind: Kind
) -> None:
    verdict = judge(body, window_tokens=window)
    assert verdict is not None
    assert verdict.kind is kind
    assert verdict.is_context_overflow is (kind is Kind.SILENT_TRUNCATION)


def test_a_cut_input_reports_the_window_and_what_was_kept() -> None:
    verdict = judge(openai_chat("length", 1022, 0), window_tokens=1024)
    assert verdict is not None
    assert (verdict.limit_tokens, verdict.requested_tokens, verdict.at_least) == (1024, 1022, True)


def test_an_answer_after_a_nearly_full_window_is_good() -> None:
    assert judge(openai_chat("stop", 1020, 3), window_tokens=1024) is None


@pytest.mark.parametrize("finish", ["model_context_window_exceeded", "model_length", "REASON_MAX_CONTEXT"])
def test_a_finish_reason_can_name_the_window(finish: str) -> None:
    verdict = judge(openai_chat(finish, 10, 5))
    assert verdict is not None
    assert (verdict.kind, verdict.rule) == (Kind.CONTEXT_OVERFLOW, "stopped-by-window")


@pytest.mark.parametrize("finish", ["content_filter", "refusal", "SAFETY"])
def test_a_refused_content_is_no_overflow(finish: str) -> None:
    verdict = judge({"stop_reason": finish, "usage": {"input_tokens": 5}})
    assert verdict is not None
    assert verdict.kind is Kind.CONTENT_FILTER


def test_an_answer_with_nothing_wrong_gets_no_verdict() -> None:
    assert judge(openai_chat("stop", 10, 5)) is None


def test_the_usage_beside_an_error_does_not_make_it_an_answer() -> None:
    verdict = judge({"error": {"message": "prompt is too long"}, "usage": {"prompt_tokens": 3}})
    assert verdict is not None
    assert verdict.kind is Kind.CONTEXT_OVERFLOW


def test_a_body_that_tells_an_error_beside_its_usage_is_no_answer() -> None:
    told = {"status_code": 1039, "status_msg": "token limit"}
    assert answer_in({"base_resp": told, "usage": {"prompt_tokens": 9}}) is None
    assert answer_in({"base_resp": {"status_code": 0}, "usage": {"prompt_tokens": 9}}) is not None


@pytest.mark.parametrize("body", [None, [], "text", {}, {"usage": None}, {"choices": []}, {"choices": ["x"]}])
def test_what_has_no_figures_is_no_answer(body: Any) -> None:
    assert answer_in(body) is None
