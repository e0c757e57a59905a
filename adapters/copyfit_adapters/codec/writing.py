"""Write the JSON of one wire protocol, and refuse what it has no form for."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, repeat
from typing import Any

from copyfit.shapes.identity_memo import IdentityMemo
from copyfit.shapes.messages import AssistantMessage, Message, ThinkingPart
from copyfit_adapters.codec.json_text import dumps
from copyfit_adapters.errors import UnencodableInput

_LOG = logging.getLogger("copyfit.adapters")


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes what `protocol` sends."""

    protocol: str

    def dumps(self, value: Any, where: str) -> bytes:
        """Return `value` as compact JSON; `where` is its place in the input, for errors.

        Raises:
            UnencodableInput: it holds a value that JSON has no form for.

        """
        try:
            return dumps(value)
        except (TypeError, ValueError, RecursionError) as e:
            raise self.refused(where, "it holds a value that JSON has no form for") from e

    def refused(self, where: str, reason: str) -> UnencodableInput:
        """Return the error for a thing at `where` that the protocol has no form for."""
        return UnencodableInput(self.protocol, where, reason)

    def unknown_choice(self, choice: str | None) -> UnencodableInput:
        """Return the error for a tool choice that is none of the settings' words."""
        return self.refused(
            "settings.tool_choice", f"{choice!r} is none of 'auto', 'none', 'required' or 'tool:NAME'"
        )

    def own(self, extra: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
        """Return the part of an `extra` that belongs to the protocol."""
        return extra.get(self.protocol, {})

    def with_extra(
        self,
        fields: dict[str, Any],
        own: Mapping[str, Any],
        read: Callable[[Any], Any],
        where: str,
        *,
        nested: str | None = None,
    ) -> dict[str, Any]:
        """Return `fields` with the `own` extra of their shape, checked by reading both back.

        The extra's field named `nested` is an object that joins the one of that name.

        Raises:
            UnencodableInput: a field of the extra has a place of its own in the input.

        """
        if not own:
            return fields
        merged = fields | {name: value for name, value in own.items() if name != nested}
        clash = sorted(fields.keys() & own.keys() - {nested})
        inner = own.get(nested) if nested else None
        if nested and isinstance(inner, Mapping):
            clash += sorted(f"{nested}.{name}" for name in fields[nested].keys() & inner.keys())
            merged[nested] = fields[nested] | inner
        elif inner is not None:
            clash.append(str(nested))
        if not clash:
            expected = read(fields).model_copy(update={"extra": {self.protocol: dict(own)}})
            if read(merged) == expected:
                return merged
        named = ", ".join(clash or sorted(own))
        raise self.refused(where, f"its extra fields ({named}) have a place of their own in the input")

    def settings_with_extra(
        self,
        fields: dict[str, Any],
        own: Mapping[str, Any],
        read: Callable[[Any], Any],
        *,
        taken: Iterable[str],
        nested: str | None = None,
    ) -> dict[str, Any]:
        """Return the settings' `fields` with their `own` extra, as `with_extra`; `taken` are written elsewhere.

        Raises:
            UnencodableInput: the extra holds one of them, or one that has a place of its own in the settings.

        """
        for name in sorted(own.keys() & set(taken)):
            raise self.refused(f"settings.extra[{self.protocol!r}]", f"copyfit writes {name!r} itself")
        return self.with_extra(fields, own, read, "settings", nested=nested)

    def fragments(
        self,
        messages: Iterable[Message],
        known: IdentityMemo[bytes] | None,
        write: Callable[[Message, str], bytes],
    ) -> Iterator[bytes]:
        """Yield the JSON of each message: the one that is `known`, or what `write` makes of it.

        What `write` made, given the message and its place in the input, is kept in `known`. Reasoning that is left
        out because another protocol made it is logged as a warning, once for each message that is written.
        """
        for index, message in enumerate(messages):
            fragment = None if known is None else known.get(message)
            if fragment is None:
                where = f"messages[{index}]"
                fragment = write(message, where)
                self._warn_of_foreign_thinking(message, where)
                if known is not None:
                    known.keep(message, fragment)
            yield fragment

    def _warn_of_foreign_thinking(self, message: Message, where: str) -> None:
        if not isinstance(message, AssistantMessage) or isinstance(message.content, str):
            return
        makers = {part.provider for part in message.content if isinstance(part, ThinkingPart)} - {self.protocol}
        if makers:
            told = "%s does not take the reasoning that %s made; %s was sent without it."
            _LOG.warning(told, self.protocol, " and ".join(sorted(makers)), where)


def given(**fields: Any) -> dict[str, Any]:
    """Return those of `fields` that are not None, in their order."""
    return {name: value for name, value in fields.items() if value is not None}


def separated(fragments: Iterable[bytes]) -> Iterator[bytes]:
    """Yield `fragments` with a comma between any two."""
    return islice(chain.from_iterable(zip(repeat(b","), fragments)), 1, None)


def body_of(head: bytes, tools: Sequence[bytes], messages: Iterable[bytes]) -> bytes:
    """Return a request body: the fields of the object `head`, then the tools if there are any, then the messages.

    The tools are fragments, the messages pieces with their commas.
    """
    pieces = [head[:-1]]
    if tools:
        pieces += [b',"tools":[', *separated(tools), b"]"]
    # The body is joined once: a second copy of its megabytes takes longer than all the rest.
    return b"".join([*pieces, b',"messages":[', *messages, b"]}"])
