"""A small MCP server for the tests: on standard input and output, or as an application."""

from __future__ import annotations

import asyncio
import os
import sys

from mcp.server.mcpserver import Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import AudioContent, ResourceLink, TextContent, ToolAnnotations

server = MCPServer("small")
PIXEL = (
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0\x3a\x7e\x9b\x55\0\0\0\nIDATx"
    b"\x9cc`\0\0\0\x02\0\x01\x48\xaf\xa4\x71\0\0\0\0IEND\xaeB`\x82"
)


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def fail() -> str:
    """Always fail."""
    raise ToolError("it went wrong")


@server.tool()
def picture() -> Image:
    """Show a pixel."""
    return Image(data=PIXEL, format="png")


@server.tool()
def mixed() -> list[TextContent | AudioContent | ResourceLink]:
    """Give several things."""
    return [
        TextContent(text="some text"),
        AudioContent(data="AAAA", mime_type="audio/wav"),
        ResourceLink(name="notes", uri="file:///notes", description="what was said"),
    ]


@server.tool()
def long(lines: int) -> str:
    """Give many lines."""
    return "\n".join(f"line {number}" for number in range(1, lines + 1))


@server.tool(meta={"anthropic/maxResultSizeChars": 200})
def short(lines: int) -> str:
    """Give many lines, but not more than 200 characters."""
    return long(lines)


@server.tool()
def environment() -> dict[str, str]:
    """Tell all variables."""
    return dict(os.environ)


@server.tool()
def place() -> str:
    """Tell the working directory."""
    return os.getcwd()


@server.tool()
async def slow() -> str:
    """Never answer."""
    await asyncio.Event().wait()
    return ""


@server.tool()
def die() -> str:
    """End the server."""
    sys.stderr.write("goodbye\n")
    sys.stderr.flush()
    os._exit(7)


if __name__ == "__main__":
    server.run("stdio")
