"""The tests that the codec of any wire protocol must pass."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar, Protocol

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from copyfit.errors import MalformedReply, ProviderError, StreamBroken
from copyfit.shapes.canonical import canonical_json
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import Finished, ModelOutput, StreamEvent
from copyfit_adapters.codec.losses import Loss, without_losses
from copyfit_adapters.errors import UnreadableRequest
from copyfit_harness.conformance.inputs import JSON, InputStrategies

_MANY = settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow],
)
_SOME = settings(_MANY, max_examples=60)


class Stream(Protocol):
    """Decodes one streamed answer."""

    @property
    def arrived(self) -> str:
        """The answer's text that has come so far."""
        ...

    def feed(self, data: bytes) -> Iterator[StreamEvent]:
        """Take the next bytes and yield the events that they complete."""
        ...

    def close(self) -> Iterator[StreamEvent]:
        """Yield the last events when the stream has ended."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Codec:
    """One protocol's pure functions, each for one model.

    `encode` returns a body whose last field is the messages, so that a longer history goes on where a shorter one
    ends and the provider's cache knows the beginning. `decode` takes a status and a body, `open_stream` returns a
    new decoder; `marking` encodes with marks for the provider's cache, where the protocol has them.
    """

    encode: Callable[[ModelInput], bytes]
    readback: Callable[[bytes], ModelInput]
    losses: tuple[Loss, ...]
    decode: Callable[[int, bytes], ModelOutput]
    open_stream: Callable[[], Stream]
    marking: Callable[[ModelInput], bytes] | None = None


class CodecConformance:
    """Subclass it, and say what the codec is, what it is tried with, and what its answers look like.

    `needs` has for each declared loss, by its name, an input in which that loss alone explains what the wire
    changed. `answer` is a whole answer, an object, `stream` a streamed one whose text is `stream_text`, and
    `error` a body that is an error, all as the server sends them.
    """

    codec: ClassVar[Codec]
    strategies: ClassVar[InputStrategies]
    needs: ClassVar[Mapping[str, ModelInput]]
    answer: ClassVar[bytes]
    stream: ClassVar[bytes]
    stream_text: ClassVar[str]
    error: ClassVar[bytes] = b'{"error":{"message":"no good","type":"invalid_request_error"}}'

    @_MANY
    @given(st.data())
    def test_what_was_encoded_reads_back_as_what_it_was(self, data: st.DataObject) -> None:
        model_input = data.draw(self.strategies.model_inputs())
        for encode in filter(None, (self.codec.encode, self.codec.marking)):
            read = self.codec.readback(encode(model_input))
            assert _comparable(read, self.codec.losses) == _comparable(model_input, self.codec.losses)

    @_SOME
    @given(st.data())
    def test_what_was_read_back_goes_round_again_without_any_loss(self, data: st.DataObject) -> None:
        read = self.codec.readback(self.codec.encode(data.draw(self.strategies.model_inputs())))
        assert self.codec.readback(self.codec.encode(read)) == read

    @_SOME
    @given(st.data())
    def test_applying_the_losses_twice_is_applying_them_once(self, data: st.DataObject) -> None:
        once = without_losses(data.draw(self.strategies.model_inputs()).as_data(), self.codec.losses)
        assert canonical_json(without_losses(once, self.codec.losses)) == canonical_json(once)

    def test_every_declared_loss_is_a_real_one(self) -> None:
        assert self.needs.keys() == {loss.name for loss in self.codec.losses}
        encode = self.codec.marking or self.codec.encode
        for loss in self.codec.losses:
            model_input = self.needs[loss.name]
            read = self.codec.readback(encode(model_input))
            others = tuple(other for other in self.codec.losses if other is not loss)
            assert _comparable(read, self.codec.losses) == _comparable(model_input, self.codec.losses), (
                f"what needs {loss.name!r} comes back as something else, all losses applied"
            )
            assert _comparable(read, others) != _comparable(model_input, others), (
                f"what needs {loss.name!r} comes back the same without it: it is none, or another loss covers it"
            )

    @_SOME
    @given(st.data())
    def test_a_longer_history_makes_a_body_that_begins_with_the_shorter_one(self, data: st.DataObject) -> None:
        shorter = data.draw(self.strategies.model_inputs())
        messages = (*shorter.messages, data.draw(self.strategies.messages()))
        longer = ModelInput(shorter.system, messages, shorter.tools, shorter.settings)
        assert self.codec.encode(longer).startswith(self.codec.encode(shorter).rstrip(b"]}"))

    @_SOME
    @given(st.data())
    def test_a_stream_cut_anywhere_gives_the_same_answer(self, data: st.DataObject) -> None:
        cuts = sorted(data.draw(st.sets(st.integers(0, len(self.stream)), max_size=12)))
        edges = zip([0, *cuts], [*cuts, len(self.stream)], strict=True)
        whole, recut = self._decoded([self.stream]), self._decoded([self.stream[a:b] for a, b in edges])
        assert recut == whole
        assert whole.message.text == self.stream_text

    @_MANY
    @given(st.data())
    def test_a_stream_that_ends_early_is_an_answer_or_broken_and_keeps_what_arrived(
        self, data: st.DataObject
    ) -> None:
        end = data.draw(st.integers(0, len(self.stream) - 1))
        decoder = self.codec.open_stream()
        try:
            events = [*decoder.feed(self.stream[:end]), *decoder.close()]
        except StreamBroken as e:
            assert e.arrived == decoder.arrived
            assert self.stream_text.startswith(e.arrived)
        else:
            assert isinstance(events[-1], Finished)
            assert events[-1].output.message.text == self.stream_text

    def test_a_stream_without_anything_is_broken(self) -> None:
        with pytest.raises(StreamBroken):
            self._decoded([])

    @_MANY
    @given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
    def test_garbage_is_a_typed_error_or_an_answer(self, garbage: bytes) -> None:
        with pytest.raises(ProviderError):
            self.codec.decode(500, garbage)
        with suppress(ProviderError):
            self.codec.decode(200, garbage)
        with suppress(ProviderError):
            self._decoded([garbage])
        with suppress(UnreadableRequest):
            self.codec.readback(garbage)

    @_SOME
    @given(st.data())
    def test_a_stream_that_goes_over_into_garbage_is_a_typed_error_or_an_answer(self, data: st.DataObject) -> None:
        end = data.draw(st.integers(0, len(self.stream)))
        with suppress(ProviderError):
            self._decoded([self.stream[:end], data.draw(st.binary(max_size=40))])

    def test_fields_that_nobody_has_heard_of_are_kept(self) -> None:
        answer = json.loads(self.answer)
        output = self.codec.decode(200, json.dumps(answer | {"x_unheard": {"of": [1]}}).encode())
        assert output.extra["x_unheard"] == {"of": [1]}
        assert output.message == self.codec.decode(200, self.answer).message

    def test_an_error_under_a_good_status_is_an_error(self) -> None:
        with pytest.raises(ProviderError) as caught:
            self.codec.decode(200, self.error)
        assert not isinstance(caught.value, MalformedReply)

    def _decoded(self, pieces: list[bytes]) -> ModelOutput:
        decoder = self.codec.open_stream()
        events = [event for piece in pieces for event in decoder.feed(piece)]
        last = [*events, *decoder.close()][-1]
        assert isinstance(last, Finished)
        return last.output


def _comparable(model_input: ModelInput, losses: tuple[Loss, ...]) -> bytes:
    return canonical_json(without_losses(model_input.as_data(), losses))
