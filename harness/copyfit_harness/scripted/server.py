"""ScriptedServer: answers as a server of any wire protocol would, out of a script in no protocol's words.

    with ScriptedServer([Say("four")], VOICES["gemini"]) as server:
        http = httpx.AsyncClient(transport=recorder.transport(server.transport()))

Nothing is sent anywhere: the real client, its real bytes and a real recorder stand in front of it.
"""

import json
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

from copyfit_harness.scripted.chat_replies import Heading, Say, dumped, rough_tokens
from copyfit_harness.scripted.script import Script
from copyfit_harness.scripted.transport import ScriptedTransport, WireAnswer
from copyfit_harness.scripted.voices.voice import FillsUp, Line, Voice


class ScriptedServer:
    """Answers each request with the next of `lines`, whole or as a stream, whichever was asked for.

    `bodies` holds every request body in the order of arrival. A line that fills up in mid-stream is for requests
    that stream. Leaving its ``with`` block checks that the script was played to its end and no further.
    """

    def __init__(self, lines: Iterable[Line], voice: Voice) -> None:
        self.bodies: list[bytes] = []
        self._script: Script[Line] = Script(lines)
        self._voice = voice

    def transport(self) -> Any:
        """Return a `ScriptedTransport` for one client, httpx's or httpx2's, sync or async, or for a recorder.

        The result is declared as Any because it fits four parameters whose types have no base in common.
        """
        return ScriptedTransport(self)

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
            ValueError: its line fills up in mid-stream, and no stream was asked for.

        """
        self.bodies.append(body)
        fields = json.loads(body) if body else {}
        streamed = self._voice.asked_for_stream(path, fields)
        if streamed is None:
            return WireAnswer(404, "application/json", (dumped({"message": f"There is no {path}."}),))
        line = self._script.take(asked)
        heading = Heading(
            number=len(self.bodies),
            model=fields.get("model", "scripted-model"),
            prompt_tokens=rough_tokens(body),
            include_usage=bool((fields.get("stream_options") or {}).get("include_usage")),
        )
        return self._worded(line, heading, streamed=streamed)

    def _worded(self, line: Line, heading: Heading, *, streamed: bool) -> WireAnswer:
        voice = self._voice
        if isinstance(line, FillsUp):
            if not streamed:
                raise ValueError("The script's answer fills up in mid-stream, and no stream was asked for.")
            return WireAnswer(200, voice.media_type, tuple(voice.fill_up(line, heading)))
        if not isinstance(line, Say):
            refusal = voice.refuse(line)
            return WireAnswer(refusal.status, "application/json", (dumped(refusal.body),))
        if streamed:
            return WireAnswer(200, voice.media_type, tuple(voice.stream(line, heading)))
        return WireAnswer(200, "application/json", (dumped(voice.whole(line, heading)),))
