"""Write a model input as the body of a Converse request.

The bytes are ours: compact JSON in UTF-8, fields in a fixed order, messages last, so that two inputs with a common
beginning make bodies with a common beginning. Each message's blocks are one fragment that depends on nothing but
the message; only where a document's name was said before is the message written anew each time, with a number in
the name, for the API takes each name once. Neighbours under one role, such as the results of parallel calls and
what the user says after them, become one message. Text with a lone surrogate is written with JSON escapes.

Fields of `extra["bedrock-converse"]` are written back where they were read. One that copyfit writes itself, or
would read back as something else, is refused: what the model sees has one place in the input, and a role cannot be
forged.

What the API refuses by itself, and says so, is sent as it is: a history that does not begin with the user, calls
in the history without a tool on offer, a document in a message without a text.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import quote

from copyfit.shapes.identity_memo import IdentityMemo
from copyfit.shapes.messages import Message, UserMessage
from copyfit.shapes.model_input import ModelInput, ModelSettings, ResponseSchema
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.bedrock_converse.blocks import is_mark
from copyfit_adapters.bedrock_converse.dialect import MARK, MAX_MARKS, PROTOCOL
from copyfit_adapters.bedrock_converse.fields import NESTED, OUTSIDE_INPUT, read_fields, read_tool
from copyfit_adapters.bedrock_converse.names import renamed
from copyfit_adapters.bedrock_converse.parts import WRITER, encode_blocks
from copyfit_adapters.codec.request import WireRequest
from copyfit_adapters.codec.turns import Turn, around, as_turns, last_stable
from copyfit_adapters.codec.writing import given

CacheTime = Literal["5m", "1h"]
"""How long the provider keeps a prefix after its last use, in the protocol's own words."""

_MARKED = f'"{MARK}":'.encode()
"""The field as JSON has it; within a text its quotes are escaped."""

_NOVA = "amazon.nova"
"""In the ids of models that refuse a mark among the tools and behind calls and results ("extraneous key").

Seen by the users of several clients in 2026, such as NousResearch/hermes-agent (issue 97281) and earendil-works/pi
(issue 2053).
"""


def encode(
    model_input: ModelInput,
    model: str,
    *,
    stream: bool = False,
    cache: CacheTime | None = None,
    known: IdentityMemo[bytes] | None = None,
) -> WireRequest:
    """Return the request that puts `model_input` to `model`, which is a model's id or the ARN of one.

    With `cache`, the ends of the stable prefix are marked for the provider's cache: the last tool, the system
    text, and the last message before the first that lives for this invocation alone; for Amazon's Nova, which
    takes no others, the system text and the last such message of the user. Marks in the input's own extra stay,
    and what they leave of the `MAX_MARKS` goes to the longest prefixes. A message whose JSON is in `known` is not
    written again, and the JSON of the others is kept there.

    Raises:
        UnencodableInput: the protocol has no form for something in the input; the error names it.

    """
    head = _fields(model_input)
    messages = list(model_input.messages)
    written = list(WRITER.fragments(messages, known, encode_message))
    for index, message in renamed(messages).items():
        messages[index] = message
        written[index] = encode_message(message, f"messages[{index}]")
    if cache is not None:
        _mark_ends(model_input, model, cache, head, messages, written)
    before = WRITER.dumps(head, "settings")[:-1] + b"," if head else b"{"
    # The body is joined once: a second copy of its megabytes takes longer than all the rest.
    return WireRequest(
        path=path_of(model, stream=stream),
        body=b"".join([before, b'"messages":[', *_turns(messages, written), b"]}"]),
    )


def path_of(model: str, *, stream: bool) -> str:
    """Return the path of a request to `model`, whose id may hold slashes and colons."""
    return f"/model/{quote(model, safe='')}/converse{'-stream' if stream else ''}"


def encode_message(message: Message, where: str = "message", *, mark: Mapping[str, Any] | None = None) -> bytes:
    """Return the JSON of the blocks of one message, separated by commas, with the `mark` where it can stand.

    A message that has nothing but marks is nothing.

    Raises:
        UnencodableInput: the protocol has no form for it.

    """
    blocks = encode_blocks(message, where)
    if all(is_mark(block) for block in blocks):
        return b""
    if mark is not None and not any(is_mark(block) for block in blocks):
        # The API takes no mark behind reasoning, and loses one behind a document that is no PDF.
        ends = [index for index, block in enumerate(blocks, 1) if _takes_mark(block)]
        if ends:
            blocks.insert(ends[-1], dict(mark))
    return b",".join(WRITER.dumps(block, where) for block in blocks)


