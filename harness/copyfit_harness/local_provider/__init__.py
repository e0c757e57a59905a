"""The local real provider: llama.cpp's own HTTP server on loopback, with a tiny model built on the spot.

Nothing is downloaded and nothing leaves the machine. The text is nonsense; what is genuine is everything that the
server computes around it: templating, tokenising, usage, event streams, grammar-bound tool calls and overflows.
Needs the extra `local` (`xllamacpp`, `gguf`, `mistral-common`).
"""

from copyfit_harness.local_provider.options import LocalProviderOptions, ModelVariant
from copyfit_harness.local_provider.provider import LocalProvider

__all__ = ["LocalProvider", "LocalProviderOptions", "ModelVariant"]
