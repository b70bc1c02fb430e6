"""Bash: a command in a shell inside the sandbox."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from skilleval.harness.tools.background import TooMany
from skilleval.harness.tools.base import Block, Tool, ToolContext, ToolError, ToolResult
from skilleval.harness.tools.budgets import DEFAULT, Budgets
from skilleval.harness.tools.outputs import Kept, ends_of, new_output
from skilleval.harness.tools.registry import tool
from skilleval.harness.tools.write import encoded

if TYPE_CHECKING:
    from skilleval.harness.sandbox.policy import Finished

__all__ = ["Bash"]

_LONGEST_COMMAND = 100_000
"""Bytes; the operating system takes 128 KiB in one word."""
_LONGEST_PATH = 4_096
_SHOWN_PATH = 300
_WIDEST = 4
"""Bytes that a character of the output may take."""


@tool
class Bash(Tool):
    """Runs a command."""

    name = "Bash"

    def __init__(self, budgets: Budgets = DEFAULT) -> None:
        """Define the tool, with the budgets that it names."""
        self.definition = _definition(budgets)

    async def call(self, input: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Run a command."""
        _check(input, context)
        notices = _home_again(context)
        if input.get("run_in_background"):
            return await _in_background(input["command"], notices, context)
        milliseconds = input.get("timeout", context.budgets.bash_timeout_ms)
        kept = new_output("bash", context)
        reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            done = await context.sandbox.run(
                ["bash", "-c", f"trap 'pwd -P >&{writer}' EXIT; {input['command']}"],
                cwd=context.cwd,
                timeout=milliseconds / 1000,
                max_output=context.budgets.bash_characters * _WIDEST,
                environment=context.environment,
                output_file=kept.host,
                pass_fds=(writer,),
            )
            os.close(writer)
            writer = -1
            notices += _follow(_reported(reader), context)
        finally:
            os.close(reader)
            if writer >= 0:
                os.close(writer)
        return _result(done, kept, milliseconds, notices, context)


def _definition(budgets: Budgets) -> Block:
    return {
        "name": "Bash",
        "description": "Run a command in a shell.\n"
        "The working directory is kept from call to call, other things of the shell are not. "
        "Output and errors come back together. To read, change and find files use Read, Edit, "
        "Glob and Grep.",
        "input_schema": {
            "type": "object",
            "properties": {
                "command": {"type": "string", "minLength": 1, "description": "the command"},
                "timeout": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "milliseconds after which it is stopped, with all that it "
                    f"started; {budgets.bash_timeout_ms} unless given, "
                    f"{budgets.bash_longest_ms} at most",
                },
                "description": {
                    "type": "string",
                    "description": "what it does, in five to ten words",
                },
                "run_in_background": {
                    "type": "boolean",
                    "description": "go on at once while it runs; off unless the user allowed it",
                },
            },
            "required": ["command"],
            "additionalProperties": False,
            "examples": [{"command": "python3 -m pytest -q", "description": "Run the tests"}],
        },
    }


def _check(input: Mapping[str, Any], context: ToolContext) -> None:
    """Refuse what can't be run, before anything is."""
    budgets, size = context.budgets, len(input["command"].encode("utf-8", "replace"))
    if input.get("run_in_background") and context.background is None:
        raise ToolError(
            "Commands in the background are off here. Leave run_in_background out; if the command "
            f"takes long, set timeout (milliseconds, {budgets.bash_longest_ms} at most)."
        )
    if input.get("timeout", 0) > budgets.bash_longest_ms:
        raise ToolError(
            f"timeout is {input['timeout']} ms; {budgets.bash_longest_ms} ms is the most. "
            "Split the work into commands that take less time."
        )
    if size > _LONGEST_COMMAND:
        raise ToolError(
            f"command is {size:,} bytes; {_LONGEST_COMMAND:,} is the most. Put the text into a "
            "file with Write, and run or use that."
        )
    if "\0" in input["command"]:
        raise ToolError("command holds a NUL character, which no shell takes. Leave it out.")
    encoded(input["command"], "command")


