"""Read a chat request body back into the model input that it carries: the inverse of `encode`.

It reads what any client sends: null or absent content, calls and results without ids (see `ids`), fields that
nobody has heard of yet. What is not part of a model input is left out: the model's name, whether the answer is
streamed, how large a window the server opens, and that it shall not cut what is too long.

The first message is the system text when it says nothing but its role (system) and its text. Any other system
message stays in its place among the messages (see `messages`).
"""

from copyfit.shapes.model_input import ModelInput
from copyfit_adapters.codec.reading import Reader, split_system
from copyfit_adapters.ollama_chat.dialect import PROTOCOL
from copyfit_adapters.ollama_chat.fields import read_fields
from copyfit_adapters.ollama_chat.ids import with_ids
from copyfit_adapters.ollama_chat.messages import read_message


def readback(body: bytes) -> ModelInput:
    """Return the model input that the request `body` carries.

    Raises:
        UnreadableRequest: the body is not a chat request; it names the JSON path.

    """
    reader = Reader(PROTOCOL)
    request = reader.request(body)
    messages = with_ids(reader.list(request.get("messages"), "$.messages"))
    system, others = split_system(messages, "system")
    settings, tools = read_fields(request)
    return ModelInput(
        system=system,
        messages=tuple(read_message(message, where) for where, message in others),
        tools=tools,
        settings=settings,
    )
