"""Write a model input as the body of a request of Cohere's chat API v2.

The bytes are ours: compact JSON in UTF-8, fields in a fixed order, messages last, so that two inputs with a
common beginning make bodies with a common beginning. Each message is one fragment that depends on nothing but
the message. Text with a lone surrogate, which UTF-8 cannot carry, is written with JSON escapes.

Fields of `extra["cohere-v2"]` are written back where they were read. One that copyfit writes itself, or would
read back as something else, is refused: what the model sees has one place in the input, and a role cannot be
forged.
"""

from typing import Any

from copyfit.shapes.identity_memo import IdentityMemo
from copyfit.shapes.messages import AssistantMessage, Message, TextPart, ThinkingPart, ToolCall, ToolMessage
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.codec.request import WireRequest
from copyfit_adapters.codec.writing import body_of, given, separated
from copyfit_adapters.cohere_v2.content import WRITER, encode_call, encode_parts, is_plan
from copyfit_adapters.cohere_v2.dialect import TOOL_PLAN
from copyfit_adapters.cohere_v2.fields import (
    CHOICES,
    OUTSIDE_INPUT,
    SCHEMA_FIELDS,
    read_fields,
    read_tool,
    strict_for_all,
)
from copyfit_adapters.cohere_v2.messages import read_message

PATH = "/v2/chat"


def encode(
    model_input: ModelInput, model: str, *, stream: bool = False, known: IdentityMemo[bytes] | None = None
) -> WireRequest:
    """Return the request that puts `model_input` to `model`.

    A message whose JSON is in `known` is not written again, and the JSON of the others is kept there.

    Raises:
        UnencodableInput: the protocol has no form for something in the input; the error names it.

    """
    head = WRITER.dumps({"model": model} | _settings(model_input, stream=stream), "settings")
    tools = [encode_tool(tool, where=f"tools[{index}]") for index, tool in enumerate(model_input.tools)]
    messages = [WRITER.dumps({"role": "system", "content": model_input.system}, "system")]
    if not model_input.system:
        messages.clear()
    messages += WRITER.fragments(model_input.messages, known, encode_message)
    return WireRequest(path=PATH, body=body_of(head, tools, separated(filter(None, messages))))


def encode_message(message: Message, where: str = "message") -> bytes:
    """Return the JSON of one message; equal messages give equal bytes, whatever stands around them.

    What a model said without saying anything is no message: the API refuses an empty one ("all elements in history
    must have a message").

    Raises:
        UnencodableInput: the protocol has no form for it.

    """
    if isinstance(message, AssistantMessage) and not _says_something(message):
        return b""
    fields: dict[str, Any] = {"role": message.role}
    if isinstance(message, ToolMessage):
        fields["tool_call_id"] = message.call_id
    if isinstance(message.content, str):
        fields["content"] = message.content
    elif isinstance(message, AssistantMessage):
        fields |= _assistant(message, where)
    else:
        fields["content"] = encode_parts(message, message.content, where)
    own = WRITER.own(message.extra)
    return WRITER.dumps(WRITER.with_extra(fields, own, lambda merged: read_message(merged, where), where), where)


def encode_tool(tool: ToolSpec, *, where: str = "tool") -> bytes:
    """Return the JSON of one tool, without its `strict`, which is one field for all tools.

    Raises:
        UnencodableInput: the protocol has no form for it.

    """
    function: dict[str, Any] = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    function["parameters"] = tool.parameters
    fields = {"type": "function", "function": function}
    own = WRITER.own(tool.extra)
    return WRITER.dumps(WRITER.with_extra(fields, own, read_tool, where, nested="function"), where)


def _says_something(message: AssistantMessage) -> bool:
    return bool(WRITER.own(message.extra)) or any(
        bool(part.text or WRITER.own(part.extra))
        if isinstance(part, TextPart)
        else not isinstance(part, ThinkingPart) or part.provider == WRITER.protocol
        for part in message.parts
    )


def _assistant(message: AssistantMessage, where: str) -> dict[str, Any]:
    """Return the three places of what the model said; one with nothing in it is left out."""
    plans = [part.text for part in message.parts if is_plan(part)]
    calls = message.tool_calls
    said = tuple(part for part in message.parts if not (is_plan(part) or isinstance(part, ToolCall)))
    return given(
        content=encode_parts(message, said, where) or None,
        **{TOOL_PLAN: "".join(plans) if plans else None},
        tool_calls=[encode_call(call, f"{where}.tool_calls[{index}]") for index, call in enumerate(calls)] or None,
    )


def _settings(model_input: ModelInput, *, stream: bool) -> dict[str, Any]:
    settings = model_input.settings
    schema = settings.response_schema
    fields = given(
        max_tokens=settings.max_output_tokens,
        temperature=settings.temperature,
        p=settings.top_p,
        seed=settings.seed,
        stop_sequences=list(settings.stop) or None,
        tool_choice=_tool_choice(settings),
        response_format=None if schema is None else {"type": "json_object", SCHEMA_FIELDS[0]: schema.json_schema},
    )
    taken = OUTSIDE_INPUT | ({"tools", "strict_tools"} if model_input.tools else set())
    own = WRITER.own(settings.extra)
    fields = WRITER.settings_with_extra(fields, own, lambda merged: read_fields(merged)[0], taken=taken)
    strict = strict_for_all([tool.strict for tool in model_input.tools])
    return fields | given(strict_tools=strict, stream=stream or None)


def _tool_choice(settings: ModelSettings) -> str | None:
    choice = settings.tool_choice
    if choice is None or choice == "auto":
        return None
    if choice in CHOICES:
        return CHOICES[choice]
    if choice.startswith("tool:"):
        # To let the model choose would drop a demand in silence.
        way_out = "a single tool cannot be demanded; offer it alone, with 'required'"
        raise WRITER.refused("settings.tool_choice", way_out)
    allowed = "'auto', 'none' or 'required'"
    raise WRITER.refused("settings.tool_choice", f"{choice!r} is none of {allowed}")
