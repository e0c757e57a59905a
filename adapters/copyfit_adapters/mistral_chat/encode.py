"""Write a model input as the body of a chat completions request to Mistral.

The bytes are ours: compact JSON in UTF-8, fields in a fixed order, messages last, so that two inputs with a
common beginning make bodies with a common beginning. Each message is one fragment that depends on nothing but
the message. Text with a lone surrogate, which UTF-8 cannot carry, is written with JSON escapes.

Fields of `extra["mistral-chat"]` are written back where they were read, `prefix` of an assistant's message among
them. One that copyfit writes itself, or would read back as something else, is refused: what the model sees has one
place in the input, and a role cannot be forged.

The order of the messages is the history's. A server may refuse one that its models were not trained on (status
400, ``invalid_request_message_order``, code 3230), such as an assistant's message as the last one without
`prefix`; that refusal is an error, and the history is not changed to avoid it. One such order copyfit makes
itself: what contributors say for a turn stands behind the newest results, so that a user's message follows the
result of a call. Mistral's validator takes it since April 2026 (mistralai/mistral-common, pull request 218); for
a server with an older one there are bridges.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from copyfit.shapes.identity_memo import IdentityMemo
from copyfit.shapes.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.codec.functions import response_format
from copyfit_adapters.codec.json_text import as_object_text
from copyfit_adapters.codec.request import WireRequest
from copyfit_adapters.codec.writing import body_of, given, separated
from copyfit_adapters.mistral_chat.dialect import BRIDGE, sendable_id
from copyfit_adapters.mistral_chat.fields import OUTSIDE_INPUT, read_fields, read_tool
from copyfit_adapters.mistral_chat.messages import read_call, read_message
from copyfit_adapters.mistral_chat.parts import WRITER, encode_chunks

PATH = "/chat/completions"


def encode(
    model_input: ModelInput,
    model: str,
    *,
    stream: bool = False,
    bridge_results: bool = False,
    known: IdentityMemo[bytes] | None = None,
) -> WireRequest:
    """Return the request that puts `model_input` to `model`.

    With `bridge_results`, the assistant says `BRIDGE` between the result of a call and a user's message. A message
    whose JSON is in `known` is not written again, and the JSON of the others is kept there.

    Raises:
        UnencodableInput: the protocol has no form for something in the input; the error names it.

    """
    head = WRITER.dumps({"model": model} | _settings(model_input, stream=stream), "settings")
    tools = [encode_tool(tool, where=f"tools[{index}]") for index, tool in enumerate(model_input.tools)]
    messages = []
    if model_input.system:
        messages.append(WRITER.dumps({"role": "system", "content": model_input.system}, "system"))
    written = zip(model_input.messages, WRITER.fragments(model_input.messages, known, encode_message), strict=True)
    messages += _bridged(written) if bridge_results else (fragment for _, fragment in written if fragment)
    return WireRequest(path=PATH, body=body_of(head, tools, separated(messages)))


def _bridged(written: Iterable[tuple[Message, bytes]]) -> Iterator[bytes]:
    """Yield the `written` messages that say something, with a bridge from each row of results to a user."""
    last: Message | None = None
    for message, fragment in written:
        if not fragment:
            continue
        if isinstance(last, ToolMessage) and isinstance(message, UserMessage):
            yield encode_message(AssistantMessage(content=BRIDGE))
        yield fragment
        last = message


def encode_message(message: Message, where: str = "message") -> bytes:
    """Return the JSON of one message; equal messages give equal bytes, whatever stands around them.

    An assistant's message that says nothing is none; the API refuses it ("must have either content or tool_calls,
    but not none").

    Raises:
        UnencodableInput: the protocol has no form for it.

    """
    if isinstance(message, AssistantMessage):
        fields = _assistant(message, where)
    elif isinstance(message, ToolMessage):
        fields = given(role="tool", tool_call_id=sendable_id(message.call_id), name=message.name)
        fields["content"] = _content(message, where)
    else:
        fields = {"role": "user", "content": _content(message, where)}
    own = WRITER.own(message.extra)
    if isinstance(message, AssistantMessage) and not (own or fields["content"] or "tool_calls" in fields):
        return b""
    return WRITER.dumps(WRITER.with_extra(fields, own, lambda merged: read_message(merged, where), where), where)


def encode_tool(tool: ToolSpec, *, where: str = "tool") -> bytes:
    """Return the JSON of one tool.

    Raises:
        UnencodableInput: the protocol has no form for it.

    """
    function = given(
        name=tool.name, description=tool.description or None, parameters=tool.parameters, strict=tool.strict
    )
    fields = {"type": "function", "function": function}
    own = WRITER.own(tool.extra)
    return WRITER.dumps(WRITER.with_extra(fields, own, read_tool, where, nested="function"), where)


def _settings(model_input: ModelInput, *, stream: bool) -> dict[str, Any]:
    settings = model_input.settings
    schema = settings.response_schema
    fields = given(
        max_tokens=settings.max_output_tokens,
        temperature=settings.temperature,
        top_p=settings.top_p,
        random_seed=settings.seed,
        stop=list(settings.stop) or None,
        tool_choice=_tool_choice(settings),
        parallel_tool_calls=settings.parallel_tool_calls,
        response_format=None if schema is None else response_format(schema),
    )
    own = WRITER.own(settings.extra)
    taken = OUTSIDE_INPUT | ({"tools"} if model_input.tools else set())
    fields = WRITER.settings_with_extra(fields, own, lambda merged: read_fields(merged)[0], taken=taken)
    return fields | ({"stream": True} if stream else {})


def _tool_choice(settings: ModelSettings) -> str | dict[str, Any] | None:
    match settings.tool_choice:
        case None | "auto" | "none" as choice:
            return choice
        case "required":
            return "any"
        case choice if choice.startswith("tool:"):
            return {"type": "function", "function": {"name": choice.removeprefix("tool:")}}
    raise WRITER.unknown_choice(settings.tool_choice)


def _assistant(message: AssistantMessage, where: str) -> dict[str, Any]:
    if isinstance(message.content, str):
        return {"role": "assistant", "content": message.content}
    calls = message.tool_calls
    said = [part for part in message.content if not isinstance(part, ToolCall)]
    content: str | list[dict[str, Any]] | None = encode_chunks(said, where, thinks=True) or None
    match content:
        case [{"type": "text", "text": text, **rest}] if calls and not rest:
            content = text
    fields: dict[str, Any] = {"role": "assistant", "content": content}
    if calls:
        fields["tool_calls"] = [_call(call, f"{where}.tool_calls[{index}]") for index, call in enumerate(calls)]
    return fields


def _call(call: ToolCall, where: str) -> dict[str, Any]:
    function = {"name": call.name, "arguments": as_object_text(call.arguments)}
    fields = {"id": sendable_id(call.id), "type": "function", "function": function}
    return WRITER.with_extra(fields, WRITER.own(call.extra), read_call, where, nested="function")


def _content(message: Message, where: str) -> str | list[dict[str, Any]]:
    return message.content if isinstance(message.content, str) else encode_chunks(message.content, where)
