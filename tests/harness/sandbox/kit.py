"""What the tests of the sandbox share: opening one, running in it, and counting processes."""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from skilleval.harness.sandbox import (
    WORKSPACE,
    Finished,
    Limits,
    Mount,
    Policy,
    Sandbox,
    bubblewrap,
    launched,
    open_sandbox,
)

CONFINED = ("bubblewrap", "landlock")
ALL = (*CONFINED, "none")
T = TypeVar("T")


def missing(kind: str) -> str:
    """Why a kind of sandbox can't be tested here; empty if it can."""
    if kind == "bubblewrap":
        return bubblewrap.problem()
    return launched.problem() if kind == "landlock" else ""


def need(kind: str) -> None:
    """Skip the test where a kind of sandbox does not work."""
    if missing(kind):
        pytest.skip(f"no {kind} here: {missing(kind)}")


def kinds(*names: str) -> pytest.MarkDecorator:
    """Run a test with several kinds of sandbox."""
    return pytest.mark.parametrize("kind", names)


def opened(kind: str, workspace: Path, **policy: Any) -> Sandbox:
    """A sandbox with a workspace; skips the test where it does not work."""
    need(kind)
    mounts = (Mount(str(workspace), WORKSPACE, writable=True), *policy.pop("mounts", ()))
    return open_sandbox(kind, Policy(mounts, **policy))


def shell(sandbox: Sandbox, line: str, *, timeout: float = 20, **more: Any) -> Finished:
    """Run a line of bash in the workspace."""
    cwd = sandbox.policy.mounts[0].inside
    return asyncio.run(sandbox.run(["bash", "-c", line], cwd=cwd, timeout=timeout, **more))


def marked() -> str:
    """A number of seconds for ``sleep`` that no other process has: a name for a process."""
    return f"{int(uuid.uuid4()) % 10**6 + 10**6}.{int(uuid.uuid4()) % 10**9}"


def alive(mark: str) -> list[int]:
    """The processes of this machine whose command line holds a text."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            line = Path("/proc", name, "cmdline").read_bytes()
            state = Path("/proc", name, "stat").read_bytes().rpartition(b")")[2].split()[0]
        except OSError:
            continue
        if mark.encode() in line and state not in (b"Z", b"X"):
            found.append(int(name))
    return found


def until(condition: Callable[[], bool], seconds: float = 10) -> bool:
    """Wait for something that another process does; whether it came."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


async def settled(condition: Callable[[], bool], seconds: float = 10) -> bool:
    """The same without holding up the event loop."""
    return await asyncio.to_thread(until, condition, seconds)


def act(work: Coroutine[Any, Any, T]) -> T:
    """Run something asynchronous."""
    return asyncio.run(work)


__all__ = [
    "ALL", "CONFINED", "Limits", "act", "alive", "kinds", "marked", "missing", "need", "opened",
    "settled", "shell", "until",
]  # fmt: skip
