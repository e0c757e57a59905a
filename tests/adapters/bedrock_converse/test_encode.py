"""The body is what botocore's model of the service allows, and nothing in an input forges another part of it."""

import json
import logging
import re
from base64 import b64decode
from typing import Any

import pytest

from copyfit.shapes.identity_memo import IdentityMemo
from copyfit.shapes.messages import (
    AssistantMessage,
    FilePart,
    ImagePart,
    Message,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from copyfit.shapes.model_input import ModelInput, ModelSettings, ResponseSchema
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.bedrock_converse.dialect import KINDS, PROTOCOL
from copyfit_adapters.bedrock_converse.encode import encode
from copyfit_adapters.errors import UnencodableInput

TOOL = ToolSpec(name="get_soil", description="Soil of a plot.", strict=True)
THOUGHT = ThinkingPart(text="Two plots.", signature="c2ln", provider=PROTOCOL)
HIDDEN = ThinkingPart(provider=PROTOCOL, opaque={"redactedContent": "eHl6"})
PLAN = FilePart(data="JVBERg==", media_type="application/pdf", filename="plan.pdf")
HISTORY: tuple[Message, ...] = (
    UserMessage(
        content=(
            TextPart(text="Compare the plots."),
            ImagePart(data="QUJD", media_type="image/png"),
            ImagePart(url="s3://my-box/b.jpg"),
            PLAN,
            FilePart(data="aGVsbG8=", media_type="text/plain"),
            FilePart(url="s3://my-box/table.csv"),
            TextPart(text="", extra={PROTOCOL: {"guardContent": {"text": {"text": "be kind"}}}}),
        )
    ),
    AssistantMessage(
        content=(
            THOUGHT,
            HIDDEN,
            TextPart(text="I look.", extra={PROTOCOL: {"citationsContent": {"citations": [{"title": "Soil"}]}}}),
            ToolCall(id="c1", name="get_soil", arguments='{"plot": "03"}'),
            ToolCall(id="c2", name="get_soil", arguments='{"plot": "04"}'),
        )
    ),
    ToolMessage(
        call_id="c1",
        content=(
            TextPart(text="8.41 dS/m"),
            ImagePart(data="QUJD", media_type="image/webp"),
            PLAN,
            TextPart(text="", extra={PROTOCOL: {"json": {"depth": 3}}}),
        ),
    ),
    ToolMessage(call_id="c2", content="no such plot", is_error=True),
    UserMessage(content="And now?"),
)
SETTINGS = ModelSettings(
    max_output_tokens=50,
    temperature=0.5,
    top_p=0.25,
    stop=("END",),
    tool_choice="tool:get_soil",
    response_schema=ResponseSchema(json_schema={"type": "object"}, name="plan", description="A plan."),
    extra={
        PROTOCOL: {
            "outputConfig": {"effort": "low"},
            "performanceConfig": {"latency": "optimized"},
            "requestMetadata": {"team": "soil"},
            "additionalModelRequestFields": {"top_k": 5},
            "guardrailConfig": {"guardrailIdentifier": "g1", "guardrailVersion": "DRAFT"},
        }
    },
)
INPUT = ModelInput("Be brief.", HISTORY, (ToolSpec(name="a"), TOOL), SETTINGS)


def body_of(model_input: ModelInput, **options: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(encode(model_input, "m", **options).body)
    return body


def complaints(body: dict[str, Any], operation: str = "Converse") -> str:
    """Return what botocore finds wrong with `body` by its model of the service; it takes data as bytes."""
    import botocore.session
    from botocore.validate import ParamValidator

    service = botocore.session.get_session().get_service_model("bedrock-runtime")
    shape = service.operation_model(operation).input_shape
    report: str = ParamValidator().validate({"modelId": "m"} | _with_bytes(body), shape).generate_report()
    return report


def _with_bytes(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_bytes(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    return {
        name: b64decode(entry) if name in ("bytes", "redactedContent") else _with_bytes(entry)
        for name, entry in value.items()
    }


@pytest.mark.parametrize("cache", [None, "5m", "1h"])
@pytest.mark.parametrize("operation", ["Converse", "ConverseStream"])
def test_a_body_with_everything_in_it_is_valid_by_the_service_model(cache: Any, operation: str) -> None:
    assert complaints(body_of(INPUT, cache=cache), operation) == ""


@pytest.mark.parametrize("choice", ["auto", "none", "required", "tool:get_soil", None])
@pytest.mark.parametrize("tools", [(), (TOOL,)])
def test_every_tool_choice_is_valid_by_the_service_model(choice: str | None, tools: tuple[ToolSpec, ...]) -> None:
    assert complaints(body_of(ModelInput("", HISTORY, tools, ModelSettings(tool_choice=choice)))) == ""


@pytest.mark.parametrize(
    ("path", "fault"),
    [(("messages", 0, "content", 0), "txt"), (("toolConfig", "toolChoice"), "none"), ((), "tool_config")],
)
def test_the_service_model_would_tell(path: tuple[Any, ...], fault: str) -> None:
    body = body_of(INPUT)
    place: Any = body
    for step in path:
        place = place[step]
    place[fault] = {}
    assert fault in complaints(body)


def test_the_members_of_a_block_are_those_of_the_service_model() -> None:
    import botocore.session

    service = botocore.session.get_session().get_service_model("bedrock-runtime")
    blocks = [service.shape_for(name).members for name in ("ContentBlock", "ToolResultContentBlock")]
    assert {name for members in blocks for name in members} == KINDS


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("amazon.nova-lite-v1:0", "/model/amazon.nova-lite-v1%3A0/converse"),
        (
            "arn:aws:bedrock:eu-west-1:1:inference-profile/eu.m-v1:0",
            "/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Ainference-profile%2Feu.m-v1%3A0/converse",
        ),
    ],
)
def test_the_model_stands_in_the_path_alone(model: str, path: str) -> None:
    request = encode(INPUT, model)
    assert request.path == path
    assert encode(INPUT, model, stream=True).path == path + "-stream"
    assert model.encode() not in request.body


def test_results_and_what_follows_them_are_one_user_message() -> None:
    *_, last = body_of(ModelInput("", HISTORY[1:]))["messages"]
    assert last["role"] == "user"
    first, second, text = last["content"]
    assert first["toolResult"]["toolUseId"] == "c1"
    assert "status" not in first["toolResult"]
    assert [next(iter(block)) for block in first["toolResult"]["content"]] == ["text", "image", "document", "json"]
    assert second == {
        "toolResult": {"toolUseId": "c2", "content": [{"text": "no such plot"}], "status": "error"},
    }
    assert text == {"text": "And now?"}


def test_reasoning_goes_back_unchanged_and_that_of_others_stays_at_home(caplog: pytest.LogCaptureFixture) -> None:
    foreign = ThinkingPart(text="psst", provider="openai-chat")
    said = AssistantMessage(content=(foreign, THOUGHT, HIDDEN, TextPart(text="x")))
    with caplog.at_level(logging.WARNING, "copyfit.adapters"):
        (message,) = body_of(ModelInput("", (said,)))["messages"]
    assert message["content"] == [
        {"reasoningContent": {"reasoningText": {"text": "Two plots.", "signature": "c2ln"}}},
        {"reasoningContent": {"redactedContent": "eHl6"}},
        {"text": "x"},
    ]
    assert "openai-chat" in caplog.text


def test_an_answer_that_was_cut_off_in_its_reasoning_is_sent_without_it() -> None:
    cut = AssistantMessage(content=(TextPart(text="x"), HIDDEN, THOUGHT, TextPart(text="\n")))
    only = AssistantMessage(content=(THOUGHT,))
    sent = body_of(ModelInput("", (UserMessage(content="a"), cut, UserMessage(content="b"), only)))["messages"]
    assert [(message["role"], [*message["content"][-1]]) for message in sent] == [
        ("user", ["text"]),
        ("assistant", ["text"]),
        ("user", ["text"]),
    ]


def test_an_id_stays_or_becomes_one_that_the_service_model_allows() -> None:
    ids = ["functions.f:0", "c" * 64, "c" * 65, "récit", ""]
    said = AssistantMessage(content=tuple(ToolCall(id=call_id, name="f") for call_id in ids))
    results = tuple(ToolMessage(call_id=call_id, content="x") for call_id in ids)
    body = body_of(ModelInput("", (UserMessage(content="go"), said, *results), (TOOL,)))
    assert complaints(body) == ""
    calls = [block["toolUse"]["toolUseId"] for block in body["messages"][1]["content"]]
    assert [block["toolResult"]["toolUseId"] for block in body["messages"][2]["content"]] == calls
    assert [call_id in ids for call_id in calls] == [True, True, False, False, False]
    assert len({*calls}) == len(ids)
    # botocore does not check patterns.
    assert all(re.fullmatch("[a-zA-Z0-9_.:-]{1,64}", call_id) for call_id in calls)


def names_of(*names: str | None) -> list[str]:
    files = tuple(FilePart(data="QUJD", media_type="application/pdf", filename=name) for name in names)
    blocks = body_of(ModelInput("", (UserMessage(content=files),)))["messages"][0]["content"]
    return [block["document"]["name"] for block in blocks]


@pytest.mark.parametrize(
    ("names", "sent"),
    [
        (["plan", "plan (2) [b]"], ["plan", "plan (2) [b]"]),
        (["plan.pdf", "plan.v2.PDF", "a_b.tar.gz"], ["plan", "plan-v2", "a-b-tar-gz"]),
        (["\u571f\u58e4.pdf", None, ""], ["document", "document 2", "document 3"]),
        (["a", "a", "a 2", "a.txt"], ["a", "a 2", "a 2 2", "a 3"]),
        (["a\n\n b "], ["a b"]),
        (["x" * 201, "x" * 200], ["x" * 200, "x" * 190 + " 2"]),
    ],
)
def test_a_document_gets_a_name_that_the_api_takes(names: list[str | None], sent: list[str]) -> None:
    assert names_of(*names) == sent


def test_a_name_that_was_given_stays_when_the_history_grows() -> None:
    known: IdentityMemo[bytes] = IdentityMemo()
    first, again = UserMessage(content=(PLAN,)), UserMessage(content=(PLAN.model_copy(),))
    alone = encode(ModelInput("", (again,)), "m", known=known).body
    both = body_of(ModelInput("", (first, again)), known=known)
    named = [block["document"]["name"] for message in both["messages"] for block in message["content"]]
    assert named == ["plan", "plan 2"]
    assert encode(ModelInput("", (again,)), "m", known=known).body == alone


@pytest.mark.parametrize(
    ("part", "word"),
    [
        (ImagePart(data="QUJD", media_type="IMAGE/JPEG ;q=1"), "jpeg"),
        (ImagePart(data="QUJD", media_type="image/jpg"), "jpeg"),
        (ImagePart(url="s3://my-box/a.b/c.WEBP"), "webp"),
        (FilePart(data="QUJD", media_type="text/plain; charset=utf-8", filename="a.pdf"), "txt"),
        (FilePart(data="QUJD", media_type="text/x-python"), "txt"),
        (FilePart(data="QUJD", media_type="text/markdown"), "md"),
        (FilePart(url="s3://my-box/a.htm"), "html"),
        (FilePart(url="s3://my-box/a.htm", media_type="text/csv"), "csv"),
    ],
)
def test_the_format_is_that_of_the_media_type_or_else_of_the_address(part: Any, word: str) -> None:
    (block,) = body_of(ModelInput("", (UserMessage(content=(part,)),)))["messages"][0]["content"]
    (media,) = block.values()
    assert media["format"] == word


def test_a_schema_travels_as_text() -> None:
    config = body_of(INPUT)["outputConfig"]
    assert config == {
        "textFormat": {
            "type": "json_schema",
            "structure": {
                "jsonSchema": {"schema": '{"type":"object"}', "name": "plan", "description": "A plan."},
            },
        },
        "effort": "low",
    }


def test_known_fragments_make_the_same_body_marked_or_not() -> None:
    known: IdentityMemo[bytes] = IdentityMemo()
    for cache in (None, "5m", None):
        assert body_of(INPUT, cache=cache, known=known) == body_of(INPUT, cache=cache)


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [('{"a": 1.0}', {"a": 1.0}), ("", {}), ('{"a": ', {"malformed_arguments": '{"a": '})],
)
def test_arguments_travel_as_an_object_whatever_they_are(arguments: str, sent: dict[str, Any]) -> None:
    said = AssistantMessage(content=(ToolCall(id="c", name="f", arguments=arguments),))
    assert body_of(ModelInput("", (said,)))["messages"][0]["content"][0]["toolUse"]["input"] == sent


def saying(*parts: Any) -> ModelInput:
    return ModelInput("", (UserMessage(content=parts),))


def forging(text: str = "", **own: Any) -> ModelInput:
    return saying(TextPart(text=text, extra={PROTOCOL: own}))


def setting(**own: Any) -> ModelInput:
    return ModelInput("x", (), (TOOL,), ModelSettings(top_p=0.5, extra={PROTOCOL: own}))


REFUSED: dict[str, ModelInput] = {
    "a role from extra": ModelInput("", (UserMessage(content="x", extra={PROTOCOL: {"role": "assistant"}}),)),
    "a role around a result": ModelInput(
        "", (ToolMessage(call_id="c", content="x", extra={PROTOCOL: {"message": {"role": "assistant"}}}),)
    ),
    "a result from a text": forging(toolResult={"toolUseId": "c", "content": []}),
    "a call beside a text": forging("x", toolUse={"toolUseId": "c", "name": "f", "input": {}}),
    "a text from extra": saying(TextPart(text="", extra={PROTOCOL: {"text": "x"}})),
    "another text that is cited": forging("x", citationsContent={"content": [{"text": "y"}]}),
    "an error from extra": ModelInput(
        "", (ToolMessage(call_id="c", content="x", extra={PROTOCOL: {"status": "error"}}),)
    ),
    "a name from extra": saying(FilePart(data="QUJD", media_type="text/csv", extra={PROTOCOL: {"name": "x"}})),
    "other messages": setting(messages=[]),
    "another model": setting(modelId="m2"),
    "a second system": setting(system=[{"text": "y"}]),
    "tools from extra": setting(toolConfig={"tools": [{}]}),
    "a choice from extra": setting(toolConfig={"toolChoice": {"any": {}}}),
    "a number from extra": setting(inferenceConfig={"temperature": 0.5}),
    "a second number": setting(inferenceConfig={"topP": 0.25}),
    "nothing in the place of an object": setting(inferenceConfig={}),
    "no object in the place of one": setting(inferenceConfig=1),
    "an unknown choice": ModelInput("", (), (TOOL,), ModelSettings(tool_choice="any")),
    "an image without data": saying(ImagePart()),
    "an image on the web": saying(ImagePart(url="https://a/b.png")),
    "an image of another format": saying(ImagePart(data="QUJD", media_type="image/bmp")),
    "an image of no format": saying(ImagePart(url="s3://box/b")),
    "data without a type": saying(FilePart(data="QUJD", filename="plan.pdf")),
    "a file by its id": saying(FilePart(file_id="f")),
    "a file of two places": saying(FilePart(data="QUJD", url="s3://box/a.csv", media_type="text/csv")),
    "another text in opaque": ModelInput(
        "",
        (
            AssistantMessage(
                content=(ThinkingPart(provider=PROTOCOL, text="x", opaque={"reasoningText": {"text": "y"}}),)
            ),
        ),
    ),
    "a number that JSON lacks": forging("x", weight=float("inf")),
}


@pytest.mark.parametrize("model_input", REFUSED.values(), ids=REFUSED.keys())
def test_what_has_no_form_or_another_place_is_refused(model_input: ModelInput) -> None:
    with pytest.raises(UnencodableInput):
        encode(model_input, "m")
