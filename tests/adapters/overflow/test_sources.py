"""Evidence is lifted out of what clients hand over: known by its shape, with no client library imported."""

import dataclasses
import json
import subprocess
import sys
from typing import Any

import httpx
import httpx2
import openai
import pytest
from openai.types.responses import ResponseErrorEvent

from copyfit_adapters.overflow import Kind, judge
from copyfit_adapters.overflow.sources import evidence_of

SENTENCE = "prompt is too long: 210000 tokens > 200000 maximum"
BODY = {"error": {"type": "invalid_request_error", "message": SENTENCE}}


def assert_overflow(error: object, **known: Any) -> None:
    verdict = judge(error, **known)
    assert verdict is not None
    assert verdict.kind is Kind.CONTEXT_OVERFLOW
    assert (verdict.limit_tokens, verdict.requested_tokens) == (200_000, 210_000)


class ShapedResponse:
    """The attributes that a response of requests and of botocore has; theirs are not httpx's classes."""

    def __init__(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        self.status_code = status
        self.content = json.dumps(body).encode()
        self.headers = headers or {}


class SdkError(Exception):
    """An SDK's exception: a message, and whatever attributes that SDK gives it."""

    def __init__(self, message: str, **attributes: Any) -> None:
        super().__init__(message)
        for name, value in attributes.items():
            setattr(self, name, value)


@pytest.mark.parametrize("library", [httpx, httpx2])
def test_a_response_of_either_http_family_is_judged(library: Any) -> None:
    response = library.Response(400, json=BODY, headers={"Retry-After": "7"})
    assert_overflow(response)
    assert evidence_of(response).retry_after == 7


def test_a_response_is_known_by_its_attributes() -> None:
    assert_overflow(ShapedResponse(400, BODY))
    verdict = judge(ShapedResponse(429, BODY))
    assert verdict is not None
    assert verdict.kind is Kind.RATE_LIMIT_REQUESTS


def test_a_real_exception_of_the_openai_sdk_is_judged() -> None:
    response = httpx2.Response(400, json=BODY, request=httpx2.Request("POST", "https://host/v1"))
    assert_overflow(openai.BadRequestError(f"Error code: 400 - {BODY}", response=response, body=BODY["error"]))
    verdict = judge(openai.APITimeoutError(request=response.request))
    assert verdict is not None
    assert verdict.kind is Kind.TIMEOUT


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(SdkError(f"Error code: 400 - {BODY}", status_code=400, body=BODY), id="anthropic"),
        pytest.param(
            SdkError(f"400 INVALID_ARGUMENT. {BODY}", code=400, status="INVALID_ARGUMENT", details=BODY),
            id="genai",
        ),
        pytest.param(SdkError("API error", status_code=400, body=json.dumps(BODY)), id="mistralai"),
        pytest.param(SdkError("status_code: 400", status_code=400, body={"message": SENTENCE}), id="cohere"),
        pytest.param(
            SdkError(
                "An error occurred (ValidationException)",
                response={
                    "Error": {"Code": "ValidationException", "Message": SENTENCE},
                    "ResponseMetadata": {"HTTPStatusCode": 400},
                },
            ),
            id="botocore",
        ),
        pytest.param(SdkError("no words", response=ShapedResponse(400, BODY)), id="raise_for_status"),
        pytest.param(SdkError(f"litellm.BadRequestError: {SENTENCE}", status_code=400), id="litellm"),
    ],
)
def test_an_exception_is_known_by_its_attributes(error: Exception) -> None:
    assert_overflow(error)
    assert evidence_of(error).status == 400


def test_the_class_of_an_exception_is_a_machine_word() -> None:
    class ContextWindowExceededError(Exception):
        pass

    verdict = judge(ContextWindowExceededError("no"))
    assert verdict is not None
    assert verdict.rule == "overflow-word"


def test_the_cause_of_an_exception_is_read_as_well() -> None:
    wrapper = RuntimeError("the agent failed")
    wrapper.__cause__ = SdkError("bad request", status_code=400, body=BODY)
    assert_overflow(wrapper)
    assert evidence_of(wrapper).status == 400


def test_a_chain_that_bites_its_tail_ends() -> None:
    first, second = RuntimeError("a"), RuntimeError(SENTENCE)
    first.__cause__, second.__cause__ = second, first
    assert_overflow(first)


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "error": {"type": "invalid_request_error", "message": SENTENCE}},
        {"type": "response.failed", "response": {"status": "failed", "error": {"message": SENTENCE}}},
        {"error_type": "invalid_request", "error_message": SENTENCE},
        [{"error": {"code": 400, "message": SENTENCE}}],
        f"event: error\ndata: {json.dumps(BODY)}\n\n",
        ResponseErrorEvent(type="error", code="x", message=SENTENCE, param=None, sequence_number=1),
    ],
)
def test_an_event_of_a_stream_is_judged(event: object) -> None:
    assert_overflow(event)


def test_a_status_and_a_body_are_enough() -> None:
    assert_overflow(SENTENCE.encode(), status=400)
    verdict = judge(b"", status=413)
    assert verdict is not None
    assert verdict.kind is Kind.PAYLOAD_TOO_LARGE


def test_a_dataclass_is_read_as_its_fields() -> None:
    @dataclasses.dataclass
    class Event:
        message: str

    assert_overflow(Event(SENTENCE))


def test_what_is_no_error_is_refused() -> None:
    with pytest.raises(TypeError, match="object carries no error"):
        judge(object())


def test_the_room_loads_no_http_library_and_no_sdk() -> None:
    code = (
        "import sys; from copyfit_adapters.overflow import judge; judge(b'no', status=400)\n"
        "print([name for name in ('httpx', 'httpx2', 'requests', 'botocore', 'openai') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
