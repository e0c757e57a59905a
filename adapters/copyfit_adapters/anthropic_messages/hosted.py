"""Write requests as the clouds that host Claude take them, and unwrap the stream of one of them.

Both take the protocol's own body without the model, which stands in the path, and with the version, which is a
header at Anthropic's own address. So are the betas; on Bedrock they are a list in the body. It is read back as a
field of the settings, so that what another client asked for goes out again.
"""

import json
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import quote

from copyfit.shapes.identity_memo import IdentityMemo
from copyfit.shapes.model_input import ModelInput
from copyfit_adapters.answers.framing import AwsFraming, Frame
from copyfit_adapters.anthropic_messages.dialect import PROTOCOL
from copyfit_adapters.anthropic_messages.encode import CacheTime, encode_body
from copyfit_adapters.anthropic_messages.losses import LOSSES
from copyfit_adapters.anthropic_messages.parts import WRITER
from copyfit_adapters.codec.losses import Effect, InputData, Loss, Object, in_settings
from copyfit_adapters.codec.reading import without
from copyfit_adapters.codec.request import WireRequest

BEDROCK_VERSION = "bedrock-2023-05-31"
"""The version of the protocol that every Claude model on Bedrock takes, by AWS's documentation.

Models from Claude 4.7 on take Anthropic's ``2026-10-21`` as well, which refuses sampling settings.
"""
VERTEX_VERSION = "vertex-2023-10-16"
"""The version of the protocol that every Claude model on Vertex AI takes, by Google's documentation.

Anthropic's ``2026-10-21`` is taken as well; it refuses sampling settings.
"""

_BETAS = "anthropic_beta"


def encode_for_bedrock(
    model_input: ModelInput,
    model: str,
    *,
    stream: bool = False,
    cache: CacheTime | None = None,
    betas: Sequence[str] = (),
    version: str = BEDROCK_VERSION,
    known: IdentityMemo[bytes] | None = None,
) -> WireRequest:
    """Return the request that puts `model_input` to `model` (an id or an ARN) on Bedrock, as `encode` does.

    The `betas` join those that the input's settings name.

    Raises:
        UnencodableInput: the protocol has no form for something in the input; the error names it.

    """
    asking = _with_betas(model_input, betas) if betas else model_input
    verb = "invoke-with-response-stream" if stream else "invoke"
    return WireRequest(
        path=f"/model/{quote(model, safe='')}/{verb}",
        body=encode_body(asking, {"anthropic_version": version}, cache=cache, known=known),
    )


def encode_for_vertex(
    model_input: ModelInput,
    model: str,
    *,
    project: str,
    region: str,
    stream: bool = False,
    cache: CacheTime | None = None,
    version: str = VERTEX_VERSION,
    known: IdentityMemo[bytes] | None = None,
) -> WireRequest:
    """Return the request that puts `model_input` to `model` in a project's `region`, as `encode` does.

    Raises:
        UnencodableInput: the protocol has no form for something in the input; the error names it.

    """
    place = f"/projects/{quote(project, safe=':')}/locations/{quote(region, safe='')}"
    verb = "streamRawPredict" if stream else "rawPredict"
    return WireRequest(
        path=f"{place}/publishers/anthropic/models/{quote(model, safe='@')}:{verb}",
        body=encode_body(model_input, {"anthropic_version": version}, stream=stream, cache=cache, known=known),
    )


class ChunkFraming:
    """Bedrock's event stream, in which each chunk holds one event of the protocol in base64."""

    def __init__(self) -> None:
        self._frames = AwsFraming()

    def feed(self, data: bytes) -> list[Frame]:
        """Take the next bytes and return the events that they complete."""
        return [_unwrapped(frame) for frame in self._frames.feed(data)]

    def close(self) -> list[Frame]:
        """Return nothing, as the event stream does."""
        return self._frames.close()

    def begins(self, head: bytes) -> bool:
        """Whether `head` can be the beginning of an event stream."""
        return self._frames.begins(head)


def _unwrapped(frame: Frame) -> Frame:
    if frame.is_error or frame.kind != "chunk":
        return frame
    try:
        return Frame(b64decode(json.loads(frame.data)["bytes"], validate=True).decode("utf-8", "replace"))
    except (ValueError, TypeError, LookupError, RecursionError):
        # Passed on as text that is no JSON, for the stream to say so: an event skipped here would be lost unseen.
        return Frame(f"a chunk without bytes: {frame.data}")


def _with_betas(model_input: ModelInput, betas: Sequence[str]) -> ModelInput:
    settings = model_input.settings
    own = WRITER.own(settings.extra)
    named = own.get(_BETAS, ())
    if not isinstance(named, list | tuple):
        raise WRITER.refused(f"settings.extra[{PROTOCOL!r}]", f"its {_BETAS} is no list that betas can join")
    joined = [*named, *(beta for beta in betas if beta not in named)]
    extra = {**settings.extra, PROTOCOL: {**own, _BETAS: joined}}
    return replace(model_input, settings=settings.model_copy(update={"extra": extra}))


def _without_betas(settings: Object, data: InputData) -> Object:
    own = settings.get("extra", {}).get(PROTOCOL, {})
    if _BETAS not in own:
        return settings
    rest = without(own, _BETAS)
    extra = without(settings["extra"], PROTOCOL) | ({PROTOCOL: rest} if rest else {})
    return without(settings, "extra") | ({"extra": extra} if extra else {})


BEDROCK_LOSSES: tuple[Loss, ...] = (
    *LOSSES,
    Loss(
        name="betas",
        where=f"settings.extra[{PROTOCOL}].{_BETAS}",
        effect=Effect.MERGED,
        reason="those that the settings name and those of the client are one list in the body",
        rewrite=in_settings(_without_betas),
    ),
)
"""What a request to Bedrock cannot carry when the client has betas of its own."""
