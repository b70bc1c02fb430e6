"""Connections to an endpoint, so that the number of requests at once costs nothing.

A pool of connections looks all of them through whenever a request begins or ends. With
hundreds in flight that would take more time than the requests, so here each has a pool to
itself, of one connection, and the next one gets it from there.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncIterator

import httpx2

__all__ = ["Connections"]

_OPTIONS = (("TCP_KEEPINTVL", 60), ("TCP_KEEPCNT", 5), ("TCP_KEEPIDLE", 60))
_KEEP_ALIVE = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in _OPTIONS
        if hasattr(socket, name)
    ),
]
"""As the SDK sets them: a connection that the network has dropped in silence is noticed."""
_ONE = httpx2.Limits(max_connections=1, max_keepalive_connections=1)


class Connections(httpx2.AsyncBaseTransport):
    """A transport that gives each request a connection of its own, kept for the next one."""

    def __init__(self, context: ssl.SSLContext) -> None:
        """Nothing is connected yet.

        Args:
            context: how servers prove who they are.
        """
        self._context = context
        self._all: list[httpx2.AsyncHTTPTransport] = []
        self._free: list[httpx2.AsyncHTTPTransport] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; its connection is free again once the response is closed."""
        own = self._free.pop() if self._free else self._new()
        try:
            response = await own.handle_async_request(request)
        except BaseException:
            self._free.append(own)
            raise
        response.stream = _Body(response.stream, own, self._free)
        return response

    async def aclose(self) -> None:
        """Close all connections."""
        for own in self._all:
            await own.aclose()

    def _new(self) -> httpx2.AsyncHTTPTransport:
        made = httpx2.AsyncHTTPTransport(
            verify=self._context, limits=_ONE, socket_options=_KEEP_ALIVE
        )
        self._all.append(made)
        return made


class _Body(httpx2.AsyncByteStream):
    """The body of a response, which gives its connection back when it is closed."""

    def __init__(
        self,
        body: object,
        own: httpx2.AsyncHTTPTransport,
        free: list[httpx2.AsyncHTTPTransport],
    ) -> None:
        assert isinstance(body, httpx2.AsyncByteStream)  # noqa: S101 - for the type checker
        self._body = body
        self._own: httpx2.AsyncHTTPTransport | None = own
        self._free = free

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._body:
            yield piece

    async def aclose(self) -> None:
        try:
            await self._body.aclose()
        finally:
            own, self._own = self._own, None
            if own is not None:
                self._free.append(own)
