"""The transport that does the sending."""

import httpx
import httpx2
import pytest

from copyfit_harness.transport.inner import InnerTransport


class Closing(httpx.MockTransport):
    """A transport that counts how often it was closed."""

    def __init__(self) -> None:
        super().__init__(lambda _: httpx.Response(200))
        self.closed: list[str] = []

    def close(self) -> None:
        self.closed.append("sync")

    async def aclose(self) -> None:
        self.closed.append("async")


def test_without_one_the_familys_default_is_opened_once() -> None:
    inner = InnerTransport()
    for family in (httpx, httpx2):
        opened = inner.for_sync(family)
        assert isinstance(opened, family.HTTPTransport)
        assert inner.for_sync(family) is opened
        assert isinstance(inner.for_async(family), family.AsyncHTTPTransport)


def test_a_default_that_was_closed_is_opened_anew() -> None:
    inner = InnerTransport()
    first = inner.for_sync(httpx)
    inner.close()
    assert inner.for_sync(httpx) is not first
    inner.close()


@pytest.mark.anyio
async def test_the_given_one_is_used_and_closed_on_each_side() -> None:
    given = Closing()
    inner = InnerTransport(given)
    assert inner.for_sync(httpx) is given
    assert inner.for_async(httpx) is given
    inner.close()
    await inner.aclose()
    assert given.closed == ["sync", "async"]


def test_one_for_the_other_kind_of_client_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="AsyncHTTPTransport has no handle_request"):
        InnerTransport(httpx.AsyncHTTPTransport()).for_sync(httpx)
    with pytest.raises(TypeError, match="HTTPTransport has no handle_async_request"):
        InnerTransport(httpx.HTTPTransport()).for_async(httpx)
