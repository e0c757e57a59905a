"""Every error of the harness.

HarnessError
    CassetteError
        CassetteMissing         nothing is recorded there
        CassetteUnreadable      the file is there and cannot be read: never taken for absent
        CassetteUnwritable      the file could not be replaced; what was there before still is
        CassetteMismatch        a request that was never recorded, with the nearest one that was
        CassetteUnplayed        a recorded exchange that the run never asked for
        CassetteEmpty           the run was to be recorded and nothing came through the recorder
        CassetteBusy            another recorder is writing the file
        RecordingStopsHere      a replaying client reads on where the recording client stopped reading
        RecorderClosed          a request reached a recorder after its end
    SecretFound                 something that looks like a key would have reached the disk
    BodyUnreadable              a compressed body that cannot be decoded, so that nobody can look for keys in it
    LiveCallBlocked             a request wanted the network and the mode forbids it
    NotExact                    the bytes on the wire are not the assembled input
    ScriptEnded                 a scripted stand-in was asked for more than its script holds
    ScriptUnplayed              the run ended before the script of a stand-in did
    EnvironmentLacks            a package, port, program or file that the machine does not have

Each error keeps its facts in attributes, says in one sentence what happened and what to do next, and chains its
cause.
"""

from collections.abc import Sequence
from pathlib import Path


class HarnessError(Exception):
    """Base of every error that the harness raises on purpose."""


class CassetteError(HarnessError):
    """Base of the errors about one cassette; `path` says which."""

    def __init__(self, path: Path, sentence: str) -> None:
        super().__init__(sentence)
        self.path = path


class CassetteMissing(CassetteError):
    """There is no cassette at `path`, and the mode does not allow recording one."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            path,
            f"No cassette at {path}: record it first (RecordMode.ONCE, or --copyfit-record=once), or correct the "
            "path.",
        )


class CassetteUnreadable(CassetteError):
    """The cassette at `path` exists and cannot be read; `reason` says why."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            path, f"The cassette {path} cannot be read ({reason}): restore it, or delete it and record it again."
        )
        self.reason = reason


class CassetteUnwritable(CassetteError):
    """The cassette at `path` could not be written; `reason` says why, and the file is as it was before."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            path,
            f"The cassette {path} could not be written ({reason}) and was left as it was: make room or correct "
            "the permissions, then record again.",
        )
        self.reason = reason


class CassetteMismatch(CassetteError):
    """A request has no recorded exchange left; `report` is the readable difference, `paths` where it differs."""

    def __init__(self, path: Path, report: str, paths: Sequence[str] = ()) -> None:
        super().__init__(path, report)
        self.report = report
        self.paths = tuple(paths)


class CassetteUnplayed(CassetteError):
    """The run ended with recorded exchanges that it never asked for; `positions` are their indexes, from 0."""

    def __init__(self, path: Path, positions: Sequence[int], summaries: Sequence[str]) -> None:
        named = [
            f"number {position + 1}, {summary}" for position, summary in zip(positions, summaries, strict=True)
        ]
        listed = "; ".join([*named[:5], *([f"and {len(named) - 5} more"] if len(named) > 5 else [])])
        super().__init__(
            path,
            f"{len(positions)} recorded exchange(s) of {path} were never asked for ({listed}): the run stopped "
            "early or changed; record the cassette again if the change is meant.",
        )
        self.positions = tuple(positions)


class CassetteEmpty(CassetteError):
    """A recording of `path` ended without an answered request, so nothing was written.

    `unanswered` is the number of requests that were sent and got no response at all.
    """

    def __init__(self, path: Path, unanswered: int = 0) -> None:
        if unanswered:
            sentence = f"None of the {unanswered} request(s) sent while recording {path} was answered"
            remedy = "see that the server is there and can be reached"
        else:
            sentence = f"Nothing came through the recorder of {path}"
            remedy = "give its transport to the client that sends the requests"
        super().__init__(path, f"{sentence}, so nothing was written: {remedy}.")
        self.unanswered = unanswered


class CassetteBusy(CassetteError):
    """Another recorder, in this process or another, holds the lock of the cassette at `path`."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            path, f"Another recorder is writing {path}: let it finish, or give each worker its own cassette."
        )


class RecordingStopsHere(CassetteError):
    """The recording client closed the response to `request` after `chunks` chunks, and this one reads on."""

    def __init__(self, path: Path, request: str, chunks: int) -> None:
        super().__init__(
            path,
            f"{path} holds {chunks} chunk(s) of the response to {request}, because the client stopped reading "
            "there when it was recorded; this run reads on: record the cassette again.",
        )
        self.request = request
        self.chunks = chunks


class RecorderClosed(CassetteError):
    """A `request` reached the recorder of `path` after it was closed."""

    def __init__(self, path: Path, request: str) -> None:
        super().__init__(
            path,
            f"{request} came after the recorder of {path} was closed: keep it open for as long as its client.",
        )
        self.request = request


class SecretFound(HarnessError):
    """A value that looks like a key stands at `where` and was about to be written to disk."""

    def __init__(self, where: str, kind: str) -> None:
        super().__init__(
            f"Something that looks like a {kind} stands at {where}; nothing was written. Add the field to the "
            "redaction rules, or remove the value from the request."
        )
        self.where = where
        self.kind = kind


class BodyUnreadable(HarnessError):
    """A body says that it is compressed with `coding` and cannot be decoded; `reason` says why."""

    def __init__(self, coding: str, reason: str) -> None:
        super().__init__(
            f"A body compressed with {coding} cannot be decoded ({reason}), so it cannot be searched for secrets "
            "and nothing was written: have the client send `accept-encoding: identity`."
        )
        self.coding = coding
        self.reason = reason


class LiveCallBlocked(HarnessError):
    """A request wanted `address` while only replay or loopback is allowed."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"A connection to {address} was refused: {reason}.")
        self.address = address


class NotExact(HarnessError):
    """The request on the wire does not read back as the assembled input; `paths` are the differing JSON paths."""

    def __init__(self, sentence: str, paths: Sequence[str]) -> None:
        super().__init__(sentence)
        self.paths = tuple(paths)


class ScriptEnded(HarnessError):
    """A stand-in was `asked` for one more answer than the `answers` that its script holds."""

    def __init__(self, asked: str, answers: int) -> None:
        super().__init__(
            f"The script holds {answers} answer(s), and {asked} asked for one more: lengthen the script, or see "
            "why the run goes on."
        )
        self.asked = asked
        self.answers = answers


class ScriptUnplayed(HarnessError):
    """A run ended while `left` of the script's `answers` were not asked for."""

    def __init__(self, left: int, answers: int) -> None:
        super().__init__(
            f"{left} of the script's {answers} answer(s) were never asked for: shorten the script, or see why the "
            "run ended early."
        )
        self.left = left
        self.answers = answers


class EnvironmentLacks(HarnessError):
    """The machine lacks `what`; `remedy` is the sentence that says how to get it."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}. {remedy}")
        self.what = what
        self.remedy = remedy
