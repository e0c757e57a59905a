"""Write a model input as the body of a messages request.

The bytes are ours: compact JSON in UTF-8, fields in a fixed order, messages last, content always as blocks, so
that two inputs with a common beginning make bodies with a common beginning. Each message's blocks are one fragment
that depends on nothing but the message; neighbours under one role, such as the results of parallel calls and what
the user says after them, become one message. Text with a lone surrogate is written with JSON escapes.

Fields of `extra["anthropic-messages"]` are written back where they were read. One that copyfit writes itself, or
would read back as something else, is refused: what the model sees has one place in the input, and a role cannot be
forged.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice, repeat
from typing import Any, Literal

from copyfit.shapes.identity_memo import IdentityMemo
from copyfit.shapes.messages import Message, Origin, ToolMessage
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.anthropic_messages.dialect import DEFAULT_MAX_TOKENS, PROTOCOL
from copyfit_adapters.anthropic_messages.fields import OUTSIDE_INPUT, read_fields, read_tool
from copyfit_adapters.anthropic_messages.messages import AROUND
from copyfit_adapters.anthropic_messages.parts import encode_blocks, with_extra
from copyfit_adapters.codec import WireRequest
from copyfit_adapters.errors import UnencodableInput

PATH = "/messages"

CacheTime = Literal["5m", "1h"]
"""How long the provider keeps a prefix after its last use, in the protocol's own words."""

_STABLE = (Origin.CANONICAL, Origin.CHECKPOINT)


def encode(
    model_input: ModelInput,
    model: str,
    *,
    stream: bool = False,
    cache: CacheTime | None = None,
    fragments: IdentityMemo[bytes] | None = None,
) -> WireRequest:
    """Return the request that puts `model_input` to `model`.

    With `cache`, the ends of the stable prefix are marked for the provider's cache: the last tool, the system
    text, and the last message before the first that lives for this invocation alone. A message whose JSON is in
    `fragments` is not written again, and the JSON of the others is kept there. Settings without a cap on the
    answer get `DEFAULT_MAX_TOKENS`.

    Raises:
        UnencodableInput: the protocol has no form for something in the input; the error names it.

    """
    mark = None if cache is None else {"type": "ephemeral"} | ({"ttl": cache} if cache != "5m" else {})
    head = {"model": model} | _settings(model_input, stream=stream)
    if model_input.system:
        head["system"] = model_input.system
        if mark is not None:
            head["system"] = [{"type": "text", "text": model_input.system, "cache_control": mark}]
    tools = [
        encode_tool(tool, where=f"tools[{index}]", mark=mark if index == len(model_input.tools) - 1 else None)
        for index, tool in enumerate(model_input.tools)
    ]
    messages = _messages(model_input.messages, IdentityMemo() if fragments is None else fragments, mark)
    pieces = [_dumps(head, "settings")[:-1]]
    if tools:
        pieces += [b',"tools":[', *_separated(tools), b"]"]
    pieces += [b',"messages":[', *messages, b"]}"]
    # The body is joined once: a second copy of its megabytes takes longer than all the rest.
    return WireRequest(path=PATH, body=b"".join(pieces))


def encode_message(message: Message, *, where: str = "message", mark: Mapping[str, Any] | None = None) -> bytes:
    """Return the JSON of the blocks of one message, separated by commas; `mark` goes to the last that can have it.

    Raises:
        UnencodableInput: the protocol has no form for it.

    """
    blocks = encode_blocks(message, where)
    if mark is not None:
        markable = [block for block in blocks if block["type"] not in ("thinking", "redacted_thinking")]
        if markable:
            markable[-1].setdefault("cache_control", mark)
    return b",".join(_dumps(block, where) for block in blocks)


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
    fields = with_extra(fields, tool.extra.get(PROTOCOL), read_tool, where)
    return _dumps(fields if mark is None else {"cache_control": mark} | fields, where)


def _messages(
    messages: Iterable[Message], known: IdentityMemo[bytes], mark: Mapping[str, Any] | None
) -> Iterator[bytes]:
    """Yield the pieces of the wire messages; neighbours under one role are one, but for those with own fields."""
    kept = list(messages)
    fragments = list(_fragments(kept, known))
    if mark is not None:
        last = _last_stable(kept, fragments)
        if last is not None:
            fragments[last] = encode_message(kept[last], where=f"messages[{last}]", mark=mark)
    role, end = "", b""
    for index, (message, fragment) in enumerate(zip(kept, fragments, strict=True)):
        around = _around(message, f"messages[{index}]")
        own = "assistant" if message.role == "assistant" else "user"
        if not fragment:
            continue
        if own == role and not around:
            yield b","
        else:
            yield end + (b"," if end else b"") + f'{{"role":"{own}","content":['.encode()
        yield fragment
        role = "" if around else own
        end = b"]," + _dumps(around, f"messages[{index}]")[1:] if around else b"]}"
    yield end


def _fragments(messages: Iterable[Message], known: IdentityMemo[bytes]) -> Iterator[bytes]:
    for index, message in enumerate(messages):
        fragment = known.get(message)
        if fragment is None:
            fragment = encode_message(message, where=f"messages[{index}]")
            known.keep(message, fragment)
        yield fragment


def _last_stable(messages: list[Message], fragments: list[bytes]) -> int | None:
    last = None
    for index, message in enumerate(messages):
        if message.origin not in _STABLE:
            break
        if fragments[index]:
            last = index
    return last


def _around(message: Message, where: str) -> Mapping[str, Any]:
    """Return the fields that stand around the message's blocks, beside role and content."""
    own = message.extra.get(PROTOCOL, {})
    around = own.get(AROUND, {}) if isinstance(message, ToolMessage) else own
    if not isinstance(around, Mapping) or around.keys() & {"role", "content"}:
        raise UnencodableInput(PROTOCOL, where, "its extra would change the role or the content of the message")
    return around


def _settings(model_input: ModelInput, *, stream: bool) -> dict[str, Any]:
    settings = model_input.settings
    own = settings.extra.get(PROTOCOL, {})
    with_tools = bool(model_input.tools) or "tools" in own
    cap = settings.max_output_tokens or (None if "max_tokens" in own else DEFAULT_MAX_TOKENS)
    given = {
        "max_tokens": cap,
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "stop_sequences": list(settings.stop) or None,
        "tool_choice": _tool_choice(settings) if with_tools else None,
    }
    fields = {name: value for name, value in given.items() if value is not None}
    taken = OUTSIDE_INPUT | ({"tools"} if model_input.tools else set())
    taken |= {"system"} if model_input.system else set()
    for name in own.keys() & taken:
        raise UnencodableInput(PROTOCOL, f"settings.extra[{PROTOCOL!r}]", f"copyfit writes {name!r} itself")
    fields = with_extra(fields, own, lambda merged: read_fields(merged)[1], "settings")
    return fields | ({"stream": True} if stream else {})


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
    allowed = "'auto', 'none', 'required' or 'tool:NAME'"
    raise UnencodableInput(PROTOCOL, "settings.tool_choice", f"{choice!r} is none of {allowed}")


def _separated(fragments: Iterable[bytes]) -> Iterator[bytes]:
    """Yield `fragments` with a comma between any two."""
    return islice(chain.from_iterable(zip(repeat(b","), fragments)), 1, None)


def _dumps(value: Any, where: str) -> bytes:
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as e:
        raise UnencodableInput(PROTOCOL, where, "it holds a value that JSON has no form for") from e
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()