async def _in_background(command: str, notices: list[str], context: ToolContext) -> ToolResult:
    """Start a command, and say where its output goes."""
    background = context.background
    assert background is not None  # noqa: S101 - it was checked
    try:
        path = await background.start(command, context)
    except TooMany:
        raise ToolError(
            f"{background.most} commands run in the background, and that is the most. Wait until "
            "one has ended, or run this one in the foreground."
        ) from None
    told = f"Started. Read its output in {path}; its last line is the exit code once it has ended."
    return ToolResult("\n".join([told, *notices]), full_output=path, facts={"background": True})


def _home_again(context: ToolContext) -> list[str]:
    """Go back to the workspace where the working directory is gone."""
    if _is_folder(context.cwd, context):
        return []
    gone, context.cwd = context.cwd, context.home
    return [f"(The working directory {gone} is gone; this ran in {context.cwd}.)"]


def _reported(reader: int) -> str:
    """What the shell said of its last working directory."""
    with suppress(BlockingIOError):
        data = os.read(reader, _LONGEST_PATH + 1)
        return data.decode("utf-8", "surrogateescape").removesuffix("\n")
    return ""


def _follow(folder: str, context: ToolContext) -> list[str]:
    """Go where the command went, if the next one can start there."""
    if not folder or folder == context.cwd:
        return []
    if folder.startswith("/") and _is_folder(folder, context):
        context.cwd = folder
        return []
    context.cwd = context.home
    named = folder[:_SHOWN_PATH].encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return [
        f"(The command ended in {named}, where nothing is kept. "
        f"The working directory is {context.cwd} again.)"
    ]


def _is_folder(path: str, context: ToolContext) -> bool:
    try:
        with context.tree.spot(path) as spot:
            os.close(spot.list())
    except OSError:
        return False
    return True


def _result(
    done: Finished, kept: Kept, milliseconds: int, notices: list[str], context: ToolContext
) -> ToolResult:
    """What a command printed, as much as fits, and how it ended."""
    limit = context.budgets.bash_characters
    text = done.output.decode("utf-8", "replace")
    size = len(done.output) + done.dropped
    facts: dict[str, Any] = {"exit_code": done.exit_code, "bytes": size, "cwd": context.cwd}
    full = ""
    if len(text) > limit or done.dropped:
        full = kept.inside
        text = _shortened(size, done, kept, context)
        facts |= {"shown": limit, "total": size}
    else:
        os.unlink(kept.host)
    failed = done.exit_code != 0 or done.timed_out
    start = [] if not failed else [_ending(done, milliseconds, context)]
    body = text.rstrip("\n")
    parts = [*start, *([body] if body else []), *notices]
    if not parts:
        parts = ["(It printed nothing.)"]
    if done.killed_by:
        facts["killed_by"] = done.killed_by
    return ToolResult("\n".join(parts), is_error=failed, full_output=full, facts=facts)


def _shortened(size: int, done: Finished, kept: Kept, context: ToolContext) -> str:
    """The start and the end of an output, from the file that has all of it."""
    head, tail = ends_of(kept, context.budgets.bash_characters)
    lost = size - len(head.encode("utf-8", "replace")) - len(tail.encode("utf-8", "replace"))
    beyond = f" (its first {size - done.unwritten:,} bytes)" if done.unwritten else ""
    notice = (
        f"[{lost:,} of {size:,} bytes are cut here: Bash shows "
        f"{context.budgets.bash_characters:,} characters. Read all of it{beyond} in {kept.inside}, "
        f"from here with offset={head.count(chr(10)) + 1}, or use Grep on it.]"
    )
    return f"{head.rstrip(chr(10))}\n\n{notice}\n\n{tail}"


def _ending(done: Finished, milliseconds: int, context: ToolContext) -> str:
    """How a command ended that did not end well."""
    limits = context.sandbox.policy.limits
    match done.killed_by:
        case "memory":
            return f"Killed: it used more than {limits.memory_bytes:,} bytes of memory."
        case "cpu":
            return f"Killed: it used more than {limits.cpu_seconds:,} s of processor time."
        case "file size" | "output":
            return f"Killed: it wrote more than {limits.file_bytes:,} bytes."
        case "processes":
            return f"Killed: it started more than {limits.processes:,} processes at once."
    if done.timed_out:
        return (
            f"Stopped, with all that it started: it took longer than {milliseconds:,} ms. Set "
            f"timeout higher ({context.budgets.bash_longest_ms:,} at most), or let it do less."
        )
    return f"Exit code {done.exit_code}"
