"""The shape of a cassette file: vcrpy's version 1, with what vcrpy cannot hold in the places that it leaves alone.

    version: 1
    metadata:
      copyfit: {format: 1, recorded_at: …, description: …, exchanges: N}
    interactions:
    - request:  {method, uri, headers, body}
      response: {status: {code, message}, headers, body: {string}, chunks: {lengths, ending, …}}

vcrpy replays such a file and keeps `metadata` and `response.chunks` when it rewrites it (measured with 9.4.2); an
extra key inside `request` would crash it. The number of exchanges stands before the interactions, so that a file
which was cut off between two of them is found out.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate, pairwise
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from copyfit_harness.wire.exchange import Ending, EndingKind, Exchange, Headers, WireRequest, WireResponse

FORMAT = 1
"""Version of our own facts in a cassette; vcrpy's version of the file is 1 as well, and counts apart."""


@dataclass(frozen=True, slots=True)
class Cassette:
    """The ordered exchanges of one conversation, as they stand on disk.

    `description` says what answered ("llama.cpp's server with a tiny random model"), so that nobody takes one
    provider's recording for another's. `recorded_at` is in UTC, and None in a file that copyfit did not write.
    """

    exchanges: tuple[Exchange, ...]
    description: str = ""
    recorded_at: datetime | None = None


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class _Request(_Strict):
    method: str
    uri: str
    headers: dict[str, list[str]]
    body: str | bytes | None


class _Status(_Strict):
    code: Annotated[int, Field(ge=100, le=999)]
    message: str | None


class _Body(_Strict):
    string: str | bytes | None


class _Chunks(_Strict):
    lengths: list[Annotated[int, Field(ge=0)]]
    delays: list[Annotated[float, Field(ge=0)]] | None = None
    ending: Literal["complete", "client-stopped", "broke-off"]
    error: str = ""
    message: str = ""


class _Response(_Strict):
    status: _Status
    headers: dict[str, list[str]]
    body: _Body
    chunks: _Chunks | None = None


class _Interaction(_Strict):
    # vcrpy's users keep times and durations here; nothing of ours stands at this level.
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    request: _Request
    response: _Response


class _Facts(_Strict):
    format: int
    recorded_at: str
    description: str = ""
    exchanges: Annotated[int, Field(ge=0)] | None = None


class _Metadata(_Strict):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    copyfit: _Facts | None = None


class _File(_Strict):
    version: Literal[1]
    interactions: list[_Interaction]
    metadata: _Metadata | None = None


def document(cassette: Cassette) -> dict[str, Any]:
    """Return `cassette` as the mapping that is written to its file.

    Headers are grouped by name, as vcrpy keeps them: the order within a name stays, that between names may not.
    """
    recorded_at = (cassette.recorded_at or datetime.now(UTC)).isoformat(timespec="seconds")
    facts: dict[str, Any] = {"format": FORMAT, "recorded_at": recorded_at}
    if cassette.description:
        facts["description"] = cassette.description
    facts["exchanges"] = len(cassette.exchanges)
    return {
        "version": 1,
        "metadata": {"copyfit": facts},
        "interactions": [_interaction(exchange) for exchange in cassette.exchanges],
    }


def cassette_of(value: Any) -> Cassette:
    """Return the cassette that a parsed file holds, whether copyfit or vcrpy wrote it.

    Raises:
        ValueError: the value is not a cassette of a version that is known here; the message says where and why,
            and quotes nothing of the bodies.

    """
    try:
        file = _File.model_validate(value)
    except ValidationError as error:
        raise ValueError(_first_problem(error)) from error
    exchanges = tuple(_exchange(found, at) for at, found in enumerate(file.interactions, 1))
    facts = file.metadata.copyfit if file.metadata else None
    if facts is None:
        return Cassette(exchanges)
    if facts.format != FORMAT:
        raise ValueError(
            f"it has format {facts.format} of copyfit's facts, and this version reads format {FORMAT}"
        )
    # More of them is no fault: vcrpy adds interactions and leaves the metadata alone.
    if facts.exchanges is not None and len(exchanges) < facts.exchanges:
        raise ValueError(
            f"its metadata counts {facts.exchanges} exchanges and it holds {len(exchanges)}: it was cut off, or "
            "some were taken out; if that is meant, correct metadata.copyfit.exchanges"
        )
    return Cassette(exchanges, facts.description, datetime.fromisoformat(facts.recorded_at))


def _interaction(exchange: Exchange) -> dict[str, Any]:
    request, response = exchange.request, exchange.response
    chunks: dict[str, Any] = {"lengths": [len(chunk) for chunk in response.chunks]}
    if response.delays is not None:
        chunks["delays"] = list(response.delays)
    chunks["ending"] = response.ending.kind.value
    if response.ending.kind is EndingKind.BROKE_OFF:
        chunks |= {"error": response.ending.error, "message": response.ending.message}
    return {
        "request": {
            "method": request.method,
            "uri": request.url,
            "headers": _grouped(request.headers),
            "body": _text_or_bytes(request.body),
        },
        "response": {
            "status": {"code": response.status, "message": response.reason},
            "headers": _grouped(response.headers),
            "body": {"string": _text_or_bytes(response.body)},
            "chunks": chunks,
        },
    }


def _exchange(found: _Interaction, position: int) -> Exchange:
    request, response = found.request, found.response
    chunks, delays, ending = _cut(_bytes(response.body.string), response.chunks, position)
    return Exchange(
        WireRequest(request.method, request.uri, _pairs(request.headers), _bytes(request.body)),
        WireResponse(
            response.status.code, response.status.message or "", _pairs(response.headers), chunks, delays, ending
        ),
    )


def _cut(
    body: bytes, chunks: _Chunks | None, position: int
) -> tuple[tuple[bytes, ...], tuple[float, ...] | None, Ending]:
    if chunks is None:
        return (body,) if body else (), None, Ending()
    edges = list(accumulate(chunks.lengths, initial=0))
    if edges[-1] != len(body):
        raise ValueError(
            f"the chunk lengths of interaction {position} add up to {edges[-1]} bytes and its body has {len(body)}"
        )
    if chunks.delays is not None and len(chunks.delays) != len(chunks.lengths):
        raise ValueError(
            f"interaction {position} has {len(chunks.lengths)} chunks and {len(chunks.delays)} delays"
        )
    pieces = tuple(body[low:high] for low, high in pairwise(edges))
    delays = None if chunks.delays is None else tuple(chunks.delays)
    return pieces, delays, Ending(EndingKind(chunks.ending), chunks.error, chunks.message)


def _first_problem(error: ValidationError) -> str:
    problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
    # Which member of a union failed says nothing to a reader of the file.
    where = ".".join(str(part) for part in problem["loc"] if part not in ("str", "bytes"))
    return f"{where or 'the file'}: {problem['msg'][:1].lower()}{problem['msg'][1:]}"


def _grouped(headers: Headers) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for name, value in headers:
        grouped.setdefault(name, []).append(value)
    return grouped


def _pairs(headers: dict[str, list[str]]) -> Headers:
    return tuple((name, value) for name, values in headers.items() for value in values)


def _text_or_bytes(body: bytes) -> str | bytes:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body


def _bytes(body: str | bytes | None) -> bytes:
    if isinstance(body, str):
        return body.encode()
    return body or b""
