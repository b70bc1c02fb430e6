"""The tools of MCP servers: connected for a session, and gone with it."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

from skilleval.errors import InputError
from skilleval.harness.tools.base import Block, Tool, ToolContext, ToolError, ToolResult
from skilleval.harness.tools.budgets import DEFAULT, Budgets
from skilleval.harness.tools.mcp_config import ServerConfig, read_servers
from skilleval.harness.tools.mcp_results import result_of
from skilleval.harness.tools.mcp_stdio import LastWords, stdio_transport

if TYPE_CHECKING:
    import mcp_types
    from mcp import Client

    from skilleval.harness.sandbox.policy import Sandbox

__all__ = ["McpServers", "McpTool", "connect", "tool_name"]

_PAGES = 50
_TOOLS = 200
"""Tools of one server that are offered."""
_DESCRIPTION = 2_048
_NAME = 64
_END_SECONDS = 10.0
_LIMIT = "anthropic/maxResultSizeChars"


def tool_name(server: str, tool: str) -> str:
    """What a model calls a server's tool: letters that the API takes, and not too many."""
    name = "mcp__" + "__".join(re.sub(r"[^A-Za-z0-9_-]", "_", part) for part in (server, tool))
    if len(name) <= _NAME:
        return name
    mark = hashlib.sha256(f"{server}\0{tool}".encode()).hexdigest()[:8]
    return f"{name[: _NAME - 9]}_{mark}"


@asynccontextmanager
async def connect(
    servers: Mapping[str, Any],
    sandbox: Sandbox,
    budgets: Budgets = DEFAULT,
    environment: Mapping[str, str] | None = None,
) -> AsyncIterator[list[Tool]]:
    """The tools of all servers, which end with the context.

    Args:
        servers: by name, as ``mcpServers`` in an ``.mcp.json`` has them.
        sandbox: where those run that are started, in its workspace.
        budgets: for how long a start and a call may take.
        environment: what ``${NAME}`` in the settings stands for.

    Raises:
        InputError: a server can't be connected, or not all of its tools can be offered: a
            session without what was asked for would be another one.
    """
    configs = read_servers({"mcpServers": servers}, environment or {})
    cwd = sandbox.policy.mounts[0].inside
    async with McpServers(configs, sandbox, cwd, budgets) as connected:
        problems = [f"MCP server {name}: {why}" for name, why in connected.failures.items()]
        problems += [f"MCP tool {name}: {why}" for name, why in connected.left_out.items()]
        if problems:
            raise InputError("; ".join(problems), remedy="Put it right, or leave the server out.")
        yield connected.tools


class McpServers:
    """MCP servers of one session; ``async with`` starts them all and ends them all.

    Attributes:
        tools: of the servers that could be connected, by name.
        failures: why the others could not, by server.
        left_out: tools that are not offered, with the reason.
    """

    def __init__(
        self,
        servers: Sequence[ServerConfig],
        sandbox: Sandbox,
        cwd: str,
        budgets: Budgets = DEFAULT,
    ) -> None:
        """Take in what to connect.

        Args:
            servers: see ``read_servers``.
            sandbox: where those run that are started.
            cwd: the folder that they are started in, as seen inside.
            budgets: for how long a start and a call may take.
        """
        self.tools: list[Tool] = []
        self.failures: dict[str, str] = {}
        self.left_out: dict[str, str] = {}
        self._servers = [_Server(each, sandbox, cwd, budgets) for each in servers]

    async def __aenter__(self) -> McpServers:
        """Start all servers at once; one that can't be connected does not stop the others."""
        try:
            await asyncio.gather(*(server.start() for server in self._servers))
        except BaseException:
            await self._close()
            raise
        names: set[str] = set()
        for server in self._servers:
            if server.failure:
                self.failures[server.config.name] = server.failure
            for listed in server.listed:
                tool = McpTool(server, listed)
                if tool.name in names:
                    self.left_out[f"{server.config.name}: {listed.name}"] = "its name is taken"
                    continue
                names.add(tool.name)
                self.tools.append(tool)
            if server.beyond:
                why = f"a server may have {_TOOLS} tools"
                self.left_out[f"{server.config.name}: {server.beyond} tools"] = why
        self.tools.sort(key=lambda each: each.name)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End all servers."""
        await self._close()

    async def _close(self) -> None:
        await asyncio.gather(*(server.stop() for server in self._servers))


class McpTool(Tool):
    """A tool of an MCP server.

    ``reads_only`` is what the server says of it: enough to let calls run together, and nothing
    to base a permission on.
    """

    def __init__(self, server: _Server, listed: mcp_types.Tool) -> None:
        """Take over what the server says of its tool, within bounds."""
        self.server = server
        self.called = listed.name
        self.name = tool_name(server.config.name, listed.name)
        notes = listed.annotations
        self.reads_only = bool(notes and notes.read_only_hint)
        limit = (listed.meta or {}).get(_LIMIT)
        is_number = isinstance(limit, int) and not isinstance(limit, bool) and limit > 0
        self.limit: int | None = limit if is_number else None
        text = listed.description or f"{listed.name}, a tool of the MCP server {server.config.name}"
        if len(text) > _DESCRIPTION:
            text = text[: _DESCRIPTION - 1] + "…"
        schema = dict(listed.input_schema)
        schema["type"] = "object"
        self.definition: Block = {"name": self.name, "description": text, "input_schema": schema}

    async def call(self, input: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Have the server carry out a call."""
        answer = await self.server.ask(self.called, dict(input))
        return result_of(answer, self.limit, context)


