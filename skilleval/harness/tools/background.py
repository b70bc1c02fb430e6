"""Commands that go on while the model does other things, where the user allows them."""

from __future__ import annotations

import asyncio
import os
from asyncio.subprocess import Process
from types import TracebackType
from typing import TYPE_CHECKING

from skilleval.harness.tools.outputs import Kept, new_output

if TYPE_CHECKING:
    from skilleval.harness.sandbox.policy import Sandbox
    from skilleval.harness.tools.base import ToolContext

__all__ = ["Background", "TooMany"]

_PIECE = 65_536


class TooMany(Exception):
    """As many commands as may run at once do."""


class Background:
    """The commands of a session that run in the background; ``async with`` ends them all."""

    def __init__(self, most: int = 4) -> None:
        """Allow so many at once."""
        self.most = most
        self._running: dict[asyncio.Task[None], tuple[Sandbox, Process]] = {}

    async def __aenter__(self) -> Background:
        """Nothing runs yet."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End all that still run, with all that they started."""
        running = list(self._running.items())
        stopping = (sandbox.stop(process) for _, (sandbox, process) in running)
        await asyncio.gather(*stopping)
        await asyncio.gather(*(task for task, _ in running))

    async def start(self, command: str, context: ToolContext) -> str:
        """Start a command.

        Returns:
            The path inside of the file that its output goes to, and at last its exit code.

        Raises:
            TooMany: it would be one too many.
        """
        if len(self._running) >= self.most:
            raise TooMany
        sandbox, kept = context.sandbox, new_output("background", context)
        words = ["bash", "-c", f"exec 2>&1; {command}"]
        process = await sandbox.start(words, cwd=context.cwd, environment=context.environment)
        if process.stdin:
            process.stdin.close()
        limit = context.budgets.output_bytes
        task = asyncio.create_task(self._follow(sandbox, process, kept, limit))
        self._running[task] = (sandbox, process)
        task.add_done_callback(self._running.pop)
        return kept.inside

    async def _follow(self, sandbox: Sandbox, process: Process, kept: Kept, limit: int) -> None:
        """Write what a command prints into its file, up to a limit, and how it ended."""
        handle = os.open(kept.host, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with open(handle, "wb", buffering=0) as file:
            while process.stdout and (piece := await process.stdout.read(_PIECE)):
                file.write(piece[: max(limit, 0)])
                limit -= len(piece)
            code = await sandbox.stop(process)
            cut = f"{-limit:,} bytes more are not kept; " if limit < 0 else ""
            file.write(f"\n[{cut}ended with exit code {code}]\n".encode())
