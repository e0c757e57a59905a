"""docs/adapters.md names every adapter and every declared loss; COPYFIT_WRITE_PAGES writes its tables anew."""

import os
import re
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from copyfit_adapters import known_adapters
from copyfit_adapters.servers import SERVERS
from copyfit_harness.proof.protocols import PROTOCOLS

PAGE = Path(__file__).parents[2] / "docs" / "adapters.md"


def servers() -> str:
    rows = ["| name | server | address | key |", "|---|---|---|---|"]
    for name, server in SERVERS.items():
        where = server.address_variable or server.home.url
        key = " or ".join(f"`{variable}`" for variable in server.home.key_variables) or "none"
        rows.append(f"| `{name}` | {server.home.name} | `{where}` | {key} |")
    return "\n".join(rows)


def losses() -> str:
    tables = []
    for name, protocol in PROTOCOLS.items():
        # A form of a protocol loses all that its protocol does, so its table is of what it loses besides.
        home = next((each for each in PROTOCOLS.values() if set(each.losses) < set(protocol.losses)), None)
        known = () if home is None else home.losses
        rows = [
            f"| `{loss.where}` | {loss.effect} | {loss.reason} |" for loss in protocol.losses if loss not in known
        ]
        besides = "" if home is None else f"What {home.name} loses, and besides:\n\n"
        heads = (f"### {name}\n", f"{besides}| what | becomes | because |", "|---|---|---|")
        tables.append("\n".join([*heads, *rows]))
    return "\n\n".join(tables)


def with_tables(page: str) -> str:
    """Return the page with what stands behind its two marks written anew."""
    for name, table, end in (("servers", servers(), r"\n\nA key"), ("losses", losses(), r"\n\n## ")):
        found = re.search(rf"(?<=<!-- {name} -->).*?(?={end})", page, re.DOTALL)
        assert found, f"the page has no mark for its {name}"
        page = f"{page[: found.start()]}\n\n{table}{page[found.end() :]}"
    return page


def test_the_tables_are_those_of_the_code() -> None:
    page = PAGE.read_text("utf-8")
    if os.environ.get("COPYFIT_WRITE_PAGES"):
        page = with_tables(page)
        PAGE.write_text(page, "utf-8")
    assert page == with_tables(page), "the page is out of date; write it with COPYFIT_WRITE_PAGES=1"


def test_every_adapter_is_named() -> None:
    named = set(re.findall(r"^\| `([^`]+)` \|", PAGE.read_text("utf-8"), re.MULTILINE))
    assert set(known_adapters()) <= named


@pytest.mark.anyio
async def test_the_code_runs_as_it_stands_there(monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    answer: Any = {"choices": [{"message": {"content": "A first print."}, "finish_reason": "stop"}]}
    served = httpx.MockTransport(lambda _: httpx.Response(200, json=answer))
    monkeypatch.setattr(httpx, "AsyncClient", partial(httpx.AsyncClient, transport=served))
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(code, PAGE.name, "exec"), names)
    assert await names["ask"]("openai-chat:gpt-5.1", "What is a galley proof?") == "A first print."
