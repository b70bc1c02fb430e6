"""MCP: servers in the sandbox and over HTTP, their budgets, their failures and their end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from harness.tools.kit import make_context, text, trouble

from skilleval.errors import InputError
from skilleval.harness.tools import (
    Budgets,
    McpServers,
    ServerConfig,
    ToolContext,
    ToolResult,
    check_input,
    read_servers,
)
from skilleval.harness.tools.mcp import connect, tool_name

SMALL = Path(__file__).with_name("mcp_server.py")
Ask = Callable[..., Awaitable[ToolResult]]


def session(
    context: ToolContext, servers: list[ServerConfig], use: Callable[[McpServers, Ask], Any]
) -> Any:
    """Connect servers, use them, and see that nothing of them is left."""

    async def run() -> Any:
        before = set(children())
        connected = McpServers(servers, context.sandbox, context.home, context.budgets)
        async with connected:
            tools = {tool.name: tool for tool in connected.tools}

            async def ask(name: str, **given: Any) -> ToolResult:
                return await tools[f"mcp__small__{name}"].run(given, context)

            answer = await use(connected, ask)
        assert set(children()) <= before
        return answer

    return asyncio.run(run())


def children() -> list[str]:
    """The processes that we have started."""
    tasks = Path("/proc/self/task")
    found: list[str] = []
    for task in tasks.iterdir():
        with contextlib.suppress(OSError):  # a thread that has just ended has none
            found += (task / "children").read_text().split()
    return found


def small(context: ToolContext, **environment: str) -> ServerConfig:
    """The small server, started inside."""
    (Path(context.workspace) / "server.py").write_bytes(SMALL.read_bytes())
    command = ("python3", f"{context.home}/server.py")
    return ServerConfig("small", command, environment)


@pytest.fixture
def url() -> Iterator[str]:
    """The small server over HTTP on loopback."""
    yield from small_over_http()


def small_over_http() -> Iterator[str]:
    """Serve until the next item is asked for."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("small_server", SMALL)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        app = module.server.streamable_http_app()
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="on"))
        thread = threading.Thread(target=lambda: server.run(sockets=[listening]))
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        server.should_exit = True
        thread.join()


def test_a_server_in_the_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "do not tell")
    monkeypatch.setattr("mcp.ClientSession._output_schema_validator", None)  # must not be used
    context = make_context(tmp_path)

    async def use(servers: McpServers, ask: Ask) -> None:
        names = [tool.name for tool in servers.tools]
        assert names == sorted(names) and "mcp__small__add" in names and not servers.failures
        add = next(tool for tool in servers.tools if tool.name == "mcp__small__add")
        assert add.definition["description"] == "Add two numbers." and add.reads_only
        assert "a must be a whole number" in check_input(add.definition, {"a": "x", "b": 1})
        assert text(await ask("add", a=1, b=2)) == "3"
        assert "it went wrong" in trouble(await ask("fail"))
        assert text(await ask("place")) == context.home
        told = text(await ask("environment"))
        assert "GIVEN" in told and "do not tell" not in told
        shown = (await ask("picture")).content
        assert isinstance(shown, list) and shown[0]["type"] == "image"
        assert shown[0]["source"]["media_type"] == "image/png"
        mixed = text(await ask("mixed"))
        assert mixed.startswith("some text\n[an audio (audio/wav) is left out: a model can't see")
        assert mixed.endswith("[Resource file:///notes (notes): what was said]")
        together = await asyncio.gather(*(ask("add", a=n, b=n) for n in range(20)))
        assert [text(each) for each in together] == [str(2 * n) for n in range(20)]
        await budgets(context, ask)

    session(context, [small(context, GIVEN="yes")], use)


async def budgets(context: ToolContext, ask: Ask) -> None:
    plain = text(await ask("long", lines=2_000))
    assert plain.endswith("line 2000")
    warned = text(await ask("long", lines=5_000))
    assert "line 5000\n\n(This result is about 12,223 tokens, over 10,000." in warned
    cut = await ask("long", lines=20_000)
    shown = text(cut)
    body, notice = shown.split("\n\n")
    assert 99_000 < len(body) <= 100_000
    assert "Cut at 25,000 tokens: 208,893 characters, about 52,224 tokens" in notice
    assert cut.full_output in notice and cut.full_output.startswith("/outputs/mcp-")
    kept = Path(context.outputs_folder, os.path.basename(cut.full_output)).read_text()
    assert kept.endswith("line 20000")
    next_line = int(notice.split("offset=")[1].split(",")[0])
    assert body.endswith(f"\nline {next_line - 1}")
    little = await ask("short", lines=100)
    assert "Cut at 200 characters, which the tool states as its most" in text(little)
    assert little.full_output


def test_a_declared_limit_can_be_above_the_budget(tmp_path: Path) -> None:
    from mcp_types import CallToolResult, TextContent

    from skilleval.harness.tools.mcp_results import result_of

    context = make_context(tmp_path)
    answer = CallToolResult(content=[TextContent(text="x" * 400_000)])
    assert result_of(answer, None, context).full_output
    assert not result_of(answer, 500_000, context).full_output
    answer = CallToolResult(content=[TextContent(text="x" * 600_000)])
    assert "Cut at 500,000 characters" in str(result_of(answer, 9_000_000, context).content)
    answer = CallToolResult(content=[], structured_content={"a": 1})
    assert result_of(answer, None, context).content == '{\n "a": 1\n}'
    assert "nothing" in str(result_of(CallToolResult(content=[]), None, context).content)


