"""Put this turn's contributions behind the canonical history."""

from collections.abc import Callable

from copyfit.errors import ForgedRole
from copyfit.shapes.contributions import Attachment
from copyfit.shapes.messages import Origin, UserMessage
from copyfit.shapes.stages import Admitted, Composed, PlacedAttachment, PlacedMessage
from copyfit.shapes.transcript import Transcript


class ContextMessageComposer:
    """Composes the messages of one turn; `envelope` writes an attachment as text that cannot pass for more."""

    def __init__(self, envelope: Callable[[Attachment], str]) -> None:
        self._envelope = envelope

    def compose(self, history: Transcript, admitted: Admitted) -> Composed:
        """Return `history` untouched, then the contributed messages, then the attachments in their envelopes.

        Every added message says by its origin and source where it came from, whatever its contributor wrote there.

        Raises:
            ForgedRole: a contributed message speaks for another role than the user's.

        """
        return Composed(
            history,
            (
                *(_contributed(placed) for placed in admitted.messages),
                *(self._attached(placed) for placed in admitted.attachments),
            ),
        )

    def _attached(self, placed: PlacedAttachment) -> UserMessage:
        return UserMessage(
            content=self._envelope(placed.attachment), origin=Origin.ATTACHMENT, source=placed.attachment.id
        )


def _contributed(placed: PlacedMessage) -> UserMessage:
    message = placed.message
    if not isinstance(message, UserMessage) or message.role != "user":
        raise ForgedRole(placed.contributor_id, str(getattr(message, "role", type(message).__name__)))
    source = message.source or placed.contributor_id
    return message.model_copy(update={"origin": Origin.CONTRIBUTED, "source": source})
