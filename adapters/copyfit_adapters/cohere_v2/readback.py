"""Read a request body back into the model input that it carries: the inverse of `encode`.

It reads what any client sends: a system text as parts, null content, fields that nobody has heard of yet. What is
not part of a model input is left out: the model's name, and whether the answer is streamed.

The first message is the system text when it says nothing but its role and one text. Any other system message stays
in its place among the messages (see `messages`).
"""

from copyfit.shapes.model_input import ModelInput
from copyfit_adapters.codec.reading import split_system
from copyfit_adapters.cohere_v2.fields import read_fields
from copyfit_adapters.cohere_v2.messages import read_message
from copyfit_adapters.cohere_v2.parts import READER


def readback(body: bytes) -> ModelInput:
    """Return the model input that the request `body` carries.

    Raises:
        UnreadableRequest: the body is not a chat request of the protocol; it names the JSON path.

    """
    request = READER.request(body)
    messages = READER.list(request.get("messages"), "$.messages")
    system, others = split_system(messages, "system")
    settings, tools = read_fields(request)
    return ModelInput(
        system=system,
        messages=tuple(read_message(message, where) for where, message in others),
        tools=tools,
        settings=settings,
    )
