"""Connections to an endpoint: one for each request under way, kept for the next."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import httpx2
import pytest

from skilleval.models.connections import Connections

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


async def served(work: Callable[[httpx2.AsyncClient, str, list[int]], Awaitable[None]]) -> None:
    """Work with a client of a server that counts, in a list, the requests of each connection."""
    counts: list[int] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = len(counts)
        counts.append(0)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                counts[number] += 1
                if b"/broken" in head:
                    break
                writer.write(ANSWER)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    transport = Connections(httpx2.create_ssl_context())
    async with server, httpx2.AsyncClient(transport=transport) as client:
        await work(client, f"http://127.0.0.1:{port}", counts)


def test_a_connection_serves_one_request_after_the_other() -> None:
    async def work(client: httpx2.AsyncClient, url: str, counts: list[int]) -> None:
        for _ in range(5):
            assert (await client.get(url)).text == "ok"
        assert counts == [5]

    asyncio.run(served(work))


def test_requests_at_once_have_one_each_and_leave_them() -> None:
    async def work(client: httpx2.AsyncClient, url: str, counts: list[int]) -> None:
        for _ in range(3):
            async with client.stream("GET", url) as one, client.stream("GET", url) as two:
                assert (await one.aread(), await two.aread()) == (b"ok", b"ok")
        assert len(counts) == 2 and sum(counts) == 6

    asyncio.run(served(work))


def test_a_connection_that_broke_is_made_anew() -> None:
    async def work(client: httpx2.AsyncClient, url: str, counts: list[int]) -> None:
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.get(f"{url}/broken")
        assert (await client.get(url)).text == "ok"
        assert counts == [1, 1]

    asyncio.run(served(work))
