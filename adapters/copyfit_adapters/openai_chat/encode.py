"""Write a model input as the body of a chat completions request.

The bytes are ours: compact JSON in UTF-8, fields in a fixed order, messages last, so that two inputs with a
common beginning make bodies with a common beginning. Each message is one fragment that depends on nothing but
the message. Text with a lone surrogate, which UTF-8 cannot carry, is written with JSON escapes.

Fields of `extra["openai-chat"]` are written back where they were read. One that copyfit writes itself, or would
read back as something else, is refused: what the model sees has one place in the input, and a role cannot be
forged.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from copyfit.shapes.identity_memo import IdentityMemo
from copyfit.shapes.messages import (
    AssistantMessage,
    FilePart,
    ImagePart,
    Message,
    Part,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
)
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.codec.functions import response_format
from copyfit_adapters.codec.json_text import as_object_text
from copyfit_adapters.codec.reading import without
from copyfit_adapters.codec.request import WireRequest
from copyfit_adapters.codec.writing import Writer, body_of, given, separated
from copyfit_adapters.openai_chat.dialect import OPENAI, PROTOCOL, THINKING_FIELDS, Dialect
from copyfit_adapters.openai_chat.fields import OUTSIDE_INPUT, read_fields, read_tool
from copyfit_adapters.openai_chat.messages import read_call, read_message, read_part
from copyfit_adapters.openai_chat.tool_media import as_text, with_shown

PATH = "/chat/completions"

_WRITER = Writer(PROTOCOL)


def encode(
    model_input: ModelInput,
    model: str,
    *,
    stream: bool = False,
    dialect: Dialect = OPENAI,
    known: IdentityMemo[bytes] | None = None,
) -> WireRequest:
    """Return the request that puts `model_input` to `model`.

    A message whose JSON is in `known` is not written again, and the JSON of the others is kept there; it holds one
    dialect.

    Raises:
        UnencodableInput: the protocol has no form for something in the input; the error names it.

    """
    head = _WRITER.dumps({"model": model} | _settings(model_input, stream=stream, dialect=dialect), "settings")
    tools = [encode_tool(tool, where=f"tools[{index}]") for index, tool in enumerate(model_input.tools)]
    messages = []
    if model_input.system:
        messages.append(_WRITER.dumps({"role": dialect.system_role, "content": model_input.system}, "system"))
    messages += _fragments(model_input.messages, dialect, known)
    return WireRequest(path=PATH, body=body_of(head, tools, separated(messages)))


def _fragments(
    messages: Iterable[Message], dialect: Dialect, known: IdentityMemo[bytes] | None
) -> Iterator[bytes]:
    write = partial(encode_message, dialect=dialect)
    fragments = _WRITER.fragments(messages, known, write)
    if dialect.tool_media:
        return fragments
    rows = with_shown(messages)
    return (
        next(fragments) if place is not None else write(message, "messages[role=tool]") for place, message in rows
    )


def encode_message(message: Message, where: str = "message", *, dialect: Dialect = OPENAI) -> bytes:
    """Return the JSON of one message; equal messages give equal bytes, whatever stands around them.

    Raises:
        UnencodableInput: the protocol has no form for it.

    """
    if isinstance(message, AssistantMessage):
        fields = _assistant(message, where)
    elif isinstance(message, ToolMessage):
        said = message if dialect.tool_media else as_text(message)
        fields = {"role": "tool", "tool_call_id": message.call_id, "content": _content(said, where)}
    else:
        fields = {"role": "user", "content": _content(message, where)}
        if message.name is not None:
            fields["name"] = message.name
    own = _WRITER.own(message.extra)
    fields = _WRITER.with_extra(fields, own, lambda merged: read_message(merged, where), where)
    if isinstance(message, AssistantMessage) and dialect.reasoning_field is not None:
        fields = _with_reasoning_in(dialect.reasoning_field, fields, dialect.reasoning_filler)
    return _WRITER.dumps(fields, where)


def encode_tool(tool: ToolSpec, *, where: str = "tool") -> bytes:
    """Return the JSON of one tool.

    Raises:
        UnencodableInput: the protocol has no form for it.

    """
    function: dict[str, Any] = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    function["parameters"] = tool.parameters
    if tool.strict is not None:
        function["strict"] = tool.strict
    fields = {"type": "function", "function": function}
    own = _WRITER.own(tool.extra)
    return _WRITER.dumps(_WRITER.with_extra(fields, own, read_tool, where, nested="function"), where)


def _settings(model_input: ModelInput, *, stream: bool, dialect: Dialect) -> dict[str, Any]:
    settings = model_input.settings
    schema = settings.response_schema
    fields = given(
        **{dialect.max_tokens_field: settings.max_output_tokens},
        temperature=settings.temperature,
        top_p=settings.top_p,
        seed=settings.seed,
        stop=list(settings.stop) or None,
        tool_choice=_tool_choice(settings),
        parallel_tool_calls=settings.parallel_tool_calls,
        response_format=None if schema is None else response_format(schema),
    )
    own = _WRITER.own(settings.extra)
    taken = OUTSIDE_INPUT | ({"tools"} if model_input.tools else set())
    fields = _WRITER.settings_with_extra(fields, own, lambda merged: read_fields(merged)[0], taken=taken)
    if stream:
        fields["stream"] = True
        if dialect.include_usage and "stream_options" not in own:
            fields["stream_options"] = {"include_usage": True}
    return fields


def _tool_choice(settings: ModelSettings) -> str | dict[str, Any] | None:
    choice = settings.tool_choice
    if choice is None or choice in ("auto", "none", "required"):
        return choice
    kind, _, name = choice.partition(":")
    if kind != "tool" or ":" not in choice:
        raise _WRITER.unknown_choice(choice)
    return {"type": "function", "function": {"name": name}}


def _assistant(message: AssistantMessage, where: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"role": "assistant", "content": message.content}
    if not isinstance(message.content, str):
        thinking = [
            part for part in message.content if isinstance(part, ThinkingPart) and part.provider == PROTOCOL
        ]
        said = [part for part in message.content if isinstance(part, TextPart | ImagePart | FilePart)]
        calls = message.tool_calls
        thought = "".join(part.text for part in thinking)
        thinks = bool(thought.strip())
        nothing = None if calls else ""
        fields["content"] = [
            _part(part, f"{where}.content[{index}]") for index, part in enumerate(said)
        ] or nothing
        if (
            len(said) == 1
            and (thinks or calls)
            and isinstance(said[0], TextPart)
            and not said[0].extra.get(PROTOCOL)
        ):
            fields["content"] = said[0].text
        if thinks:
            fields[_thinking_field(thinking[0])] = thought
        if calls:
            fields["tool_calls"] = [
                _call(call, f"{where}.tool_calls[{index}]") for index, call in enumerate(calls)
            ]
    if message.name is not None:
        fields["name"] = message.name
    return fields


def _thinking_field(part: ThinkingPart) -> str:
    field = part.opaque.get("field")
    return field if field in THINKING_FIELDS else THINKING_FIELDS[0]


def _with_reasoning_in(field: str, fields: dict[str, Any], filler: str | None) -> dict[str, Any]:
    """Return an assistant's `fields` with the reasoning in `field` alone, or the `filler` if there is none."""
    said = (fields[name] for name in THINKING_FIELDS if isinstance(fields.get(name), str))
    thought = next((text for text in said if text.strip()), filler)
    return without(fields, *THINKING_FIELDS) | given(**{field: thought})


