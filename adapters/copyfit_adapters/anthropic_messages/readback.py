"""Read a messages request body back into the model input that it carries: the inverse of `encode`.

It reads what any client sends: text or blocks as content, a system of one text or of several blocks, fields that
nobody has heard of yet. What is not part of a model input is left out: the model's name, and whether the answer is
streamed.
"""

import json
from typing import Any

from copyfit.shapes.model_input import ModelInput
from copyfit_adapters.anthropic_messages.arguments import finite
from copyfit_adapters.anthropic_messages.blocks import as_object
from copyfit_adapters.anthropic_messages.dialect import PROTOCOL
from copyfit_adapters.anthropic_messages.fields import read_fields
from copyfit_adapters.anthropic_messages.messages import read_message
from copyfit_adapters.errors import UnreadableRequest


def readback(body: bytes) -> ModelInput:
    """Return the model input that the request `body` carries.

    Raises:
        UnreadableRequest: the body is not a messages request; it names the JSON path.

    """
    request = as_object(_parsed(body), "$")
    messages = request.get("messages")
    if not isinstance(messages, list):
        raise UnreadableRequest(PROTOCOL, "$.messages", "is not a list")
    system, settings, tools = read_fields(request)
    read = [read_message(message, f"$.messages[{index}]") for index, message in enumerate(messages)]
    return ModelInput(
        system=system,
        messages=tuple(message for shapes in read for message in shapes),
        tools=tools,
        settings=settings,
    )


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body.decode(), parse_constant=finite, parse_float=finite)
    except (ValueError, RecursionError) as e:
        raise UnreadableRequest(PROTOCOL, "the body", "is not JSON in UTF-8") from e
