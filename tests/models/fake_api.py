"""A Messages API on loopback that answers as it is told, right or wrong, over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from types import TracebackType
from typing import Any

from skilleval.models.streams import events_of

Reaction = Callable[[asyncio.StreamWriter], Awaitable[bool]]
"""Answers a request; whether the connection stays open."""

REQUEST: dict[str, Any] = {
    "model": "claude-haiku-5-5",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "Hello"}],
}
USAGE = {
    "input_tokens": 10,
    "output_tokens": 5,
    "cache_read_input_tokens": 3,
    "cache_creation_input_tokens": 2,
    "output_tokens_details": {"thinking_tokens": 1},
}


def text(words: str) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": words}


def tool_use(**values: Any) -> dict[str, Any]:
    """A block that calls a tool."""
    return {"type": "tool_use", "id": "toolu_1", "name": "read", "input": values}


def message(*content: dict[str, Any] | str, **values: Any) -> dict[str, Any]:
    """A whole answer."""
    blocks = [text(each) if isinstance(each, str) else each for each in content or ("Hello",)]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-5-5",
        "content": blocks,
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": dict(USAGE),
        **values,
    }


def error(kind: str, said: str) -> dict[str, Any]:
    """The body of an error."""
    return {"type": "error", "error": {"type": kind, "message": said}}


def sse(events: Iterable[Mapping[str, Any]]) -> bytes:
    """Events as they travel."""
    lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return "".join(lines).encode()


def head(status: int = 200, **headers: object) -> bytes:
    """The head of an answer; ``_`` in a header's name stands for ``-``."""
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase if status != 529 else 'Overloaded'}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()


def chunk(data: bytes) -> bytes:
    """A piece of a body of unknown length."""
    return b"%x\r\n%s\r\n" % (len(data), data)


EVENT_STREAM = {"content_type": "text/event-stream", "transfer_encoding": "chunked"}


def reply(body: object, status: int = 200, **headers: object) -> Reaction:
    """An answer with a body: bytes and texts as they are, everything else as JSON."""
    if isinstance(body, str):
        body = body.encode()
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"content_type": "application/json", "content_length": len(data)} | headers

    async def react(writer: asyncio.StreamWriter) -> bool:
        writer.write(head(status, **headers) + data)
        await writer.drain()
        return True

    return react


def stream(
    events: Iterable[Mapping[str, Any]] | bytes, *, end: bool = True, **headers: object
) -> Reaction:
    """A stream of events; cut off after them unless it may ``end``."""
    data = events if isinstance(events, bytes) else sse(events)

    async def react(writer: asyncio.StreamWriter) -> bool:
        writer.write(head(200, **(EVENT_STREAM | headers)) + chunk(data))
        if end:
            writer.write(b"0\r\n\r\n")
        await writer.drain()
        return end

    return react


def streamed(answer: Mapping[str, Any]) -> Reaction:
    """A message as a stream."""
    return stream(list(events_of(answer)))


def raw(data: bytes) -> Reaction:
    """Bytes as they are; then the connection closes."""

    async def react(writer: asyncio.StreamWriter) -> bool:
        writer.write(data)
        await writer.drain()
        return False

    return react


def endless(start: bytes, more: bytes) -> Reaction:
    """Bytes that never end, as fast as they are taken."""

    async def react(writer: asyncio.StreamWriter) -> bool:
        writer.write(start)
        while not writer.is_closing():
            writer.write(more)
            await writer.drain()
        return False

    return react


def silent(start: bytes = b"") -> Reaction:
    """Nothing more, ever."""

    async def react(writer: asyncio.StreamWriter) -> bool:
        writer.write(start)
        await asyncio.Event().wait()
        return False

    return react


@dataclass(frozen=True)
class Received:
    """A request as it came."""

    line: str
    headers: dict[str, str]
    body: Any


class FakeApi:
    """Answers each request with the next reaction, and the last one from then on."""

    def __init__(self, *reactions: Reaction) -> None:
        self.reactions = list(reactions)
        self.received: list[Received] = []
        self.connections = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> FakeApi:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def port(self) -> int:
        """Where it listens."""
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def url(self) -> str:
        """Its base URL."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def bodies(self) -> list[Any]:
        """The bodies that came."""
        return [received.body for received in self.received]

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            try:
                while await self._exchange(reader, writer):
                    pass
            finally:
                writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines[1:] if line)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.received.append(Received(lines[0], headers, json.loads(body) if body else None))
        react = self.reactions.pop(0) if len(self.reactions) > 1 else self.reactions[0]
        return await react(writer)
