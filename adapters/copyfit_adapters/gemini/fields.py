"""Read the fields of a request that stand beside its contents: system instruction, settings and tools."""

from collections.abc import Callable, Mapping
from typing import Any

from copyfit.shapes.model_input import ModelSettings, ResponseSchema
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.codec.reading import integer, positive, real, texts, without
from copyfit_adapters.gemini.parts import READER
from copyfit_adapters.gemini.schemas import as_json_schema
from copyfit_adapters.gemini.spelling import spelled

OUTSIDE_INPUT = frozenset({"model", "contents"})
"""Fields that are no settings: who answers, and what is said."""

GENERATION = "generationConfig"
CHOICE = "toolConfig"
CALLING = "functionCallingConfig"
DECLARATIONS = "functionDeclarations"
SYSTEM = "systemInstruction"

NO_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}}
"""The schema of a function that takes nothing: the API has it without one, and used to refuse an empty one."""


def read_fields(body: Mapping[str, Any]) -> tuple[str, ModelSettings, tuple[ToolSpec, ...]]:
    """Return the system text, the settings and the tools of a request `body`.

    A field with a value that the shapes have no place for stays whole in ``settings.extra``, under the object that
    it came in: a system of several parts, a tool that runs at the provider, a choice among several functions.

    Raises:
        UnreadableRequest: the object of the settings or of the choice of tools is none.

    """
    named = spelled(body, SYSTEM, "tools", CHOICE, GENERATION, only_named=("safetySettings", "cachedContent"))
    given = without(named, *OUTSIDE_INPUT)
    system = _read_system(given.get(SYSTEM))
    if system is not None:
        del given[SYSTEM]
    tools, others = _read_tools(given.pop("tools", []))
    if others:
        given["tools"] = others
    settings: dict[str, Any] = {}
    for name, read in ((GENERATION, read_generation), (CHOICE, read_choice)):
        found = read(READER.object(given.pop(name, {}), f"$.{name}"))
        settings |= {key: getattr(found, key) for key in found.model_fields_set - {"extra"}}
        rest = found.extra.get(READER.protocol)
        if rest:
            given[name] = rest
    return system or "", ModelSettings(**settings, extra=READER.extra(given)), tools


def read_generation(config: dict[str, Any]) -> ModelSettings:
    """Return the settings in a `generationConfig`; what has no place there is their extra."""
    given = respelled(config)
    settings: dict[str, Any] = {}
    for wire, (name, read) in _READERS.items():
        value = read(given[wire]) if wire in given else None
        if value is not None:
            settings[name] = value
            del given[wire]
    for name, form in (("responseJsonSchema", dict), ("responseSchema", as_json_schema)):
        if given.get("responseMimeType") == "application/json" and isinstance(given.get(name), dict):
            settings["response_schema"] = ResponseSchema(json_schema=form(given[name]))
            given = without(given, name, "responseMimeType")
    return ModelSettings(**settings, extra=READER.extra(given))


def respelled(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a `generationConfig` with the names in camelCase that Google's own client sends in snake_case."""
    given = spelled(
        config, *_READERS, "responseMimeType", "responseJsonSchema", "responseSchema", only_named=_KEPT
    )
    thinking = given.get("thinkingConfig")
    if isinstance(thinking, dict):
        given["thinkingConfig"] = spelled(thinking, only_named=_THINKING)
    return given


def read_choice(config: dict[str, Any]) -> ModelSettings:
    """Return the choice of tools in a `toolConfig`; what has no place there is its extra."""
    given = spelled(config, CALLING)
    calling = given.get(CALLING)
    choice = _read_calling(spelled(calling, "mode", _ALLOWED)) if isinstance(calling, dict) else None
    if choice is not None:
        del given[CALLING]
    chosen = {} if choice is None else {"tool_choice": choice}
    return ModelSettings(**chosen, extra=READER.extra(given))


def _read_tools(value: Any) -> tuple[tuple[ToolSpec, ...], Any]:
    """Return the functions in a list of tools, and the list of what is left of it."""
    if not isinstance(value, list):
        return (), value
    found: list[ToolSpec] = []
    others: list[Any] = []
    for entry in value:
        fields = spelled(entry, DECLARATIONS) if isinstance(entry, dict) else {}
        declared = fields.get(DECLARATIONS)
        read = [read_tool(tool) for tool in declared] if isinstance(declared, list) else [None]
        functions = [tool for tool in read if tool is not None]
        if len(functions) < len(read):
            others.append(entry)
            continue
        found += functions
        rest = without(fields, DECLARATIONS)
        others += [rest] if rest else []
    return tuple(found), others


def read_tool(tool: Any) -> ToolSpec | None:
    """Return the shape of one function declaration, or None when it is not complete."""
    if not isinstance(tool, dict):
        return None
    fields = spelled(tool, *_TOOL_FIELDS)
    name, description = fields.get("name"), fields.get("description", "")
    schemas = [fields[field] for field in ("parametersJsonSchema", "parameters") if field in fields]
    if not (isinstance(name, str) and isinstance(description, str)) or len(schemas) > 1:
        return None
    schema = schemas[0] if schemas else dict(NO_PARAMETERS)
    if not isinstance(schema, dict):
        return None
    if "parameters" in fields:
        schema = as_json_schema(schema)
    extra = READER.extra(without(fields, *_TOOL_FIELDS))
    return ToolSpec(name=name, description=description, parameters=schema, extra=extra)


_TOOL_FIELDS = ("name", "description", "parametersJsonSchema", "parameters")
_ALLOWED = "allowedFunctionNames"
_KEPT = (
    "candidateCount",
    "frequencyPenalty",
    "mediaResolution",
    "presencePenalty",
    "responseModalities",
    "speechConfig",
    "thinkingConfig",
    "topK",
)
_THINKING = ("includeThoughts", "thinkingBudget", "thinkingLevel")


def _read_system(value: Any) -> str | None:
    """Return the text of a system instruction that is one text; its role says nothing."""
    match value:
        case {"parts": [{"text": str(text), **facts}], **rest} if not facts and set(rest) <= {"role"}:
            return text
    return None


def _read_calling(config: dict[str, Any]) -> str | None:
    match config:
        case {"mode": "AUTO", **rest} if not rest:
            return "auto"
        case {"mode": "NONE", **rest} if not rest:
            return "none"
        case {"mode": "ANY", **rest} if not rest:
            return "required"
        case {"mode": "ANY", "allowedFunctionNames": [str(name)], **rest} if not rest:
            return f"tool:{name}"
    return None


_READERS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "maxOutputTokens": ("max_output_tokens", positive),
    "temperature": ("temperature", real),
    "topP": ("top_p", real),
    "seed": ("seed", integer),
    "stopSequences": ("stop", texts),
}
"""Each field's name in the settings and its reader, which returns None for what has no place there."""