def test_a_server_over_http(tmp_path: Path, url: str) -> None:
    context = make_context(tmp_path)

    async def use(servers: McpServers, ask: Ask) -> None:
        assert not servers.failures
        assert text(await ask("add", a=1, b=2)) == "3"
        assert "it went wrong" in trouble(await ask("fail"))

    session(context, [ServerConfig("small", url=url, headers={"X-Any": "thing"})], use)


def test_a_server_that_dies(tmp_path: Path) -> None:
    context = make_context(tmp_path)

    async def use(servers: McpServers, ask: Ask) -> None:
        waiting = asyncio.create_task(ask("slow"))
        await asyncio.wait_for(ask("add", a=1, b=1), 20)
        first = trouble(await ask("die"))
        assert "not running any more" in first and "go on without them" in first
        again = trouble(await ask("add", a=1, b=2))
        assert "not running any more" in again and "goodbye" in again and "exit code 7" in again
        assert "not running any more" in trouble(await waiting)

    session(context, [small(context)], use)


def test_a_call_takes_its_time_at_most(tmp_path: Path) -> None:
    context = make_context(tmp_path, budgets=Budgets(mcp_call_seconds=0.2))

    async def use(servers: McpServers, ask: Ask) -> None:
        assert "within 0.2 s" in trouble(await ask("slow"))
        assert text(await ask("add", a=1, b=2)) == "3"

    session(context, [small(context)], use)


def test_servers_that_can_not_be_connected(tmp_path: Path) -> None:
    context = make_context(tmp_path, budgets=Budgets(mcp_start_seconds=0.7))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    servers = [
        ServerConfig("gone", ("no-such-program",)),
        ServerConfig("broken", ("sh", "-c", "echo nonsense; echo trouble >&2; exit 3")),
        ServerConfig("silent", ("sh", "-c", "while read x; do :; done; sleep 60")),
        ServerConfig("stubborn", ("sh", "-c", "trap '' TERM; sleep 60 & sleep 60")),
        ServerConfig("closed", url=closed),
    ]

    async def use(servers: McpServers, ask: Ask) -> dict[str, str]:
        assert not servers.tools
        return servers.failures

    failures = session(context, servers, use)
    assert list(failures) == ["gone", "broken", "silent", "stubborn", "closed"]
    assert "no-such-program" in failures["gone"]
    assert "exit code 3" in failures["broken"] and "trouble" in failures["broken"]
    assert "not ready within 0.7 s" in failures["silent"]
    assert "could not be connected" in failures["closed"]


def test_a_server_over_http_that_goes_away(tmp_path: Path) -> None:
    context = make_context(tmp_path, budgets=Budgets(mcp_call_seconds=5))
    serving = small_over_http()

    async def use(servers: McpServers, ask: Ask) -> None:
        assert text(await ask("add", a=1, b=2)) == "3"
        await asyncio.to_thread(next, serving, None)
        assert "MCP server small" in trouble(await ask("add", a=1, b=2))

    session(context, [ServerConfig("small", url=next(serving))], use)


def test_all_servers_or_none(tmp_path: Path) -> None:
    context = make_context(tmp_path)
    good = {"command": "python3", "args": [small(context).command[1]]}
    bad = {"command": "${NAME}", "args": ["-c", "exit 3"]}

    async def names(**servers: object) -> list[str]:
        given = {"NAME": "sh"}
        async with connect(servers, context.sandbox, context.budgets, given) as tools:
            return [tool.name for tool in tools]

    before = set(children())
    assert "mcp__small__add" in asyncio.run(names(small=good))
    with pytest.raises(InputError, match=r"MCP server bad: .*exit code 3"):
        asyncio.run(names(small=good, bad=bad))
    assert set(children()) <= before


def test_names() -> None:
    assert tool_name("git hub", "list/issues") == "mcp__git_hub__list_issues"
    long = tool_name("a" * 60, "b" * 60)
    assert len(long) == 64 and long != tool_name("a" * 60, "b" * 61)


def test_settings() -> None:
    content = {
        "mcpServers": {
            "one": {"command": "run", "args": ["${A}", "${B:-b}"], "env": {"K": "x${A}"}},
            "two": {"type": "http", "url": "https://${A}/mcp", "headers": {"Auth": "${A}"}},
        }
    }
    one, two = read_servers(content, {"A": "a"})
    assert one == ServerConfig("one", ("run", "a", "b"), {"K": "xa"})
    assert two == ServerConfig("two", url="https://a/mcp", headers={"Auth": "a"})


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ([], "mcpServers"),
        ({"mcpServers": {"a": 1}}, "a: an object"),
        ({"mcpServers": {"a": {}}}, "command"),
        ({"mcpServers": {"a": {"command": "x", "args": "y"}}}, "args"),
        ({"mcpServers": {"a": {"command": "x", "env": {"y": 1}}}}, "env"),
        ({"mcpServers": {"a": {"command": "${HOME}"}}}, "HOME is not set"),
        ({"mcpServers": {"a": {"type": "sse", "url": "http://x"}}}, "'sse'"),
        ({"mcpServers": {"a": {"url": "file:///x"}}}, "http://"),
    ],
)
def test_settings_that_make_no_sense(content: object, wrong: str) -> None:
    with pytest.raises(InputError, match=wrong):
        read_servers(content, {})
