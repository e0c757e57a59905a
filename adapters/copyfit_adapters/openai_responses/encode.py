"""Write a model input as the body of a Responses request.

The bytes are ours: compact JSON in UTF-8, fields in a fixed order, the input last, so that two inputs with a
common beginning make bodies with a common beginning. Each message's items are one fragment that depends on nothing
but the message. Text with a lone surrogate, which UTF-8 cannot carry, is written with JSON escapes.

Requests are stateless where the settings say nothing else: the provider keeps no answer, and reasoning comes
encrypted so that it can go back. Fields of `extra["openai-responses"]` are written back where they were read. One
that copyfit writes itself, or would read back as something else, is refused: what the model sees has one place in
the input, and a role cannot be forged.
"""

from collections.abc import Mapping
from typing import Any, Literal

from copyfit.shapes.identity_memo import IdentityMemo
from copyfit.shapes.messages import AssistantMessage, Message, Origin
from copyfit.shapes.model_input import ModelInput, ModelSettings, ResponseSchema
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.codec.reading import without
from copyfit_adapters.codec.request import WireRequest
from copyfit_adapters.codec.writing import given, separated
from copyfit_adapters.openai_responses.dialect import PROTOCOL, STATELESS
from copyfit_adapters.openai_responses.fields import OUTSIDE_INPUT, read_fields, read_tool
from copyfit_adapters.openai_responses.items import split_system
from copyfit_adapters.openai_responses.parts import WRITER, encode_items

PATH = "/responses"

CacheTime = Literal["30m", "12h"]
"""How long the provider keeps a marked prefix at the least, in the protocol's own words."""

_STABLE = (Origin.CANONICAL, Origin.CHECKPOINT)


def encode(
    model_input: ModelInput,
    model: str,
    *,
    stream: bool = False,
    encrypted_reasoning: bool = True,
    cache: CacheTime | None = None,
    known: IdentityMemo[bytes] | None = None,
) -> WireRequest:
    """Return the request that puts `model_input` to `model`.

    A model that does not reason refuses to encrypt its reasoning: `encrypted_reasoning` is to be false for it.
    With `cache`, the end of the stable prefix is marked for the provider's cache: the last message of a user or a
    tool before the first message that lives for this invocation alone; tools and instructions, which stand before
    it, have no marks of their own. A message whose JSON is in `known` is not written again, and the JSON of the
    others is kept there.

    Raises:
        UnencodableInput: the protocol has no form for something in the input; the error names it.

    """
    head = {"model": model} | _settings(model_input, stream=stream, encrypted_reasoning=encrypted_reasoning)
    if model_input.system:
        head["instructions"] = model_input.system
    tools = [encode_tool(tool, where=f"tools[{index}]") for index, tool in enumerate(model_input.tools)]
    items = [WRITER.dumps(item, "settings.extra") for item in _system_items(model_input)]
    items += WRITER.fragments(model_input.messages, known, encode_message)
    if cache is not None:
        last = _last_markable(model_input)
        if last is not None:
            mark = {"mode": "explicit", "ttl": cache}
            place = len(items) - len(model_input.messages) + last
            items[place] = encode_message(model_input.messages[last], f"messages[{last}]", mark=mark)
    pieces = [WRITER.dumps(head, "settings")[:-1]]
    if tools:
        pieces += [b',"tools":[', *separated(tools), b"]"]
    pieces += [b',"input":[', *separated(filter(None, items)), b"]}"]
    # The body is joined once: a second copy of its megabytes takes longer than all the rest.
    return WireRequest(path=PATH, body=b"".join(pieces))


def encode_message(message: Message, where: str = "message", *, mark: Mapping[str, Any] | None = None) -> bytes:
    """Return the JSON of the items of one message, separated by commas; `mark` goes to its last content part.

    Raises:
        UnencodableInput: the protocol has no form for it.

    """
    return b",".join(WRITER.dumps(item, where) for item in encode_items(message, where, mark=mark))


def encode_tool(tool: ToolSpec, *, where: str = "tool") -> bytes:
    """Return the JSON of one tool.

    Raises:
        UnencodableInput: the protocol has no form for it.

    """
    fields: dict[str, Any] = {"type": "function", "name": tool.name}
    if tool.description:
        fields["description"] = tool.description
    # The protocol demands the field; a null leaves it to the provider, which may take it for true.
    fields |= {"parameters": tool.parameters, "strict": tool.strict}
    return WRITER.dumps(WRITER.with_extra(fields, WRITER.own(tool.extra), read_tool, where), where)


def _last_markable(model_input: ModelInput) -> int | None:
    last = None
    for index, message in enumerate(model_input.messages):
        if message.origin not in _STABLE:
            break
        if not isinstance(message, AssistantMessage) and message.content != ():
            last = index
    return last


def _system_items(model_input: ModelInput) -> list[Any]:
    """Return the system messages that stand in the settings' extra under ``input``."""
    items: Any = WRITER.own(model_input.settings.extra).get("input")
    if items is None:
        return []
    listed = list(items) if isinstance(items, list | tuple) else []
    if not listed or split_system(listed, instructed=bool(model_input.system)) != ("", listed):
        raise WRITER.refused(f"settings.extra[{PROTOCOL!r}]", "its 'input' holds more than system messages")
    return listed


def _settings(model_input: ModelInput, *, stream: bool, encrypted_reasoning: bool) -> dict[str, Any]:
    settings = model_input.settings
    schema = settings.response_schema
    fields = given(
        max_output_tokens=settings.max_output_tokens,
        temperature=settings.temperature,
        top_p=settings.top_p,
        tool_choice=_tool_choice(settings),
        parallel_tool_calls=settings.parallel_tool_calls,
        text=None if schema is None else {"format": _format(schema)},
    )
    taken = OUTSIDE_INPUT | ({"tools"} if model_input.tools else set())
    taken |= {"instructions"} if model_input.system else set()
    fields = WRITER.settings_with_extra(
        fields,
        without(WRITER.own(settings.extra), "input"),
        lambda merged: read_fields(merged)[1],
        taken=taken,
        nested=None if schema is None else "text",
    )
    unsaid = dict(STATELESS) if encrypted_reasoning else without(STATELESS, "include")
    return unsaid | fields | ({"stream": True} if stream else {})


def _tool_choice(settings: ModelSettings) -> str | dict[str, Any] | None:
    choice = settings.tool_choice
    if choice is None or choice in ("auto", "none", "required"):
        return choice
    kind, _, name = choice.partition(":")
    if kind != "tool" or ":" not in choice:
        raise WRITER.unknown_choice(choice)
    return {"type": "function", "name": name}


def _format(schema: ResponseSchema) -> dict[str, Any]:
    described = given(name=schema.name, description=schema.description, strict=schema.strict)
    return {"type": "json_schema", **described, "schema": schema.json_schema}
