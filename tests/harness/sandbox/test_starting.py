"""One process starts all commands, and one thread sees them through: they stay apart."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest
from harness.sandbox.kit import ALL, act, alive, kinds, marked, opened, settled, shell, until

from skilleval.harness.sandbox.overseer import Ears, Steps, oversee


def starter() -> int:
    """The process that starts commands: a child of this one that runs the launcher's code."""
    children = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    found = {int(word) for each in children for word in each.read_text().split()}
    lines = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in found}
    return next(pid for pid, line in lines.items() if b"launcher" in line)


@kinds(*ALL)
def test_commands_go_on_when_what_starts_them_was_killed(kind: str, tmp_path: Path) -> None:
    sandbox = opened(kind, tmp_path)
    mark = marked()
    cwd = sandbox.policy.mounts[0].inside

    async def work() -> None:
        running = asyncio.ensure_future(sandbox.run(["sleep", mark], cwd=cwd, timeout=60))
        assert await settled(lambda: any(_is_sleep(pid) for pid in alive(mark)))
        os.kill(starter(), signal.SIGKILL)
        assert (await running).exit_code == 137

    act(work())
    assert until(lambda: not alive(mark)), alive(mark)
    assert shell(sandbox, "echo again").output == b"again\n"


def _is_sleep(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"sleep")
    except OSError:
        return False


@kinds(*ALL)
def test_command_that_can_not_be_executed_does_not_stop_others(kind: str, tmp_path: Path) -> None:
    sandbox = opened(kind, tmp_path)
    cwd = sandbox.policy.mounts[0].inside

    async def work() -> None:
        long = sandbox.run(["echo", "x" * 300_000], cwd=cwd, timeout=20)
        lines = [sandbox.run(["echo", str(n)], cwd=cwd, timeout=20) for n in range(20)]
        refused, *done = await asyncio.gather(long, *lines)
        assert refused.exit_code == 126 and b"Argument list too long" in refused.output
        assert [each.output for each in done] == [b"%d\n" % n for n in range(20)]

    act(work())


@kinds(*ALL)
def test_descriptors_keep_their_numbers(kind: str, tmp_path: Path) -> None:
    sandbox = opened(kind, tmp_path)
    (tmp_path / "file").write_text("content")
    handles = [os.open(tmp_path / "file", os.O_RDONLY) for _ in range(40)]
    passed = [handles[0], handles[-1]]
    try:
        line = f"cat <&{passed[0]}; for n in {' '.join(map(str, handles))}; do "
        line += "{ true <&$n; } 2>/dev/null && echo $n; done"
        done = shell(sandbox, line, pass_fds=passed)
    finally:
        for each in handles:
            os.close(each)
    assert done.output.decode() == "content" + "".join(f"{n}\n" for n in passed)


def test_work_that_fails_stops_no_other() -> None:
    async def work() -> None:
        def fails(ears: Ears) -> Steps[None]:
            yield 0.0
            raise ValueError("broken")

        def waits(ears: Ears) -> Steps[str]:
            for _ in range(3):
                yield 0.0  # the same time again and again
            return "done"

        failed, done = oversee(fails), oversee(waits)
        with pytest.raises(ValueError, match="broken"):
            await failed
        assert await asyncio.wait_for(done, 20) == "done"

    act(work())


def test_listening_that_fails_ends_its_work_only() -> None:
    read, write = os.pipe()

    def listens(ears: Ears) -> Steps[None]:
        ears.on(read, lambda: int("no number"))
        try:
            yield float("inf")
        finally:
            ears.off(read)

    async def work() -> None:
        listening = oversee(listens)
        os.write(write, b"x")
        with pytest.raises(ValueError, match="no number"):
            await asyncio.wait_for(listening, 20)

    try:
        act(work())
    finally:
        os.close(read)
        os.close(write)
