"""Write a model input as the body of a generateContent request.

The bytes are ours: compact JSON in UTF-8, fields in a fixed order, contents last, so that two inputs with a common
beginning make bodies with a common beginning. Each message's parts are one fragment that depends on nothing but
the message (see `turns` for the one exception); neighbours under one role, such as the results of parallel calls
and what the user says after them, become one content. Text with a lone surrogate is written with JSON escapes.

Fields of `extra["gemini"]` are written back where they were read. One that copyfit writes itself, or would read
back as something else, is refused: what the model sees has one place in the input, and a role cannot be forged.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from copyfit.shapes.identity_memo import IdentityMemo
from copyfit.shapes.messages import Message
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.codec.reading import without
from copyfit_adapters.codec.request import WireRequest
from copyfit_adapters.codec.turns import Turn, around, as_turns
from copyfit_adapters.codec.writing import given, separated
from copyfit_adapters.gemini.dialect import DEVELOPER, Dialect
from copyfit_adapters.gemini.encode_parts import WRITER, encode_parts
from copyfit_adapters.gemini.fields import (
    CALLING,
    CHOICE,
    DECLARATIONS,
    GENERATION,
    NO_PARAMETERS,
    OUTSIDE_INPUT,
    SYSTEM,
    read_choice,
    read_fields,
    read_generation,
    read_tool,
    respelled,
)
from copyfit_adapters.gemini.turns import prepared

PATH = "/models"
_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}


def encode(
    model_input: ModelInput,
    model: str,
    *,
    stream: bool = False,
    dialect: Dialect = DEVELOPER,
    known: IdentityMemo[bytes] | None = None,
) -> WireRequest:
    """Return the request that puts `model_input` to `model`, whose name stands in the path.

    A message whose JSON is in `known` is not written again, and the JSON of the others is kept there.

    Raises:
        UnencodableInput: the protocol has no form for something in the input; the error names it.

    """
    head = _head(model_input)
    tools = [encode_tool(tool, where=f"tools[{index}]") for index, tool in enumerate(model_input.tools)]
    others = head.pop("tools", [])
    pieces = [WRITER.dumps(head, "settings")[:-1], b"," if head else b""]
    if tools or others:
        functions = [b'{"' + DECLARATIONS.encode() + b'":[' + b",".join(tools) + b"]}"] if tools else []
        pieces += [
            b'"tools":[',
            *separated([*functions, *(WRITER.dumps(tool, "settings") for tool in others)]),
            b"],",
        ]
    pieces += [b'"contents":[', *_contents(model_input, dialect, known), b"]}"]
    how = ":streamGenerateContent?alt=sse" if stream else ":generateContent"
    # The body is joined once: a second copy of its megabytes takes longer than all the rest.
    return WireRequest(path=path_of(model) + how, body=b"".join(pieces))


def path_of(model: str) -> str:
    """Return where `model` stands below the base URL; its name may begin with ``models/``, as the API lists it."""
    return f"{PATH}/{quote(model.removeprefix('models/'), safe='@')}"


def encode_message(message: Message, where: str = "message", *, dialect: Dialect = DEVELOPER) -> bytes:
    """Return the JSON of the parts of one message, separated by commas.

    Raises:
        UnencodableInput: the protocol has no form for it.

    """
    return b",".join(WRITER.dumps(part, where) for part in encode_parts(message, dialect, where))


def encode_tool(tool: ToolSpec, *, where: str = "tool") -> bytes:
    """Return the JSON of one function declaration; a function that takes nothing has no schema.

    Raises:
        UnencodableInput: the protocol has no form for it.

    """
    fields: dict[str, Any] = {"name": tool.name}
    if tool.description:
        fields["description"] = tool.description
    if tool.parameters != NO_PARAMETERS:
        fields["parametersJsonSchema"] = tool.parameters
    return WRITER.dumps(WRITER.with_extra(fields, WRITER.own(tool.extra), read_tool, where), where)


def _contents(model_input: ModelInput, dialect: Dialect, known: IdentityMemo[bytes] | None) -> Iterator[bytes]:
    messages = prepared(model_input.messages, dialect)
    written = WRITER.fragments(
        messages, known, lambda message, where: encode_message(message, where, dialect=dialect)
    )
    return as_turns(
        (
            Turn(
                "model" if message.role == "assistant" else "user",
                parts,
                around(message, WRITER, f"messages[{index}]", "parts"),
            )
            for index, (message, parts) in enumerate(zip(messages, written, strict=True))
        ),
        "parts",
    )


def _head(model_input: ModelInput) -> dict[str, Any]:
    """Return the fields before the contents; `tools` are those that are no functions of the input."""
    own = WRITER.own(model_input.settings.extra)
    settings = model_input.settings
    config = _level(_generation(settings), own, GENERATION, read_generation)
    choice = _level(
        _tool_choice(settings, with_tools=offers_functions(model_input.tools, own)), own, CHOICE, read_choice
    )
    taken = OUTSIDE_INPUT | ({SYSTEM} if model_input.system else set())
    rest = WRITER.settings_with_extra(
        {}, without(own, GENERATION, CHOICE), lambda merged: read_fields(merged)[1], taken=taken
    )
    if not isinstance(rest.get("tools", []), list):
        raise WRITER.refused("settings", "its extra 'tools' are no list")
    system = {"parts": [{"text": model_input.system}]} if model_input.system else None
    return given(**{GENERATION: config or None, CHOICE: choice or None}) | rest | given(**{SYSTEM: system})


def offers_functions(tools: Any, own: Mapping[str, Any]) -> bool:
    """Whether an input with these `tools`, and its settings' `own` extra, declares any function."""
    others = own.get("tools")
    listed = others if isinstance(others, list) else []
    return bool(tools) or any(isinstance(entry, Mapping) and DECLARATIONS in entry for entry in listed)


def _level(fields: dict[str, Any], own: Mapping[str, Any], name: str, read: Any) -> dict[str, Any]:
    """Return the object `name` of the request: `fields` and what the extra holds for it."""
    inner = own.get(name, {})
    if not isinstance(inner, Mapping):
        raise WRITER.refused("settings", f"its extra {name!r} is no object")
    if name == GENERATION and respelled(inner) != inner:
        raise WRITER.refused("settings", f"the fields of its extra {name!r} are to be in camelCase")
    return WRITER.with_extra(fields, inner, read, f"settings.extra[{WRITER.protocol!r}][{name!r}]")


def _generation(settings: ModelSettings) -> dict[str, Any]:
    schema = settings.response_schema
    return given(
        maxOutputTokens=settings.max_output_tokens,
        temperature=settings.temperature,
        topP=settings.top_p,
        seed=settings.seed,
        stopSequences=list(settings.stop) or None,
        responseMimeType=None if schema is None else "application/json",
        responseJsonSchema=None if schema is None else schema.json_schema,
    )


def _tool_choice(settings: ModelSettings, *, with_tools: bool) -> dict[str, Any]:
    choice = settings.tool_choice
    if choice is None:
        return {}
    if choice in _MODES:
        calling: dict[str, Any] = {"mode": _MODES[choice]}
    elif choice.startswith("tool:"):
        calling = {"mode": "ANY", "allowedFunctionNames": [choice.removeprefix("tool:")]}
    else:
        raise WRITER.unknown_choice(choice)
    return {CALLING: calling} if with_tools else {}