class _Server:
    """One server. A task of its own owns the connection, from its start to its end."""

    def __init__(self, config: ServerConfig, sandbox: Sandbox, cwd: str, budgets: Budgets) -> None:
        self.config = config
        self.sandbox = sandbox
        self.cwd = cwd
        self.budgets = budgets
        self.listed: list[mcp_types.Tool] = []
        self.beyond = 0
        self.failure = ""
        self._words = LastWords()
        self._client: Client | None = None
        self._ready = asyncio.Event()
        self._over = asyncio.Event()
        self._owner: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Connect, within the time that a start may take; ``failure`` says why that failed."""
        self._owner = asyncio.create_task(self._own())
        ready = asyncio.create_task(self._ready.wait())
        try:
            await asyncio.wait(
                {self._owner, ready},
                timeout=self.budgets.mcp_start_seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            ready.cancel()
        if not self._ready.is_set() and not self.failure:
            self.failure = f"it was not ready within {self.budgets.mcp_start_seconds:g} s"
            await self.stop()
        if self.failure and str(self._words):
            self.failure += f" ({self._words})"

    async def stop(self) -> None:
        """Let the server end, and see to it that it does."""
        if self._owner is None:
            return
        self._over.set()
        if not self._ready.is_set():
            self._owner.cancel()
        await asyncio.wait({self._owner}, timeout=_END_SECONDS)
        if not self._owner.done():
            self._owner.cancel()
            await asyncio.wait({self._owner})

    async def ask(self, tool: str, arguments: dict[str, Any]) -> mcp_types.CallToolResult:
        """Have a tool carried out.

        Raises:
            ToolError: it could not be done, or not in time, or the server is gone.
        """
        client, owner, name = self._client, self._owner, self.config.name
        if client is None or owner is None or owner.done():
            raise ToolError(self._gone())
        seconds = self.budgets.mcp_call_seconds
        call = asyncio.create_task(client.call_tool(tool, arguments))
        try:
            await asyncio.wait({call, owner}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if call.done():
                return call.result()
        except Exception as error:
            if owner.done() or self._client is None or _is_closed(error):
                raise ToolError(self._gone()) from None
            raise ToolError(f"The MCP server {name} refused the call: {_short(error)}") from None
        finally:
            call.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await call
        if owner.done():
            raise ToolError(self._gone())
        raise ToolError(
            f"The MCP server {name} did not answer within {seconds:g} s. Ask it for less at once."
        )

    def _gone(self) -> str:
        words = str(self._words)
        return (
            f"The MCP server {self.config.name} is not running any more"
            f"{f' ({words})' if words else ''}. Its tools can't be used in this session: go on "
            "without them."
        )

    async def _own(self) -> None:
        """Hold the connection open until it is over."""
        try:
            async with AsyncExitStack() as stack:
                client = await self._connect(stack)
                await self._list(client)
                self._client = client
                self._ready.set()
                await self._over.wait()
        except Exception as error:
            self.failure = self.failure or f"it could not be connected: {_short(error)}"
        finally:
            self._client = None

    async def _connect(self, stack: AsyncExitStack) -> Client:
        import httpx2
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client

        if self.config.url:
            limits = httpx2.Timeout(30.0, read=self.budgets.mcp_call_seconds)
            http = httpx2.AsyncClient(headers=dict(self.config.headers), timeout=limits)
            await stack.enter_async_context(http)
            transport: Any = streamable_http_client(self.config.url, http_client=http)
        else:
            transport = stdio_transport(self.config, self.sandbox, self.cwd, self._words)
        return await stack.enter_async_context(Client(transport, cache=None))

    async def _list(self, client: Client) -> None:
        """Ask for the tools."""
        session: Any = client.session
        session.validate_tool_result = _unchecked
        cursor: str | None = None
        for _ in range(_PAGES):
            page = await client.list_tools(cursor=cursor)
            self.listed += page.tools
            cursor = page.next_cursor
            if not cursor:
                break
        self.listed, self.beyond = self.listed[:_TOOLS], max(len(self.listed) - _TOOLS, 0)


async def _unchecked(*_: object) -> None:
    """In place of a check of results against the server's own schema.

    Its patterns would be matched in our process, and could take for ever.
    """


def _is_closed(error: Exception) -> bool:
    from mcp import MCPError
    from mcp_types import CONNECTION_CLOSED

    return isinstance(error, MCPError) and error.code == CONNECTION_CLOSED


def _short(error: BaseException) -> str:
    """An error in words, without its traceback; of a group, its first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 1_000 else text[:999] + "…"
