"""The estimator against what providers really charged: recorded requests with the usage they reported.

The data lies beside the checkout and is not part of it. Usable are the rows without images, sealed reasoning,
redactions and doubtful recordings.
"""

import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from copyfit.shapes.messages import AssistantMessage, Message, TextPart, ToolCall, ToolMessage, UserMessage
from copyfit.shapes.tools import ToolSpec
from copyfit.tokens.conservative import ConservativeTokenEstimator
from copyfit.tokens.families import FAMILIES, UNKNOWN, TokenFamily

TRUTH = Path(__file__).parents[4] / "shared" / "usage_truth" / "usage_truth.jsonl.gz"

pytestmark = pytest.mark.skipif(not TRUTH.exists(), reason="the recorded usage is not beside this checkout")

FAMILY_OF_MODEL = (
    (r"claude-(instant|v2|2|3)|claude.*[- ]4(-[0156])?(-|@|:|$)", "claude-3"),
    (r"claude", "claude"),
    (r"gpt-oss", "gpt-oss"),
    (r"gpt-5|\bo[134]", "gpt-5"),
    (r"gpt-4o|gpt-4\.1", "gpt-4o"),
    (r"gpt-|davinci|ada", "gpt-4"),
    (r"gemini", "gemini"),
    (r"grok", "grok"),
    (r"command-a-reasoning", "cohere-reasoning"),
    (r"command-(a|r)", "cohere"),
    (r"nova-2", "nova-2"),
    (r"nova", "nova-1"),
    (r"llama-?4", "llama-4"),
    (r"llama", "llama-3"),
    (r"deepseek", "deepseek"),
    (r"mistral|mixtral|ministral|magistral|codestral|pixtral|devstral", "mistral"),
    (r"qwen|qwq|glm", "qwen"),
)


@dataclass
class Request:
    """A recorded request in no provider's dialect."""

    system: list[str] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    tools: list[ToolSpec] = field(default_factory=list)
    schema: Any = None


