"""What a generateContent request cannot carry, declared as data."""

from copyfit_adapters.codec.known_losses import (
    arguments_parsed,
    empty_messages_dropped,
    empty_texts_dropped,
    foreign_extras_dropped,
    foreign_thinking_dropped,
    image_detail_dropped,
    names_dropped,
    neighbours_merged,
    results_named,
    schema_facts_dropped,
    setting_dropped,
    surrogates_joined,
    text_as_part,
    tools_strict_dropped,
    url_as_data,
)
from copyfit_adapters.codec.losses import (
    Effect,
    InputData,
    Loss,
    Object,
    in_messages,
    in_parts,
    in_settings,
    own_extra,
)
from copyfit_adapters.codec.reading import without
from copyfit_adapters.gemini.dialect import CARRIED, PROTOCOL, SIGNATURE, UNSIGNED
from copyfit_adapters.gemini.encode import offers_functions
from copyfit_adapters.gemini.parts import SCHEME, is_image


def _calls(message: Object) -> list[Object]:
    content = message["content"] if message["role"] == "assistant" else ""
    return [] if isinstance(content, str) else [part for part in content if part["type"] == "tool_call"]


def _signed(message: Object) -> Object:
    if not _calls(message):
        return message
    content: list[Object] = list(message["content"])
    place = next(index for index, part in enumerate(content) if part["type"] == "tool_call")
    first = content[place]
    content[place] = {
        **first,
        "extra": {**first.get("extra", {}), PROTOCOL: {SIGNATURE: UNSIGNED, **own_extra(first, PROTOCOL)}},
    }
    return {**message, "content": content}


def _choice_of_tools(settings: Object, data: InputData) -> Object:
    return (
        settings
        if offers_functions(data["tools"], own_extra(settings, PROTOCOL))
        else without(settings, "tool_choice")
    )


def _one_reference(part: Object) -> Object:
    uri = part.get("file_id", part.get("url"))
    if part["type"] != "file" or uri is None:
        return part
    return {**without(part, "file_id", "url"), ("url" if SCHEME.match(uri) else "file_id"): uri}


def _one_kind(part: Object) -> Object:
    if part["type"] not in ("image", "file"):
        return part
    if not is_image(part.get("media_type")):
        return _one_reference({**part, "type": "file"})
    image = {**without(part, "file_id"), "type": "image"}
    return image | {"url": part["file_id"]} if "file_id" in part else image


def _one_text(message: Object) -> Object:
    content = message["content"]
    if message["role"] != "tool" or isinstance(content, str):
        return message
    said = [part["type"] == "text" and CARRIED not in own_extra(part, PROTOCOL) for part in content]
    text = "".join(part["text"] for part, is_said in zip(content, said, strict=True) if is_said)
    media = [part for part, is_said in zip(content, said, strict=True) if not is_said]
    spoken = [{"type": "text", "text": text}] if text else []
    return {**message, "content": [*spoken, *media] if media else text}


def _in_order_of_calls(data: InputData) -> InputData:
    messages: list[Object] = []
    run: list[Object] = []
    order: list[str] = []
    for message in [*data["messages"], None]:
        if message is not None and message["role"] == "tool":
            run.append(message)
            continue
        known = [result for result in run if result["call_id"] in order]
        messages += sorted(known, key=lambda result: order.index(result["call_id"]))
        messages += [result for result in run if result["call_id"] not in order]
        run = []
        if message is not None:
            order = [call["id"] for call in _calls(message)]
            messages.append(message)
    return {**data, "messages": messages}


def _without_call_ids(data: InputData) -> InputData:
    calls = in_parts(lambda part: {**part, "id": ""} if part["type"] == "tool_call" else part)
    results = in_messages(lambda message: {**message, "call_id": ""} if message["role"] == "tool" else message)
    return calls(results(data))


_BEFORE_IDS: tuple[Loss, ...] = (
    foreign_extras_dropped(PROTOCOL),
    names_dropped("user", "assistant", reason="a content has no name; only the result of a function has one"),
    results_named(
        reason="a result names the function that it answers: where it does not, the name is that of its call"
    ),
)
"""What goes while calls and results have ids, by which a result finds the name of its call."""

_AFTER_IDS: tuple[Loss, ...] = (
    setting_dropped("parallel_tool_calls", reason="the protocol has no way to forbid parallel calls"),
    schema_facts_dropped("name", "description", "strict"),
    tools_strict_dropped(reason="a function declaration does not say whether its schema binds"),
    Loss(
        name="choice-without-tools",
        where="settings.tool_choice",
        effect=Effect.DROPPED,
        reason="the API refuses a choice among functions where none is declared",
        rewrite=in_settings(_choice_of_tools),
    ),
    foreign_thinking_dropped(PROTOCOL),
    arguments_parsed(),
    Loss(
        name="unsigned-calls",
        where=f"messages[role=assistant].content[type=tool_call].extra[{PROTOCOL}].{SIGNATURE}",
        effect=Effect.REWRITTEN,
        reason="Gemini 3 refuses a first call without a signature: one of another model gets the word for none",
        rewrite=in_messages(_signed),
    ),
    image_detail_dropped(),
    Loss(
        name="file-names",
        where="messages[].content[type=file].filename",
        effect=Effect.DROPPED,
        reason="the name of a file (displayName) is for tools that run at the provider, never for the model",
        rewrite=in_parts(lambda part: without(part, "filename") if part["type"] == "file" else part),
    ),
    Loss(
        name="file-references",
        where="messages[].content[type=file].file_id, .url",
        effect=Effect.REWRITTEN,
        reason="a file has one URI: with a scheme it is a url, without one an id",
        rewrite=in_parts(_one_reference),
    ),
    url_as_data(),
    Loss(
        name="media-kinds",
        where="messages[].content[type=image or file]",
        effect=Effect.REWRITTEN,
        reason="images and files have one form: what has the media type of an image is one, all else is a file",
        rewrite=in_parts(_one_kind),
    ),
    Loss(
        name="result-texts",
        where="messages[role=tool].content",
        effect=Effect.MERGED,
        reason="a result has one text, a field of its response, without fields of its own and ahead of its media",
        rewrite=in_messages(_one_text),
    ),
    text_as_part("user", "assistant"),
    empty_texts_dropped(),
    empty_messages_dropped(),
    neighbours_merged(),
    surrogates_joined(),
)

LOSSES: tuple[Loss, ...] = (*_BEFORE_IDS, *_AFTER_IDS)
"""Everything that is in a model input and not in its request to the Gemini API; applied in this order."""

VERTEX_LOSSES: tuple[Loss, ...] = (
    Loss(
        name="result-order",
        where="messages[role=tool]",
        effect=Effect.MOVED,
        reason="without ids, results belong to calls by name and order: they stand in the order of their calls",
        rewrite=_in_order_of_calls,
    ),
    *_BEFORE_IDS,
    Loss(
        name="call-ids",
        where="messages[role=assistant].content[type=tool_call].id, messages[role=tool].call_id",
        effect=Effect.DROPPED,
        reason="Vertex AI refuses calls and results with an id",
        rewrite=_without_call_ids,
    ),
    *_AFTER_IDS,
)
"""The same for Vertex AI."""
