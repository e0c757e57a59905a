"""The wire protocols that the proof can read back."""

from copyfit_adapters.openai_chat.dialect import PROTOCOL
from copyfit_adapters.openai_chat.losses import LOSSES
from copyfit_adapters.openai_chat.readback import readback
from copyfit_harness.proof.exact import Protocol

OPENAI_CHAT = Protocol(PROTOCOL, readback, LOSSES)