def encode_tool(tool: ToolSpec, *, where: str = "tool") -> dict[str, Any]:
    """Return one tool as it is offered.

    Raises:
        UnencodableInput: the protocol has no form for it.

    """
    fields = given(
        name=tool.name,
        description=tool.description or None,
        inputSchema={"json": tool.parameters},
        strict=tool.strict,
    )
    own = WRITER.own(tool.extra)
    return {"toolSpec": WRITER.with_extra(fields, own, lambda merged: read_tool({"toolSpec": merged}), where)}


def _takes_mark(block: Mapping[str, Any]) -> bool:
    return "reasoningContent" not in block and block.get("document", {}).get("format", "pdf") == "pdf"


def _mark_ends(
    model_input: ModelInput,
    model: str,
    cache: CacheTime,
    head: dict[str, Any],
    messages: Sequence[Message],
    written: list[bytes],
) -> None:
    """Put marks on the ends of the stable prefix, the longest first, as long as the API takes one more."""
    mark = {MARK: {"type": "default"} | ({"ttl": cache} if cache != "5m" else {})}
    free = MAX_MARKS - sum(piece.count(_MARKED) for piece in (WRITER.dumps(head, "settings"), *written))
    only_texts = _NOVA in model
    said = [
        b"" if only_texts and not isinstance(message, UserMessage) else fragment
        for message, fragment in zip(messages, written, strict=True)
    ]
    last = last_stable(messages, said)
    if last is not None and free > 0:
        written[last] = encode_message(messages[last], f"messages[{last}]", mark=mark)
        free -= 1
    if model_input.system.strip() and free > 0:
        head["system"].append(mark)
        free -= 1
    if model_input.tools and free > 0 and not only_texts:
        head["toolConfig"]["tools"].append(mark)


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


def _fields(model_input: ModelInput) -> dict[str, Any]:
    """Return the fields beside the messages, with the settings' own extra checked by reading all of it back."""
    settings = model_input.settings
    own = WRITER.own(settings.extra)
    tools = [encode_tool(tool, where=f"tools[{index}]") for index, tool in enumerate(model_input.tools)]
    offered = tools or _nested(own, "toolConfig").get("tools")
    numbers = given(
        maxTokens=settings.max_output_tokens,
        temperature=settings.temperature,
        topP=settings.top_p,
        stopSequences=list(settings.stop) or None,
    )
    config = given(tools=tools or None, toolChoice=_tool_choice(settings) if offered else None)
    schema = settings.response_schema
    fields = given(
        system=[{"text": model_input.system}] if model_input.system.strip() else None,
        inferenceConfig=numbers or None,
        toolConfig=config or None,
        outputConfig=None if schema is None else {"textFormat": _format(schema)},
    )
    return _with_own(fields, own) if own else fields


def _with_own(fields: dict[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    merged, clash = fields | dict(own), sorted(own.keys() & (OUTSIDE_INPUT | fields.keys() - set(NESTED)))
    for name in NESTED:
        if name in fields and name in own:
            inner = _nested(own, name)
            clash += [f"{name}.{field}" for field in sorted(fields[name].keys() & inner.keys())]
            merged[name] = fields[name] | dict(inner)
    system, settings, tools = read_fields(fields)
    expected = system, settings.model_copy(update={"extra": {PROTOCOL: dict(own)}}), tools
    if clash or read_fields(merged) != expected:
        named = ", ".join(clash or sorted(own))
        raise WRITER.refused("settings", f"its extra fields ({named}) have a place of their own in the input")
    return merged


def _nested(own: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    inner = own.get(name)
    return inner if isinstance(inner, Mapping) else {}


def _format(schema: ResponseSchema) -> dict[str, Any]:
    text = WRITER.dumps(schema.json_schema, "settings.response_schema").decode()
    facts = given(schema=text, name=schema.name, description=schema.description)
    return {"type": "json_schema", "structure": {"jsonSchema": facts}}


def _tool_choice(settings: ModelSettings) -> dict[str, Any] | None:
    choice = settings.tool_choice
    match choice:
        case None | "none":
            return None
        case "auto":
            return {"auto": {}}
        case "required":
            return {"any": {}}
        case _ if choice.startswith("tool:"):
            return {"tool": {"name": choice.removeprefix("tool:")}}
    raise WRITER.unknown_choice(choice)
