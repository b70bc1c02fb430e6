"""Running the commands that a skill wants to have run while it is loaded."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable

from skilleval.harness.calls import allowed_input
from skilleval.harness.session import Session

__all__ = ["preamble_runner"]


def preamble_runner(session: Session) -> Callable[[str], Awaitable[str | None]]:
    """A function that runs such a command as if the model had called Bash.

    It needs the same permission and runs in the same sandbox; None says that it was refused.
    """

    async def run(command: str) -> str | None:
        call = {
            "id": f"preamble_{uuid.uuid4().hex[:12]}",
            "name": "Bash",
            "input": {"command": command},
        }
        given = await allowed_input(session, call)
        if given is None:
            return None
        context = session.context
        done = await context.sandbox.run(
            ["bash", "-c", str(given["command"])],
            cwd=context.cwd,
            timeout=context.budgets.bash_timeout_ms / 1000,
            max_output=context.budgets.bash_characters,
            environment=context.environment,
        )
        text = done.output.decode("utf-8", "replace")
        if done.exit_code:
            text += f"\n[the command ended with exit code {done.exit_code}]"
        return text

    return run
