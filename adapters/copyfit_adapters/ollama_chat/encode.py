"""Write a model input as the body of a chat request to Ollama.

The bytes are ours: compact JSON in UTF-8, fields in a fixed order, messages last, so that two inputs with a
common beginning make bodies with a common beginning. Each message is one fragment that depends on nothing but
the message. A result that names no tool goes under the name of the call that it answers; it is written from a copy
that has the name, so that its fragment is never taken for that of the message itself. Text with a lone surrogate,
which UTF-8 cannot carry, is written with JSON escapes.

Fields of `extra["ollama-chat"]` are written back where they were read. One that copyfit writes itself, or would
read back as something else, is refused: what the model sees has one place in the input, and a role cannot be
forged.
"""

from collections.abc import Mapping
from typing import Any

from copyfit.shapes.identity_memo import IdentityMemo
from copyfit.shapes.messages import (
    ImagePart,
    Message,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
)
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.codec.json_text import as_object
from copyfit_adapters.codec.reading import DATA_URL, positive
from copyfit_adapters.codec.request import WireRequest
from copyfit_adapters.codec.turns import with_names
from copyfit_adapters.codec.writing import Writer, body_of, given, separated
from copyfit_adapters.ollama_chat.dialect import PROTOCOL, SWITCHES
from copyfit_adapters.ollama_chat.fields import OUTSIDE_INPUT, read_fields, read_tool
from copyfit_adapters.ollama_chat.messages import read_call, read_message

PATH = "/chat"

_WRITER = Writer(PROTOCOL)


def encode(
    model_input: ModelInput,
    model: str,
    *,
    stream: bool = False,
    num_ctx: int | None = None,
    may_cut: bool = False,
    known: IdentityMemo[bytes] | None = None,
) -> WireRequest:
    """Return the request that puts `model_input` to `model`.

    `num_ctx` is the window that the server is to open, in tokens; None leaves it to the server. Unless it
    `may_cut` an input that is too long, the server is told to answer with an error instead. A message whose JSON
    is in `known` is not written again, and the JSON of the others is kept there.

    Raises:
        UnencodableInput: the protocol has no form for something in the input; the error names it.

    """
    settings = _settings(model_input, stream=stream, num_ctx=num_ctx, may_cut=may_cut)
    head = _WRITER.dumps({"model": model} | settings, "settings")
    tools = [encode_tool(tool, where=f"tools[{index}]") for index, tool in enumerate(model_input.tools)]
    messages = [_WRITER.dumps({"role": "system", "content": model_input.system}, "system")]
    if not model_input.system:
        messages.clear()
    messages += _WRITER.fragments(with_names(model_input.messages), known, encode_message)
    return WireRequest(path=PATH, body=body_of(head, tools, separated(messages)))


def encode_message(message: Message, where: str = "message") -> bytes:
    """Return the JSON of one message; equal messages give equal bytes, whatever stands around them.

    Raises:
        UnencodableInput: the protocol has no form for it.

    """
    fields: dict[str, Any] = {"role": message.role} | _content(message, where)
    if isinstance(message, ToolMessage):
        fields |= given(tool_name=message.name, tool_call_id=message.call_id)
    own = _WRITER.own(message.extra)
    return _WRITER.dumps(_WRITER.with_extra(fields, own, lambda merged: read_message(merged, where), where), where)


def encode_tool(tool: ToolSpec, *, where: str = "tool") -> bytes:
    """Return the JSON of one tool.

    Raises:
        UnencodableInput: the protocol has no form for it.

    """
    function: dict[str, Any] = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    function["parameters"] = tool.parameters
    fields = {"type": "function", "function": function}
    own = _WRITER.own(tool.extra)
    return _WRITER.dumps(_WRITER.with_extra(fields, own, read_tool, where, nested="function"), where)


def _content(message: Message, where: str) -> dict[str, Any]:
    """Return the fields that hold the content of `message`, each kind of part in its own."""
    if isinstance(message.content, str):
        return {"content": message.content}
    texts: list[str] = []
    thinking: list[str] = []
    images: list[str] = []
    calls: list[dict[str, Any]] = []
    for index, part in enumerate(message.content):
        place = f"{where}.content[{index}]"
        match part:
            case TextPart():
                _refuse_extra(part, place)
                texts.append(part.text)
            case ThinkingPart():
                thinking += [part.text] if part.provider == PROTOCOL else []
            case ImagePart():
                _refuse_extra(part, place)
                images.append(_image(part, place))
            case ToolCall():
                calls.append(_call(part, place))
            case _:
                raise _WRITER.refused(
                    place, f"the protocol has no {part.type} parts; put its text into the message"
                )
    rest = {"thinking": "".join(thinking), "images": images, "tool_calls": calls}
    return {"content": "".join(texts)} | {name: value for name, value in rest.items() if value}


def _refuse_extra(part: TextPart | ImagePart, where: str) -> None:
    if _WRITER.own(part.extra):
        raise _WRITER.refused(where, f"a {part.type} part has no fields of its own on the wire")


def _image(part: ImagePart, where: str) -> str:
    if (part.url is None) == (part.data is None):
        raise _WRITER.refused(where, "an image has either a url or data")
    if part.data is not None:
        return part.data
    inline = DATA_URL.fullmatch(part.url or "")
    if inline is None:
        raise _WRITER.refused(where, "an image travels as base64 data; fetch what is at its url")
    return inline[2]


def _call(call: ToolCall, where: str) -> dict[str, Any]:
    function = {"name": call.name, "arguments": as_object(call.arguments)}
    fields = {"id": call.id, "function": function}
    return _WRITER.with_extra(fields, _WRITER.own(call.extra), read_call, where, nested="function")


def _settings(model_input: ModelInput, *, stream: bool, num_ctx: int | None, may_cut: bool) -> dict[str, Any]:
    settings = model_input.settings
    fields = _modelled(settings)
    own = dict(_WRITER.own(settings.extra))
    given_options = own.get("options")
    if isinstance(given_options, Mapping) and positive(given_options.get("num_ctx")):
        raise _WRITER.refused("settings.extra", "num_ctx is an option of the client and no part of the input")
    off = {name for name in SWITCHES if own.get(name) is False}
    for name in off:
        del own[name]
    fields = _WRITER.settings_with_extra(
        fields,
        own,
        lambda merged: read_fields(merged)[0],
        taken=OUTSIDE_INPUT | ({"tools"} if model_input.tools else set()),
        nested="options" if "options" in fields else None,
    )
    if num_ctx is not None:
        options = fields.get("options", {})
        if not isinstance(options, Mapping):
            raise _WRITER.refused("settings.extra", "its options are no object")
        fields["options"] = {**options, "num_ctx": num_ctx}
    off |= set() if may_cut else set(SWITCHES) - own.keys()
    return fields | {"stream": stream} | {name: False for name in SWITCHES if name in off}


def _modelled(settings: ModelSettings) -> dict[str, Any]:
    schema = settings.response_schema
    options = given(
        num_predict=settings.max_output_tokens,
        temperature=settings.temperature,
        top_p=settings.top_p,
        seed=settings.seed,
        stop=list(settings.stop) or None,
    )
    return given(options=options or None, format=None if schema is None else schema.json_schema)
