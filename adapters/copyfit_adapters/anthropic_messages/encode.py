"""Write a model input as the body of a messages request.

The bytes are ours: compact JSON in UTF-8, fields in a fixed order, messages last, content always as blocks, so
that two inputs with a common beginning make bodies with a common beginning. Each message's blocks are one fragment
that depends on nothing but the message; neighbours under one role, such as the results of parallel calls and what
the user says after them, become one message. Text with a lone surrogate is written with JSON escapes.

Fields of `extra["anthropic-messages"]` are written back where they were read. One that copyfit writes itself, or
would read back as something else, is refused: what the model sees has one place in the input, and a role cannot be
forged.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from copyfit.shapes.identity_memo import IdentityMemo
from copyfit.shapes.messages import Message
from copyfit.shapes.model_input import ModelInput, ModelSettings, ResponseSchema
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.anthropic_messages.dialect import DEFAULT_MAX_TOKENS, MAX_MARKS, UNMARKED
from copyfit_adapters.anthropic_messages.fields import OUTSIDE_INPUT, read_fields, read_tool
from copyfit_adapters.anthropic_messages.parts import WRITER, encode_blocks
from copyfit_adapters.codec.request import WireRequest
from copyfit_adapters.codec.turns import Turn, around, as_turns, last_stable
from copyfit_adapters.codec.writing import body_of, given

PATH = "/messages"

CacheTime = Literal["5m", "1h"]
"""How long the provider keeps a prefix after its last use, in the protocol's own words."""

_MARKED = b'"cache_control":'
"""The field as JSON has it; within a text its quotes are escaped."""


def encode(
    model_input: ModelInput,
    model: str,
    *,
    stream: bool = False,
    cache: CacheTime | None = None,
    known: IdentityMemo[bytes] | None = None,
) -> WireRequest:
    """Return the request that puts `model_input` to `model`.

    With `cache`, the ends of the stable prefix are marked for the provider's cache: the last tool, the system
    text, and the last message before the first that lives for this invocation alone. Marks in the input's own
    extra stay, and what they leave of the `MAX_MARKS` goes to the longest prefixes. A message whose JSON is in
    `known` is not written again, and the JSON of the others is kept there. Settings without a cap on the answer
    get `DEFAULT_MAX_TOKENS`.

    Raises:
        UnencodableInput: the protocol has no form for something in the input; the error names it.

    """
    body = encode_body(model_input, {"model": model}, stream=stream, cache=cache, known=known)
    return WireRequest(path=PATH, body=body)


def encode_body(
    model_input: ModelInput,
    address: Mapping[str, Any],
    *,
    stream: bool = False,
    cache: CacheTime | None = None,
    known: IdentityMemo[bytes] | None = None,
) -> bytes:
    """Return the body of the request; its first fields are the `address`: who answers, in which version.

    For the rest see `encode`.

    Raises:
        UnencodableInput: the protocol has no form for something in the input; the error names it.

    """
    head = dict(address) | _settings(model_input, stream=stream)
    if model_input.system.strip():
        head["system"] = model_input.system
    tools = [encode_tool(tool, where=f"tools[{index}]") for index, tool in enumerate(model_input.tools)]
    messages = list(WRITER.fragments(model_input.messages, known, encode_message))
    if cache is not None:
        mark = {"type": "ephemeral"} | ({"ttl": cache} if cache != "5m" else {})
        _mark_ends(model_input, mark, head, tools, messages)
    return body_of(WRITER.dumps(head, "settings"), tools, _turns(model_input.messages, messages))


def encode_message(message: Message, where: str = "message", *, mark: Mapping[str, Any] | None = None) -> bytes:
    """Return the JSON of the blocks of one message, separated by commas; `mark` goes to the last that can have it.

    Raises:
        UnencodableInput: the protocol has no form for it.

    """
    blocks = encode_blocks(message, where)
    if mark is not None:
        markable = [block for block in blocks if block["type"] not in UNMARKED]
        if markable:
            markable[-1].setdefault("cache_control", mark)
    return b",".join(WRITER.dumps(block, where) for block in blocks)


