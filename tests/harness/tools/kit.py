"""What the tests of tools share: a workspace in a sandbox, and ways to call tools."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from skilleval.harness.sandbox import Mount, Policy, open_sandbox
from skilleval.harness.tools import ToolContext, ToolResult, check_input, standard_tools

TOOLS = {tool.name: tool for tool in standard_tools(agents={"general-purpose": "any task"})}


def make_context(root: Path, kind: str = "auto", **settings: Any) -> ToolContext:
    """A context whose workspace is ``root/work``, with a read-only ``skills`` beside it."""
    for name in ("work", "skills", "outputs"):
        (root / name).mkdir(exist_ok=True)
    mounts = (
        Mount(str(root / "work"), "/workspace", True),
        Mount(str(root / "skills"), "/skills"),
        Mount(str(root / "outputs"), "/outputs"),
    )
    hidden = settings.pop("hidden", ())
    policy = Policy(mounts, hidden=hidden, environment=settings.pop("policy_environment", {}))
    sandbox = open_sandbox(kind, policy)
    return ToolContext(str(root / "work"), sandbox, str(root / "outputs"), **settings)


def call(context: ToolContext, name: str, /, **given: Any) -> ToolResult:
    """Call a tool with arguments that are right; a leading underscore stands for a dash."""
    arguments = {key.replace("_", "-", 1) if key[0] == "_" else key: v for key, v in given.items()}
    tool = TOOLS[name]
    assert check_input(tool.definition, arguments) == ""
    return asyncio.run(tool.run(arguments, context))


def text(result: ToolResult) -> str:
    """The text of a result that was good."""
    assert not result.is_error, result.content
    assert isinstance(result.content, str)
    return result.content


def trouble(result: ToolResult) -> str:
    """The text of a result that was an error."""
    assert result.is_error, result.content
    assert isinstance(result.content, str)
    return result.content
