"""ScriptedChatServer: answers as a chat completions server would, out of a script.

    with ScriptedChatServer([Say("four")]) as server:
        http = httpx.AsyncClient(transport=recorder.transport(server.transport()))

Nothing is sent anywhere: the real client, its real bytes and a real recorder stand in front of it.
"""

import json
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

from copyfit_adapters.openai_chat.encode import PATH
from copyfit_harness.scripted.chat_replies import (
    Heading,
    Refuse,
    Reply,
    Say,
    Wording,
    dumped,
    overflow,
    rough_tokens,
    stream_events,
    whole_body,
)
from copyfit_harness.scripted.script import Script
from copyfit_harness.scripted.transport import ScriptedTransport, WireAnswer


class ScriptedChatServer:
    """Answers each request with the next of `replies`, as JSON or as a stream, whichever was asked for.

    `bodies` holds every request body in the order of arrival. With `window_tokens` a request that `rough_tokens`
    counts above it is refused in the words of `wording`, and the script stays where it is. Leaving its ``with``
    block, or `finish`, checks that the script was played to its end and no further.
    """

    def __init__(
        self,
        replies: Iterable[Reply],
        *,
        window_tokens: int | None = None,
        wording: Wording = Wording.OPENAI,
    ) -> None:
        self.bodies: list[bytes] = []
        self._script = Script(replies)
        self._window_tokens = window_tokens
        self._wording = wording

    def transport(self) -> Any:
        """Return a `ScriptedTransport` for one client, httpx's or httpx2's, sync or async, or for a recorder.

        The result is declared as Any because it fits four parameters whose types have no base in common.
        """
        return ScriptedTransport(self)

    def finish(self) -> None:
        """Check that the script was played to its end and no further.

        Raises:
            ScriptEnded: more was asked for, whether or not the caller took notice.
            ScriptUnplayed: replies are left.

        """
        self._script.finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._script.__exit__(kind, error, trace)

    def answer(self, asked: str, path: str, body: bytes) -> WireAnswer:
        """Return what is said to the request `body` for `path`; `asked` names the request in errors.

        Raises:
            ScriptEnded: the script holds no answer to it.

        """
        self.bodies.append(body)
        fields = json.loads(body)
        tokens = rough_tokens(body)
        reply = self._reply(asked, path, tokens)
        heading = Heading(
            number=len(self.bodies),
            model=fields["model"],
            prompt_tokens=tokens,
            include_usage=bool((fields.get("stream_options") or {}).get("include_usage")),
        )
        if fields.get("stream") and (isinstance(reply, Say) or reply.after_text is not None):
            return WireAnswer(200, "text/event-stream", tuple(stream_events(reply, heading)))
        if isinstance(reply, Say):
            return WireAnswer(200, "application/json", (whole_body(reply, heading),))
        return WireAnswer(reply.status, "application/json", (dumped(reply.body),))

    def _reply(self, asked: str, path: str, tokens: int) -> Reply:
        if not path.endswith(PATH):
            return Refuse(404, {"error": {"message": f"There is no {path}.", "type": "not_found_error"}})
        if self._window_tokens is not None and tokens > self._window_tokens:
            return overflow(self._wording, requested=tokens, limit=self._window_tokens)
        return self._script.take(asked)
