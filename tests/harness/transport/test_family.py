"""Telling httpx and httpx2 apart."""

from typing import Any

import httpx
import httpx2
import pytest

from copyfit_harness.transport.family import break_of, family_of, wire_request
from copyfit_harness.wire.exchange import Ending, EndingKind


class Signed(httpx2.Request):
    """A request class of somebody's own."""


def test_the_family_is_that_of_the_class_or_of_one_it_derives_from() -> None:
    assert family_of(httpx.Request("GET", "http://h")) is httpx
    assert family_of(httpx2.Request("GET", "http://h")) is httpx2
    assert family_of(Signed("GET", "http://h")) is httpx2


def test_a_stranger_is_refused() -> None:
    with pytest.raises(TypeError, match="object is neither httpx's nor httpx2's"):
        family_of(object())


@pytest.mark.parametrize("family", [httpx, httpx2])
def test_a_request_becomes_what_goes_over_the_wire(family: Any) -> None:
    request = family.Request("post", "http://h/é?q=ü", headers=[("x", "1"), ("x", b"caf\xe9")], content=b"b")
    wire = wire_request(request, request.read())
    assert (wire.method, wire.url, wire.body) == ("POST", "http://h/%C3%A9?q=%C3%BC", b"b")
    assert [pair for pair in wire.headers if pair[0] == "x"] == [("x", "1"), ("x", "café")]


@pytest.mark.parametrize("family", [httpx, httpx2])
@pytest.mark.parametrize("name", ["ReadError", "ReadTimeout", "RemoteProtocolError"])
def test_a_break_is_the_familys_own_exception(family: Any, name: str) -> None:
    error = break_of(family, Ending(EndingKind.BROKE_OFF, name, "gone"))
    assert type(error) is getattr(family, name)
    assert str(error) == "gone"


@pytest.mark.parametrize("name", ["ValueError", "Client", "HTTPStatusError", ""])
def test_a_break_that_the_family_has_no_exception_for_is_a_read_error_with_its_name(name: str) -> None:
    error = break_of(httpx, Ending(EndingKind.BROKE_OFF, name, "gone"))
    assert type(error) is httpx.ReadError
    assert str(error) == f"{name}: gone"
