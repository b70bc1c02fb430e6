"""Commands in the background: allowed on request, bounded, and gone with the session."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from harness.tools.kit import TOOLS, make_context, text, trouble

from skilleval.harness.tools import Background, Budgets, ToolContext, ToolResult


async def bash(context: ToolContext, command: str, **given: Any) -> ToolResult:
    return await TOOLS["Bash"].run({"command": command, **given}, context)


def output(context: ToolContext, result: ToolResult) -> str:
    return Path(context.outputs_folder, os.path.basename(result.full_output)).read_text()


def test_a_command_goes_on_and_says_how_it_ended(tmp_path: Path) -> None:
    async def run() -> None:
        async with Background() as context.background:
            command = "echo one; read x <go; echo two >&2; exit 3"
            started = await bash(context, command, run_in_background=True)
            assert "/outputs/background-0001.txt" in text(started)
            await bash(context, "echo now >go")
            while "exit code" not in output(context, started):
                await asyncio.sleep(0)
            assert output(context, started) == "one\ntwo\n\n[ended with exit code 3]\n"

    context = make_context(tmp_path)
    os.mkfifo(tmp_path / "work/go")
    asyncio.run(run())


def test_what_still_runs_is_ended_with_the_session(tmp_path: Path) -> None:
    async def run() -> ToolResult:
        async with Background(most=1) as context.background:
            started = await bash(context, "sleep 60 & sleep 60", run_in_background=True)
            said = trouble(await bash(context, "true", run_in_background=True))
            assert "1 commands run in the background" in said
            return started

    context = make_context(tmp_path)
    assert "exit code 137" in output(context, asyncio.run(run()))


def test_output_is_bounded(tmp_path: Path) -> None:
    async def run() -> None:
        async with Background() as context.background:
            started = await bash(context, "printf 1234567890", run_in_background=True)
            while "exit code" not in output(context, started):
                await asyncio.sleep(0)
            kept = "1234\n[6 bytes more are not kept; ended with exit code 0]\n"
            assert output(context, started) == kept

    context = make_context(tmp_path, budgets=Budgets(output_bytes=4))
    asyncio.run(run())