def _call(call: ToolCall, where: str) -> dict[str, Any]:
    function = {"name": call.name, "arguments": as_object_text(call.arguments)}
    fields = {"id": call.id, "type": "function", "function": function}
    return _WRITER.with_extra(fields, _WRITER.own(call.extra), read_call, where, nested="function")


def _content(message: Message, where: str) -> str | list[dict[str, Any]]:
    """Return the content; one without parts, such as the result of a tool that says nothing, is an empty text."""
    if isinstance(message.content, str):
        return message.content
    # OpenAI refuses an empty list ("empty array. Expected an array with minimum length 1").
    return [_part(part, f"{where}.content[{index}]") for index, part in enumerate(message.content)] or ""


def _part(part: Part, where: str) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return _text(part, where)
    if isinstance(part, ImagePart):
        image = {"url": _image_url(part, where)}
        if part.detail is not None:
            image["detail"] = part.detail
        fields, nested = {"type": "image_url", "image_url": image}, "image_url"
    elif isinstance(part, FilePart):
        fields, nested = {"type": "file", "file": _file(part, where)}, "file"
    else:
        raise _WRITER.refused(where, f"a {part.type} part has no place in this content")
    return _WRITER.with_extra(
        fields, _WRITER.own(part.extra), lambda merged: read_part(merged, where), where, nested=nested
    )


def _text(part: TextPart, where: str) -> dict[str, Any]:
    own = part.extra.get(PROTOCOL, {})
    if "type" not in own:
        fields = {"type": "text", "text": part.text}
        return _WRITER.with_extra(fields, _WRITER.own(part.extra), lambda merged: read_part(merged, where), where)
    fields = dict(own) | ({"text": part.text} if part.text else {})
    if ("text" in own and part.text) or read_part(fields, where) != TextPart(
        text=part.text, extra={PROTOCOL: own}
    ):
        raise _WRITER.refused(where, "its extra 'type' makes it another part than a text")
    return fields


def _image_url(part: ImagePart, where: str) -> str:
    if (part.url is None) == (part.data is None):
        raise _WRITER.refused(where, "an image has either a url or data")
    if part.url is not None:
        return part.url
    if part.media_type is None:
        raise _WRITER.refused(where, "an image given as data needs its media type")
    return f"data:{part.media_type};base64,{part.data}"


def _file(part: FilePart, where: str) -> dict[str, str]:
    if part.url is not None and part.data is not None:
        raise _WRITER.refused(where, "a file has either a url or data")
    data = part.url
    if part.url is not None and ":" not in part.url:
        raise _WRITER.refused(where, "the url of the file has no scheme")
    if part.data is not None:
        data = part.data if part.media_type is None else f"data:{part.media_type};base64,{part.data}"
        if part.media_type is None and ":" in part.data:
            raise _WRITER.refused(where, "the data of the file is not base64")
    if part.file_id is None and data is None:
        raise _WRITER.refused(where, "a file has a file_id, a url or data")
    return given(file_id=part.file_id, file_data=data, filename=part.filename)
