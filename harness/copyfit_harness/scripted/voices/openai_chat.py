"""Chat completions, in OpenAI's words; the window that fills up in mid-stream is llama.cpp's."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from copyfit_harness.scripted.chat_replies import (
    Heading,
    Refuse,
    Say,
    Wording,
    overflow,
    overflow_in_stream,
    stream_events,
    whole_body,
)
from copyfit_harness.scripted.voices.voice import FillsUp, TooLong, Voice


def _whole(answer: Say, heading: Heading) -> Mapping[str, Any]:
    said: dict[str, Any] = json.loads(whole_body(answer, heading))
    return said


def _refuse(too_long: TooLong) -> Refuse:
    return overflow(Wording.OPENAI, requested=too_long.requested, limit=too_long.limit)


def _fill_up(reply: FillsUp, heading: Heading) -> Iterator[bytes]:
    return stream_events(overflow_in_stream(reply.text), heading)


VOICE = Voice(
    path=re.compile("/chat/completions$"), whole=_whole, stream=stream_events, refuse=_refuse, fill_up=_fill_up
)
