"""The exact-input proof: the bytes on the wire, read back, are the assembled input."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from copyfit.shapes.model_input import ModelInput
from copyfit_adapters.codec.losses import Loss, without_losses
from copyfit_adapters.errors import UnreadableRequest
from copyfit_harness.errors import NotExact
from copyfit_harness.wire.difference import Difference, json_differences
from copyfit_harness.wire.exchange import Exchange


@dataclass(frozen=True, slots=True)
class Protocol:
    """What the proof needs to know of a wire protocol: its inverse, and what its format cannot carry.

    Those of our own protocols stand in `protocols`; any other package makes its own. `readback` returns the model
    input in a request body, or raises `UnreadableRequest`.
    """

    name: str
    readback: Callable[[bytes], ModelInput]
    losses: tuple[Loss, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found out about one request: nothing differs, or `differences` says where.

    `problem` is set instead when the body cannot be read back at all.
    """

    differences: tuple[Difference, ...] = ()
    problem: str = ""

    @property
    def is_exact(self) -> bool:
        """Whether the provider received the assembled input."""
        return not self.differences and not self.problem

    @property
    def paths(self) -> tuple[str, ...]:
        """The JSON paths of the assembled input at which the wire differs."""
        return tuple(difference.path for difference in self.differences)


def compare(model_input: ModelInput, body: bytes, protocol: Protocol) -> Finding:
    """Compare `model_input` with the request `body`, apart from what the protocol declares that it loses."""
    try:
        received = protocol.readback(body)
    except UnreadableRequest as error:
        return Finding(problem=str(error))
    return Finding(
        json_differences(
            without_losses(model_input.as_data(), protocol.losses),
            without_losses(received.as_data(), protocol.losses),
        )
    )


def prove(
    model_inputs: Sequence[ModelInput], exchanges: Sequence[Exchange], protocol: Protocol
) -> tuple[Finding, ...]:
    """Return one finding for each model input, which must have travelled in the exchange of the same position.

    Raises:
        NotExact: there are more requests than inputs, or fewer.

    """
    if len(model_inputs) != len(exchanges):
        raise NotExact(
            f"{len(model_inputs)} inputs were assembled and {len(exchanges)} requests travelled: look for a "
            "client that retries by itself, or for one that bypasses the recorder.",
            (),
        )
    return tuple(
        compare(model_input, exchange.request.body, protocol)
        for model_input, exchange in zip(model_inputs, exchanges, strict=True)
    )


def assert_exact(model_input: ModelInput, exchange: Exchange, protocol: Protocol) -> None:
    """Check that `exchange` carried exactly `model_input`.

    Raises:
        NotExact: it did not; the message shows the first differences.

    """
    finding = compare(model_input, exchange.request.body, protocol)
    if not finding.is_exact:
        shown = finding.problem or "; ".join(str(difference) for difference in finding.differences[:5])
        raise NotExact(f"The request is not the assembled input: {shown}.", finding.paths)
