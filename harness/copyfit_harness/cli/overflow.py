"""`copyfit overflow`: the verdict on one error in words, or on a file of them as JSON lines."""

import json
import os
import sys
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from copyfit_adapters.overflow import Verdict, explain, judge
from copyfit_harness.cli.exits import Exit, sentences_for_errors

STDIN = "-"
_FILE_ENDINGS = frozenset({".json", ".jsonl", ".txt", ".log", ".html"})
"""A word that ends so is meant as a file, also where there is none."""

_Status = Annotated[int | None, Field(ge=100, le=599)]
_Tokens = Annotated[int | None, Field(gt=0)]


class ErrorLine(BaseModel):
    """One input line: what is known of one error; fields beside these are ignored.

    A line without `http_status`, `body` and `text` is itself the body of an error.

    `limit_tokens` is the model's window as the caller knows it. It only serves to notice a silent truncation; it
    is never repeated as a number that the error said.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: Any = None
    http_status: _Status = None
    body: str | dict[str, Any] | list[Any] | None = None
    text: str | None = None
    provider: str | None = None
    limit_tokens: _Tokens = None

    def verdict(self, otherwise: "_Known") -> Verdict | None:
        """Return the verdict on the body, or on the text where there is no body.

        What the line does not say of the error is as it is `otherwise`.
        """
        return judge(
            self.body or self.text or "",
            status=self.http_status or otherwise.status,
            provider=self.provider or otherwise.provider,
            window_tokens=self.limit_tokens or otherwise.window,
        )


@dataclass(frozen=True, slots=True)
class _Known:
    """What the options say of every error: the HTTP status, who sent it, and the window in tokens."""

    status: int | None
    provider: str | None
    window: int | None


def overflow(
    error: Annotated[
        str | None, typer.Argument(help="One error: its text or body, a file that holds it, or - for stdin.")
    ] = None,
    jsonl: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="Judge every line of this file and print JSON lines.")
    ] = None,
    status: Annotated[int | None, typer.Option(min=100, max=599, help="The error's HTTP status.")] = None,
    provider: Annotated[str | None, typer.Option(help="Who sent the error, such as cerebras.")] = None,
    window: Annotated[
        int | None, typer.Option(min=1, help="The model's window in tokens; needed to notice a silent truncation.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of words.")] = False,
) -> None:
    """Say whether an error means that the input is too long, by which rule, and why."""
    if (error is None) == (jsonl is None):
        raise typer.BadParameter("give either one error or --jsonl FILE, not both and not neither.")
    with sentences_for_errors(), _as_long_as_someone_reads():
        if jsonl is not None:
            known = _Known(status, provider, window)
            for number, line in enumerate(_lines(jsonl), start=1):
                if line.strip():
                    print(json.dumps(_judged_line(line, number, known), ensure_ascii=False), flush=True)
            return
        text = _text(error or "")
        verdict = judge(text, status=status, provider=provider, window_tokens=window)
        why = explain(text, status=status, provider=provider, window_tokens=window)
        document = json.dumps({**_fields(verdict), "why": why}, ensure_ascii=False, indent=2)
        print(document if as_json else why, flush=True)


@contextmanager
def _as_long_as_someone_reads() -> Iterator[None]:
    """End well when the reader of the output, such as `head`, has what it wanted and leaves."""
    try:
        yield
    except BrokenPipeError:
        # Python flushes once more as it exits, and would complain then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(Exit.GOOD) from None


def _judged_line(line: bytes, number: int, known: _Known) -> dict[str, Any]:
    try:
        entry = ErrorLine.model_validate_json(line)
    except ValidationError as invalid:
        first = invalid.errors(include_url=False, include_input=False)[0]
        field = first["loc"][0] if first["loc"] else None
        wrong = "it must be text, an object or a list" if field == "body" else first["msg"]
        raise typer.BadParameter(f"line {number}{f', {field}' if field else ''}: {wrong}.") from invalid
    if not entry.model_fields_set & {"http_status", "body", "text"}:
        entry = entry.model_copy(update={"body": json.loads(line)})
    return {"id": entry.id, **_fields(entry.verdict(known))}


def _fields(verdict: Verdict | None) -> dict[str, Any]:
    """Return the verdict as the fields of a line; all of them empty for an answer with nothing wrong."""
    return {
        "kind": None if verdict is None else verdict.kind.value,
        "is_context_overflow": verdict is not None and verdict.is_context_overflow,
        "limit_tokens": None if verdict is None else verdict.limit_tokens,
        "requested_tokens": None if verdict is None else verdict.requested_tokens,
        "rule": None if verdict is None else verdict.rule,
    }


def _lines(source: str) -> Iterator[bytes]:
    """Yield the lines as they come, so that a pipe gets its verdicts at once."""
    if source == STDIN:
        yield from sys.stdin.buffer
        return
    with Path(source).open("rb") as file:
        for line in file:
            yield line.removeprefix(BOM_UTF8)


def _text(error: str) -> str:
    """Return `error`, or what the file, pipe or stdin that it names holds; bytes that are no text are replaced."""
    if error == STDIN:
        said = sys.stdin.buffer.read()
    elif os.path.exists(error) or (len(error.split()) == 1 and Path(error).suffix in _FILE_ENDINGS):
        said = Path(error).read_bytes()
    else:
        return error
    return said.decode("utf-8", "replace").removeprefix("\ufeff")
