"""The canonical messages: what a user, an assistant and a tool said, in no provider's dialect."""

from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter


class Shape(BaseModel):
    """Base of the nouns that are parsed from outside: frozen, and strict about unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Origin(StrEnum):
    """Where a message came from; only canonical ones and checkpoints live in the history."""

    CANONICAL = "canonical"
    CONTRIBUTED = "contributed"
    ATTACHMENT = "attachment"
    CHECKPOINT = "checkpoint"


class TextPart(Shape):
    """A piece of text."""

    type: Literal["text"] = "text"
    text: str
    extra: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)


class ImagePart(Shape):
    """An image: a `url` (also a data URL), or base64 `data` with its `media_type`."""

    type: Literal["image"] = "image"
    url: str | None = None
    data: str | None = None
    media_type: str | None = None
    detail: str | None = None
    extra: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)


class FilePart(Shape):
    """A file: an id the provider knows, a `url`, or base64 `data` with its `media_type`."""

    type: Literal["file"] = "file"
    file_id: str | None = None
    url: str | None = None
    data: str | None = None
    media_type: str | None = None
    filename: str | None = None
    extra: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)


class ThinkingPart(Shape):
    """Reasoning that goes back unchanged to the protocol named in `provider`, and to no other."""

    type: Literal["thinking"] = "thinking"
    text: str = ""
    signature: str | None = None
    provider: str
    opaque: Mapping[str, Any] = Field(default_factory=dict)


class ToolCall(Shape):
    """A call that the model declared; `arguments` is the exact JSON text, so 1 and 1.0 stay apart."""

    type: Literal["tool_call"] = "tool_call"
    id: str
    name: str
    arguments: str = "{}"
    extra: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)


class OutputRef(Shape):
    """The name under which the whole of a tool's output is stored, with its size in bytes and lines."""

    ref: str = Field(pattern=r"^tool-output-[0-9a-f]+$")
    bytes: int
    lines: int
    tool_name: str


UserPart = Annotated[TextPart | ImagePart | FilePart, Field(discriminator="type")]
AssistantPart = Annotated[TextPart | ThinkingPart | ToolCall | ImagePart | FilePart, Field(discriminator="type")]
Part = TextPart | ImagePart | FilePart | ThinkingPart | ToolCall


class _Message(Shape):
    origin: Origin = Origin.CANONICAL
    extra: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    """Fields of one wire protocol that copyfit does not model, keyed by the protocol's name."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The content as parts; a plain text is one `TextPart`."""
        content: str | tuple[Part, ...] = self.content  # type: ignore[attr-defined]
        return (TextPart(text=content),) if isinstance(content, str) else content

    @property
    def text(self) -> str:
        """The text parts joined, without images, files, reasoning and calls."""
        content: str | tuple[Part, ...] = self.content  # type: ignore[attr-defined]
        if isinstance(content, str):
            return content
        return "".join(part.text for part in content if isinstance(part, TextPart))


class UserMessage(_Message):
    """What the user said, or what a contributor says under the user role (see `origin`)."""

    role: Literal["user"] = "user"
    content: str | tuple[UserPart, ...]
    name: str | None = None
    source: str | None = None
    """The id of the contributor, channel or attachment that an invocation-local message came from."""


class AssistantMessage(_Message):
    """What the model said: text, reasoning and tool calls in the order it said them."""

    role: Literal["assistant"] = "assistant"
    content: str | tuple[AssistantPart, ...]
    name: str | None = None

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The declared calls, in declared order."""
        if isinstance(self.content, str):
            return ()
        return tuple(part for part in self.content if isinstance(part, ToolCall))


class ToolMessage(_Message):
    """The result of one tool call; `projected` marks a body that was cut to head, tail and a ref."""

    role: Literal["tool"] = "tool"
    call_id: str
    content: str | tuple[UserPart, ...]
    name: str | None = None
    is_error: bool = False
    output_ref: OutputRef | None = None
    projected: bool = False


Message = Annotated[UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")]


@cache
def message_adapter() -> TypeAdapter[UserMessage | AssistantMessage | ToolMessage]:
    """Return what parses and dumps one message of any role; made when it is first needed."""
    return TypeAdapter(Message)


LOCAL_FIELDS = frozenset({"origin", "source", "output_ref", "projected"})
"""Message fields that serve the assembly and never travel to a provider."""
