"""Talking to an MCP server that runs inside the sandbox: a JSON message on each line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from skilleval.harness.tools.mcp_config import ServerConfig

if TYPE_CHECKING:
    from asyncio.subprocess import Process

    from skilleval.harness.sandbox.policy import Sandbox

__all__ = ["LastWords", "stdio_transport"]

_PIECE = 65_536
_LONGEST_LINE = 64_000_000
_LAST_WORDS = 4_000
_GRACE = 2.0
"""Seconds that a server has to end by itself once its input has."""


class LastWords:
    """The end of what a server wrote to standard error, and how it ended."""

    def __init__(self) -> None:
        self._data = b""
        self.exit_code: int | None = None
        self.trouble = ""

    def add(self, data: bytes) -> None:
        """Take in more of it."""
        self._data = (self._data + data)[-_LAST_WORDS:]

    def __str__(self) -> str:
        text = self._data.decode("utf-8", "replace").strip()
        parts = [self.trouble] * bool(self.trouble)
        if self.exit_code is not None:
            parts.append(f"exit code {self.exit_code}")
        return "; ".join([*parts, *([f"it wrote: {text}"] if text else [])])


@asynccontextmanager
async def stdio_transport(
    config: ServerConfig, sandbox: Sandbox, cwd: str, words: LastWords
) -> AsyncIterator[Any]:
    """Start a server and give the two streams that an MCP client talks through.

    At the end no process of the server is left, however it ends.
    """
    import anyio
    from mcp.shared.message import SessionMessage

    process = await sandbox.start(config.command, cwd=cwd, environment=config.environment)
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    pumps = [
        asyncio.create_task(_receive(process, incoming, words)),
        asyncio.create_task(_send(process, outgoing, incoming)),
        asyncio.create_task(_listen(process, words)),
    ]
    try:
        yield read, write
    finally:
        try:
            await _end(process, words)
        finally:
            words.exit_code = await sandbox.stop(process)
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            for stream in (incoming, read, write, outgoing):
                stream.close()


async def _end(process: Process, words: LastWords) -> None:
    """Let a server end by itself, as the protocol has it: its input ends first."""
    if process.stdin:
        process.stdin.close()
    with suppress(TimeoutError):
        async with asyncio.timeout(_GRACE):
            await process.wait()


async def _receive(process: Process, incoming: Any, words: LastWords) -> None:
    """Hand on each message that the server sends; lines that are none are passed over."""
    import anyio
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    stdout, buffer, looked = process.stdout, bytearray(), 0
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        while stdout and (piece := await stdout.read(_PIECE)):
            buffer += piece
            while (end := buffer.find(b"\n", looked)) >= 0:
                line, looked = bytes(buffer[:end]), 0
                del buffer[: end + 1]
                with suppress(ValueError):
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                    await incoming.send(SessionMessage(message))
            looked = len(buffer)
            if looked > _LONGEST_LINE:
                words.trouble = f"it sent a line of over {_LONGEST_LINE:,} bytes"
                break
    with suppress(TimeoutError):
        async with asyncio.timeout(_GRACE):
            words.exit_code = await process.wait()
    incoming.close()


async def _send(process: Process, outgoing: Any, incoming: Any) -> None:
    """Send each message of the client as a line."""
    with suppress(OSError):
        async for item in outgoing:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            if process.stdin:
                process.stdin.write(text.encode("utf-8") + b"\n")
                await process.stdin.drain()
        return
    incoming.close()  # the server does not listen any more: nothing is worth waiting for


async def _listen(process: Process, words: LastWords) -> None:
    """Keep the end of what the server writes to standard error, so that it never blocks."""
    while process.stderr and (piece := await process.stderr.read(_PIECE)):
        words.add(piece)
