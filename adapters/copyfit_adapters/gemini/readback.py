"""Read a generateContent request body back into the model input that it carries: the inverse of `encode`.

It reads what any client sends: camelCase or snake_case, contents without a role, schemas in OpenAPI's form, calls
without an id (which read as calls with an empty one), fields that nobody has heard of yet. What is not part of a
model input is left out: the model's name, which stands in the path anyway.
"""

from copyfit.shapes.model_input import ModelInput
from copyfit_adapters.gemini.fields import read_fields
from copyfit_adapters.gemini.messages import read_content
from copyfit_adapters.gemini.parts import READER


def readback(body: bytes) -> ModelInput:
    """Return the model input that the request `body` carries.

    Raises:
        UnreadableRequest: the body is no generateContent request; it names the JSON path.

    """
    request = READER.request(body)
    contents = READER.list(request.get("contents"), "$.contents")
    system, settings, tools = read_fields(request)
    read = [read_content(content, f"$.contents[{index}]") for index, content in enumerate(contents)]
    return ModelInput(
        system=system,
        messages=tuple(message for shapes in read for message in shapes),
        tools=tools,
        settings=settings,
    )
