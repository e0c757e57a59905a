"""The wire protocols that the proof can read back."""

from copyfit_adapters.anthropic_messages import dialect as messages_dialect
from copyfit_adapters.anthropic_messages import losses as messages_losses
from copyfit_adapters.anthropic_messages import readback as messages_readback
from copyfit_adapters.openai_chat import dialect as chat_dialect
from copyfit_adapters.openai_chat import losses as chat_losses
from copyfit_adapters.openai_chat import readback as chat_readback
from copyfit_harness.proof.exact import Protocol

OPENAI_CHAT = Protocol(chat_dialect.PROTOCOL, chat_readback.readback, chat_losses.LOSSES)
ANTHROPIC_MESSAGES = Protocol(messages_dialect.PROTOCOL, messages_readback.readback, messages_losses.LOSSES)