def encode_tool(tool: ToolSpec, *, where: str = "tool", mark: Mapping[str, Any] | None = None) -> bytes:
    """Return the JSON of one tool, with the cache's `mark` if it has none of its own.

    Raises:
        UnencodableInput: the protocol has no form for it.

    """
    fields: dict[str, Any] = {"name": tool.name}
    if tool.description:
        fields["description"] = tool.description
    fields["input_schema"] = tool.parameters
    if tool.strict is not None:
        fields["strict"] = tool.strict
    fields = WRITER.with_extra(fields, WRITER.own(tool.extra), read_tool, where)
    return WRITER.dumps(fields if mark is None else {"cache_control": mark} | fields, where)


def _mark_ends(
    model_input: ModelInput,
    mark: Mapping[str, Any],
    head: dict[str, Any],
    tools: list[bytes],
    messages: list[bytes],
) -> None:
    """Put the `mark` on the ends of the stable prefix, the longest first, as long as the API takes one more."""
    pieces = (WRITER.dumps(head, "settings"), *tools, *messages)
    free = MAX_MARKS - sum(piece.count(_MARKED) for piece in pieces)
    last = last_stable(model_input.messages, messages)
    if last is not None and free > 0:
        messages[last] = encode_message(model_input.messages[last], f"messages[{last}]", mark=mark)
        free -= 1
    if model_input.system.strip() and free > 0:
        head["system"] = [{"type": "text", "text": model_input.system, "cache_control": mark}]
        free -= 1
    # A tool that is loaded later is no part of the prefix, and the API refuses a mark on it.
    loaded = [at for at, tool in enumerate(model_input.tools) if not WRITER.own(tool.extra).get("defer_loading")]
    if loaded and free > 0:
        tools[loaded[-1]] = encode_tool(model_input.tools[loaded[-1]], where=f"tools[{loaded[-1]}]", mark=mark)


def _turns(messages: Sequence[Message], written: Sequence[bytes]) -> Iterator[bytes]:
    """Return the pieces of the wire messages; neighbours under one role are one, but for those with own fields."""
    return as_turns(
        Turn(
            "assistant" if message.role == "assistant" else "user",
            fragment,
            around(message, WRITER, f"messages[{index}]"),
        )
        for index, (message, fragment) in enumerate(zip(messages, written, strict=True))
    )


def _settings(model_input: ModelInput, *, stream: bool) -> dict[str, Any]:
    settings = model_input.settings
    own = WRITER.own(settings.extra)
    with_tools = bool(model_input.tools) or "tools" in own
    cap = settings.max_output_tokens or (None if "max_tokens" in own else DEFAULT_MAX_TOKENS)
    schema = settings.response_schema
    fields = given(
        max_tokens=cap,
        temperature=settings.temperature,
        top_p=settings.top_p,
        stop_sequences=list(settings.stop) or None,
        tool_choice=_tool_choice(settings) if with_tools else None,
        output_config=None if schema is None else {"format": _format(schema)},
    )
    taken = OUTSIDE_INPUT | ({"tools"} if model_input.tools else set())
    taken |= {"system"} if model_input.system.strip() else set()
    fields = WRITER.settings_with_extra(
        fields,
        own,
        lambda merged: read_fields(merged)[1],
        taken=taken,
        nested=None if schema is None else "output_config",
    )
    return fields | ({"stream": True} if stream else {})


def _format(schema: ResponseSchema) -> dict[str, Any]:
    return {"type": "json_schema", "schema": schema.json_schema}


def _tool_choice(settings: ModelSettings) -> dict[str, Any] | None:
    choice, parallel = settings.tool_choice, settings.parallel_tool_calls
    single = {} if parallel is None else {"disable_parallel_tool_use": not parallel}
    match choice:
        case None:
            return {"type": "auto"} | single if single else None
        case "none":
            return {"type": "none"}
        case "auto":
            return {"type": "auto"} | single
        case "required":
            return {"type": "any"} | single
        case _ if choice.startswith("tool:"):
            return {"type": "tool", "name": choice.removeprefix("tool:")} | single
    raise WRITER.unknown_choice(choice)
