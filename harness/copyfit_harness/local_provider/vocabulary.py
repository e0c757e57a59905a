"""Read the tekken vocabulary that ships inside the `mistral-common` wheel.

`mistral_common` itself is never imported: its data file is found through the installed distribution, so none of
its dependencies has to load.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from copyfit_harness.errors import EnvironmentLacks
from copyfit_harness.local_provider.extra import INSTALL_LOCAL, installed

CONTROL_TOKENS = (
    "<unk>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CALLS]",
    "[IMG]",
    "<pad>",
    "[IMG_BREAK]",
    "[IMG_END]",
    "[PREFIX]",
    "[MIDDLE]",
    "[SUFFIX]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[TOOL_CONTENT]",
)
"""The named control tokens, by id; the file leaves them out, mistral-common 1.13.1 keeps them in its code."""

_DATA_FILE = "mistral_common/data/tekken_240911.json"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Hold a byte-level BPE vocabulary: control tokens take the ids from 0, ordinary ones follow by rank."""

    control: tuple[str, ...]
    ordinary: tuple[bytes, ...]

    def __len__(self) -> int:
        return len(self.control) + len(self.ordinary)

    def control_id(self, name: str) -> int:
        """Return the id of the control token `name`."""
        return self.control.index(name)

    def ordinary_id(self, text: bytes) -> int:
        """Return the id of the ordinary token whose bytes are `text`."""
        return len(self.control) + self.ordinary.index(text)


def find_vocabulary() -> Path:
    """Find the tekken file of the installed `mistral-common`.

    Raises:
        EnvironmentLacks: the distribution is not installed, or brings no such file.

    """
    distribution = installed("mistral-common")
    path = Path(str(distribution.locate_file(_DATA_FILE)))
    if not path.is_file():
        raise EnvironmentLacks(f"mistral-common {distribution.version} brings no {_DATA_FILE}", INSTALL_LOCAL)
    return path


def parse_tekken(document: Mapping[str, Any]) -> Vocabulary:
    """Build the vocabulary out of a tekken document, filling up the control tokens that have no name."""
    config = document["config"]
    control_count = config["default_num_special_tokens"]
    ordinary_count = config["default_vocab_size"] - control_count
    fillers = (f"<SPECIAL_{place}>" for place in range(len(CONTROL_TOKENS), control_count))
    return Vocabulary(
        control=(*CONTROL_TOKENS, *fillers),
        ordinary=tuple(base64.b64decode(entry["token_bytes"]) for entry in document["vocab"][:ordinary_count]),
    )


def read_vocabulary(path: Path) -> Vocabulary:
    """Read the vocabulary at `path`; the file of September 2024 has 131,072 tokens, 1,000 of them for control."""
    return parse_tekken(json.loads(path.read_bytes()))


def merges(ordinary: tuple[bytes, ...]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the pair that BPE joins into each token of two bytes or more, in the order of their ranks.

    A rank table does not store the pairs: the pair of a token is what BPE leaves of its bytes when it may use only
    the tokens of lower rank. A token that cannot be reached in this way yields nothing.
    """
    ranks = {token: rank for rank, token in enumerate(ordinary)}
    for token, rank in ranks.items():
        parts = [token[place : place + 1] for place in range(len(token))]
        while len(parts) > 2:
            lowest, at = rank, -1
            for place in range(len(parts) - 1):
                joined = ranks.get(parts[place] + parts[place + 1], rank)
                if joined < lowest:
                    lowest, at = joined, place
            if at < 0:
                break
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        if len(parts) == 2:
            yield parts[0], parts[1]


def byte_alphabet() -> dict[int, str]:
    """Map each byte to the visible character that stands for it in a GGUF header, as GPT-2's tokenizer had it.

    Printable Latin-1 stands for itself; the other 68 bytes take the characters from U+0100, in order.
    """
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    spare = iter(range(0x100, 0x200))
    return {byte: chr(byte if byte in visible else next(spare)) for byte in range(256)}


def spell(token: bytes, alphabet: Mapping[int, str]) -> str:
    """Write the bytes of a token in the characters of a `byte_alphabet`."""
    return token.decode("latin-1").translate(alphabet)