def usable_rows() -> Iterator[Mapping[str, Any]]:
    with gzip.open(TRUTH, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            odd = ("has_images", "opaque_chars", "redactions", "suspect", "media")
            if row["input_tokens"] and not any(row[name] for name in odd):
                yield row


def compact(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def words(value: Any) -> str:
    """The text of a content field in any dialect."""
    if value is None:
        return ""
    if isinstance(value, list):
        return "\n".join(map(words, value))
    if isinstance(value, dict) and isinstance(value.get("text"), str) and "id" not in value:
        return str(value["text"])
    if isinstance(value, dict) and "parts" in value:
        return words(value["parts"])
    return compact(value)


def read_request(body: Mapping[str, Any]) -> Request:
    body = body.get("generateContentRequest", body)
    if set(body) == {"input"} and isinstance(body["input"], dict):
        body = body["input"]
    body = body.get("converse", body)
    request = Request()
    for name in ("system", "instructions", "systemInstruction", "preamble"):
        if body.get(name):
            request.system.append(words(body[name]))
    for item in turns(body):
        read_turn(item, request)
    tools = body.get("tools") or []
    for tool in [tools] if isinstance(tools, dict) else tools:
        read_tool(tool, request)
    for tool in body.get("functions") or (body.get("toolConfig") or {}).get("tools") or []:
        read_tool(tool, request)
    request.schema = response_schema(body)
    return request


def turns(body: Mapping[str, Any]) -> list[Any]:
    if body.get("message"):
        return [*(body.get("chat_history") or []), body["message"]]
    names = ("messages", "contents", "input", "prompt", "inputText", "texts", "singleEmbeddingParams")
    found: Any = next((body[name] for name in names if body.get(name)), [])
    return found if isinstance(found, list) else [found]


def read_turn(item: Any, request: Request) -> None:
    if not isinstance(item, dict) or not {"role", "content", "parts", "type"} & set(item):
        request.messages.append(UserMessage(content=words(item)))
        return
    role = str(item.get("role") or "user").lower().removeprefix("role_")
    if item.get("type") == "function_call":
        request.messages.append(AssistantMessage(content=(call(item["name"], item.get("arguments")),)))
    elif item.get("type") == "function_call_output":
        request.messages.append(ToolMessage(call_id="c", content=words(item.get("output"))))
    elif role in ("system", "developer"):
        request.system.append(words(item.get("content", item.get("message"))))
    elif role in ("tool", "function"):
        request.messages.append(
            ToolMessage(call_id="c", name=item.get("name"), content=words(item.get("content")))
        )
    else:
        read_parts(item, role, request)


def read_parts(item: Mapping[str, Any], role: str, request: Request) -> None:
    content = item.get("content", item.get("parts", item.get("message")))
    texts: list[str] = []
    calls: list[ToolCall] = []
    for part in content if isinstance(content, list) else [content]:
        part = part if isinstance(part, dict) else {"text": part or ""}
        uses = (
            part.get("toolUse") or part.get("functionCall") or (part if part.get("type") == "tool_use" else None)
        )
        answer = part.get("toolResult") or part.get("functionResponse")
        answer = answer or (part if part.get("type") == "tool_result" else None)
        if uses:
            calls.append(call(uses.get("name", ""), uses.get("input", uses.get("args"))))
        elif answer:
            text = words(answer.get("content", answer.get("response")))
            request.messages.append(ToolMessage(call_id="c", name=answer.get("name"), content=text))
        else:
            texts.append(words(part))
    texts += [
        words(item[name]) for name in ("reasoning_content", "reasoning", "reasoning_details") if item.get(name)
    ]
    for made in item.get("tool_calls") or ([item["function_call"]] if item.get("function_call") else []):
        made = made.get("function", made)
        calls.append(call(made.get("name", ""), made.get("arguments", made.get("parameters"))))
    parts = tuple(TextPart(text=text) for text in texts if text)
    if role in ("assistant", "model", "chatbot"):
        request.messages.append(AssistantMessage(content=(*parts, *calls)))
    elif parts:
        request.messages.append(UserMessage(content=parts))


def call(name: str, arguments: Any) -> ToolCall:
    return ToolCall(id="c", name=name, arguments=compact({} if arguments is None else arguments))


def read_tool(tool: Mapping[str, Any], request: Request) -> None:
    declared = tool.get("functionDeclarations") or tool.get("function_declarations")
    if declared:
        for each in declared:
            read_tool(each, request)
        return
    tool = tool.get("toolSpec") or tool.get("function") or tool
    names = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameter_definitions")
    schema: Any = next((tool[name] for name in names if tool.get(name)), {})
    schema = json.loads(schema) if isinstance(schema, str) else schema
    schema = schema["json"] if set(schema) == {"json"} else schema
    name = str(tool.get("name") or tool.get("type") or "tool")
    request.tools.append(ToolSpec(name=name, description=tool.get("description") or "", parameters=schema))


def response_schema(body: Mapping[str, Any]) -> Any:
    generation = body.get("generationConfig") or {}
    text = body.get("text")
    candidates = (
        body.get("response_format"),
        text.get("format") if isinstance(text, dict) else None,
        *(body.get(name) for name in ("output_format", "output_config", "outputConfig", "format")),
        generation.get("responseSchema"),
        generation.get("responseJsonSchema"),
    )
    return next((each for each in candidates if isinstance(each, dict) and len(compact(each)) > 40), None)


def family_of(model: str) -> TokenFamily:
    found = (name for pattern, name in FAMILY_OF_MODEL if re.search(pattern, model.lower()))
    return FAMILIES[next(found, UNKNOWN.name)]


def estimate(request: Request, family: TokenFamily) -> int:
    estimator = ConservativeTokenEstimator(family)
    return (
        estimator.count_system("\n".join(request.system))
        + estimator.count_tools(request.tools)
        + sum(map(estimator.count_message, request.messages))
        + (estimator.count_schema(request.schema) if request.schema else 0)
    )


@pytest.fixture(scope="module")
def rows() -> list[tuple[Mapping[str, Any], Request]]:
    return [(row, read_request(row["request"])) for row in usable_rows()]


def verdict(pairs: Iterable[tuple[int, int]]) -> tuple[float, float]:
    """The share of underestimates and the median overshoot, both in percent."""
    kept = list(pairs)
    under = sum(estimated < true for estimated, true in kept)
    return 100 * under / len(kept), median(100 * (estimated / true - 1) for estimated, true in kept)


def test_every_recorded_tool_was_read(rows: list[tuple[Mapping[str, Any], Request]]) -> None:
    assert len(rows) > 2_000
    assert sum(bool(row["has_tools"]) != bool(request.tools) for row, request in rows) <= 1


def test_the_default_family_underestimates_less_than_one_request_in_two_hundred(
    rows: list[tuple[Mapping[str, Any], Request]],
) -> None:
    under, over = verdict((estimate(request, UNKNOWN), row["input_tokens"]) for row, request in rows)
    print(f"{under:.2f} % underestimates, median overshoot {over:.0f} %")
    assert under < 0.5


@pytest.mark.parametrize(("at_least", "overshoot_ceiling"), [(0, 110), (300, 75), (1_000, 70)])
def test_the_named_families_underestimate_less_than_one_request_in_two_hundred(
    rows: list[tuple[Mapping[str, Any], Request]],
    at_least: int,
    overshoot_ceiling: float,
) -> None:
    long_enough = [(row, request) for row, request in rows if row["input_tokens"] >= at_least]
    pairs = [
        (estimate(request, family_of(row["model"] or "")), row["input_tokens"]) for row, request in long_enough
    ]
    under, over = verdict(pairs)
    print(f"{under:.2f} % underestimates, median overshoot {over:.0f} %")
    assert over < overshoot_ceiling
    if at_least == 0:
        assert under < 0.5
