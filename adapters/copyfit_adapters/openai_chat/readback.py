"""Read a chat completions request body back into the model input that it carries: the inverse of `encode`.

It reads what any client sends: both names of the output cap, developer and system role, text as parts, null
content, fields that nobody has heard of yet. What is not part of a model input is left out: the model's name,
whether the answer is streamed, and ``stream_options`` that ask for usage alone.

The first message is the system text when it says nothing but its role (system or developer) and one text. Any
other system message stays in its place among the messages (see `messages`).
"""

from collections.abc import Mapping
from typing import Any

from copyfit.shapes.model_input import ModelInput
from copyfit_adapters.codec.reading import Reader
from copyfit_adapters.openai_chat.dialect import PROTOCOL
from copyfit_adapters.openai_chat.fields import read_fields
from copyfit_adapters.openai_chat.messages import read_message


def readback(body: bytes) -> ModelInput:
    """Return the model input that the request `body` carries.

    Raises:
        UnreadableRequest: the body is not a chat completions request; it names the JSON path.

    """
    reader = Reader(PROTOCOL)
    request = reader.request(body)
    messages = reader.list(request.get("messages"), "$.messages")
    system = _system_text(messages[0]) if messages else None
    first = 0 if system is None else 1
    settings, tools = read_fields(request)
    return ModelInput(
        system=system or "",
        messages=tuple(
            read_message(message, f"$.messages[{index}]")
            for index, message in enumerate(messages[first:], start=first)
        ),
        tools=tools,
        settings=settings,
    )


def _system_text(message: Any) -> str | None:
    if not isinstance(message, Mapping) or set(message) != {"role", "content"}:
        return None
    if message["role"] not in ("system", "developer"):
        return None
    content = message["content"]
    if isinstance(content, list) and len(content) == 1:
        part = content[0]
        is_text = isinstance(part, Mapping) and set(part) == {"type", "text"} and part["type"] == "text"
        content = part["text"] if is_text else None
    return content if isinstance(content, str) else None
