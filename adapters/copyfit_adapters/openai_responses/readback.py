"""Read a Responses request body back into the model input that it carries: the inverse of `encode`.

It reads what any client sends: input that is one text, messages with and without a type, a system text among the
items instead of in ``instructions``, fields and items that nobody has heard of yet. What is not part of a model
input is left out: the model's name, and whether the answer is streamed.
"""

from copyfit.shapes.model_input import ModelInput
from copyfit_adapters.openai_responses.content import READER
from copyfit_adapters.openai_responses.dialect import PROTOCOL
from copyfit_adapters.openai_responses.fields import read_fields
from copyfit_adapters.openai_responses.items import read_items, split_system


def readback(body: bytes) -> ModelInput:
    """Return the model input that the request `body` carries.

    System messages before all others that are more than one plain text stay whole under ``input`` in the extra of
    the settings.

    Raises:
        UnreadableRequest: the body is not a Responses request; it names the JSON path.

    """
    request = READER.request(body)
    asked = request.get("input")
    if isinstance(asked, str):
        asked = [{"role": "user", "content": asked}]
    items = READER.list([] if asked is None else asked, "$.input")
    instructions, settings, tools = read_fields(request)
    system, leading = split_system(items, instructed=bool(instructions))
    first = 1 if system else len(leading)
    if leading:
        own = {**settings.extra.get(PROTOCOL, {}), "input": leading}
        settings = settings.model_copy(update={"extra": {PROTOCOL: own}})
    return ModelInput(
        system=instructions or system,
        messages=read_items(items[first:], "$.input", first=first),
        tools=tools,
        settings=settings,
    )
