"""Show images and files of tool results behind the results, for a server whose results hold text alone.

OpenAI refuses them in the result itself ("Image URLs are only allowed for messages with role 'user'"). The results
of parallel calls stand in one row that nothing may interrupt, so what they show follows the row as one message of
the user, each result's behind a line that names its call.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from copyfit.shapes.messages import FilePart, ImagePart, Message, TextPart, ToolMessage, UserMessage, UserPart
from copyfit_adapters.codec.losses import InputData, Object

_MEDIA = ("image", "file")


def as_text(message: ToolMessage) -> ToolMessage:
    """Return `message` without its images and files, and as it is if it has none."""
    if not _shown_by(message):
        return message
    said = tuple(part for part in message.parts if not isinstance(part, ImagePart | FilePart))
    return message.model_copy(update={"content": said})


def with_shown(messages: Iterable[Message]) -> Iterator[tuple[int | None, Message]]:
    """Yield each of `messages` with its place, and behind each row of results what they show, without a place."""
    shown: list[UserPart] = []
    for place, message in enumerate(messages):
        if shown and not isinstance(message, ToolMessage):
            yield None, UserMessage(content=tuple(shown))
            shown = []
        yield place, message
        if isinstance(message, ToolMessage):
            shown += _shown_by(message)
    if shown:
        yield None, UserMessage(content=tuple(shown))


def move_shown(data: InputData) -> InputData:
    """Return a model input's `data` as it stands when all that results show is behind them."""
    moved: list[Object] = []
    shown: list[Object] = []
    for message in data["messages"]:
        if shown and message["role"] != "tool":
            moved.append({"role": "user", "content": shown})
            shown = []
        content = message["content"]
        media = [part for part in content if part["type"] in _MEDIA] if isinstance(content, list) else []
        if message["role"] == "tool" and media:
            shown = [*shown, {"type": "text", "text": _line(message)}, *media]
            message = {**message, "content": [part for part in content if part["type"] not in _MEDIA]}
        moved.append(message)
    return {**data, "messages": [*moved, *([{"role": "user", "content": shown}] if shown else [])]}


def _shown_by(message: ToolMessage) -> tuple[UserPart, ...]:
    if isinstance(message.content, str):
        return ()
    media = tuple(part for part in message.content if isinstance(part, ImagePart | FilePart))
    return (TextPart(text=_line({"call_id": message.call_id})), *media) if media else ()


def _line(message: Mapping[str, Any]) -> str:
    return f"The result of the call {message['call_id']} shows:"
