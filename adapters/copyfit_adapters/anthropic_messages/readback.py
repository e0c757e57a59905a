"""Read a messages request body back into the model input that it carries: the inverse of `encode`.

It reads what any client sends: text or blocks as content, a system of one text or of several blocks, fields that
nobody has heard of yet. What is not part of a model input is left out: the model's name, the version by which a
cloud that hosts it reads the request, and whether the answer is streamed.
"""

from copyfit.shapes.model_input import ModelInput
from copyfit_adapters.anthropic_messages.blocks import READER
from copyfit_adapters.anthropic_messages.fields import read_fields
from copyfit_adapters.anthropic_messages.messages import read_message


def readback(body: bytes) -> ModelInput:
    """Return the model input that the request `body` carries.

    Raises:
        UnreadableRequest: the body is not a messages request; it names the JSON path.

    """
    request = READER.request(body)
    messages = READER.list(request.get("messages"), "$.messages")
    system, settings, tools = read_fields(request)
    read = [read_message(message, f"$.messages[{index}]") for index, message in enumerate(messages)]
    return ModelInput(
        system=system,
        messages=tuple(message for shapes in read for message in shapes),
        tools=tools,
        settings=settings,
    )
