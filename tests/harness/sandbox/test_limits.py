"""Limits hold, for one process and for many, and nothing is alive when a command has ended."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from harness.sandbox.kit import (
    ALL,
    Limits,
    act,
    alive,
    kinds,
    marked,
    need,
    opened,
    settled,
    shell,
    until,
)

MIB = 1 << 20
SMALL = Limits(cpu_seconds=1, memory_bytes=200 * MIB, processes=60, file_bytes=20 * MIB)


def python(code: str) -> str:
    """A line of bash that runs a Python program."""
    assert "'" not in code
    return f"exec python3 -I -S -c '{code}'"


THREADS = """
import threading, time
threading.stack_size(65536)
for _ in range(300): threading.Thread(target=time.sleep, args=(30,)).start()
"""
MANY_EATERS = """
import os, time
for _ in range(4):
    if os.fork() == 0:
        x = bytearray(80 << 20)
        time.sleep(30)
time.sleep(30)
"""
SHARED_EATER = """
import mmap, time
m = mmap.mmap(-1, 400 << 20)
for at in range(0, len(m), 4096): m[at] = 1
time.sleep(30)
"""
SHARERS = """
import os, time
x = bytearray(100 << 20)
for _ in range(5):
    if os.fork() == 0:
        time.sleep(0.4)
        os._exit(0)
for _ in range(5): os.wait()
print("fine")
"""
FORK_BOMB = "f() { sleep 30 & [ $1 -lt 9 ] && { f $(($1+1)) & f $(($1+1)) & }; wait; }; f 0"
HUNGRY = {
    "fork bomb": (FORK_BOMB, "processes"),
    "threads": (python(THREADS), "processes"),
    "memory in many processes": (python(MANY_EATERS), "memory"),
    "shared memory": (python(SHARED_EATER), "memory"),
    "processor time": (python("while True: pass"), "cpu"),
    "processor time of many": ("for i in 1 2 3; do while :; do :; done & done; wait", "cpu"),
    "output": ("yes", "output"),
    "output to stderr": ("yes >&2", "output"),
}
"""What takes too much of something, and the limit that ends it. Nothing here grows for ever."""


@kinds(*ALL)
@pytest.mark.parametrize("what", HUNGRY)
def test_command_that_wants_too_much_is_killed(kind: str, what: str, tmp_path: Path) -> None:
    line, limit = HUNGRY[what]
    began = time.monotonic()
    done = shell(opened(kind, tmp_path, limits=SMALL), line, timeout=25)
    assert done.killed_by == limit, (done.exit_code, done.output[-300:])
    assert done.exit_code > 128 and not done.timed_out
    assert time.monotonic() - began < 15


@kinds(*ALL)
def test_one_process_can_not_have_more_memory_than_there_is(kind: str, tmp_path: Path) -> None:
    line = python('try: x = bytearray(400 << 20)\nexcept MemoryError: print("no")')
    done = shell(opened(kind, tmp_path, limits=SMALL), line)
    assert done.output == b"no\n"


@kinds(*ALL)
def test_file_ends_at_its_limit(kind: str, tmp_path: Path) -> None:
    done = shell(opened(kind, tmp_path, limits=SMALL), "exec head -c 50000000 /dev/zero >big")
    assert done.killed_by == "file size"
    assert (tmp_path / "big").stat().st_size == SMALL.file_bytes


def test_shared_memory_files_are_bounded(tmp_path: Path) -> None:
    sandbox = opened("bubblewrap", tmp_path)
    done = shell(sandbox, "head -c 400000000 /dev/zero >/dev/shm/x; stat -c %s /dev/shm/x")
    assert b"No space left" in done.output
    assert int(done.output.split()[-1]) <= 256 * MIB


@kinds(*ALL)
def test_limits_leave_room(kind: str, tmp_path: Path) -> None:
    """What stays below is not disturbed: processes that come and go do not add up."""
    line = "for i in $(seq 200); do /bin/true; done; for i in $(seq 30); do sleep 0.3 & done; "
    line += "wait; echo fine"
    done = shell(opened(kind, tmp_path, limits=SMALL), line)
    assert (done.exit_code, done.output) == (0, b"fine\n")


@kinds(*ALL)
def test_shared_pages_count_once(kind: str, tmp_path: Path) -> None:
    done = shell(opened(kind, tmp_path, limits=SMALL), python(SHARERS))
    assert (done.exit_code, done.output) == (0, b"fine\n")


SURVIVORS = {
    "background": "sleep {} & disown",
    "nohup": "nohup sleep {} >/dev/null 2>&1 &",
    "new session": "setsid sleep {} & setsid -f sleep {}",
    "ignores signals": "(trap '' TERM INT HUP QUIT; exec setsid -f sleep {})",
    "double fork": "( ( exec 0<&- 1>&- 2>&- 3>&-; setsid -f sleep {} ) & ) &",
    "stopped": "sleep {} & kill -STOP $!",
    "many": "for i in $(seq 25); do setsid -f sleep {}; done",
    "forking": "for i in 1 2 3 4 5; do setsid -f bash -c '"
    "while :; do setsid -f sleep 0.01; (exec -a x{} true) & done'; done",
    "no pipe": "setsid -f sleep {} >/dev/null 2>&1 </dev/null",
}  # fmt: skip


@kinds(*ALL)
@pytest.mark.parametrize("what", SURVIVORS)
def test_nothing_outlives_a_command(kind: str, what: str, tmp_path: Path) -> None:
    mark = marked()
    sandbox = opened(kind, tmp_path, limits=Limits(processes=200))
    done = shell(sandbox, SURVIVORS[what].replace("{}", mark) + "\necho done", timeout=15)
    assert not alive(mark)
    assert done.output.endswith(b"done\n") or done.killed_by == "processes"


@kinds(*ALL)
def test_nothing_outlives_its_time(kind: str, tmp_path: Path) -> None:
    sandbox = opened(kind, tmp_path, limits=Limits(processes=2000))
    cwd = sandbox.policy.mounts[0].inside
    marks = {what: marked() for what in SURVIVORS}

    async def one(what: str) -> None:
        mark = marks[what]
        line = SURVIVORS[what].replace("{}", mark)
        line += f"\ntrap '' TERM; echo on; while :; do sleep {mark}; done"
        done = await sandbox.run(["bash", "-c", line], cwd=cwd, timeout=1)
        assert not alive(mark), what
        assert (done.timed_out, done.killed_by, done.exit_code) == (True, "time", 137), what
        assert b"on" in done.output, what

    async def work() -> None:
        await asyncio.gather(*map(one, SURVIVORS))

    began = time.monotonic()
    act(work())
    assert time.monotonic() - began < 10


@kinds(*ALL)
def test_wall_limit_of_the_policy_holds_for_long_timeouts(kind: str, tmp_path: Path) -> None:
    sandbox = opened(kind, tmp_path, limits=Limits(wall_seconds=0.3))
    assert shell(sandbox, "sleep 30", timeout=100).timed_out


@kinds(*ALL)
def test_cancelled_command_is_dead(kind: str, tmp_path: Path) -> None:
    mark = marked()
    sandbox = opened(kind, tmp_path)
    cwd = sandbox.policy.mounts[0].inside

    async def work() -> None:
        line = f"setsid -f sleep {mark}; trap '' TERM; sleep {mark}"
        running = asyncio.ensure_future(sandbox.run(["bash", "-c", line], cwd=cwd, timeout=60))
        assert await settled(lambda: len(alive(mark)) >= 2)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert not alive(mark)

    act(work())


@kinds(*ALL)
@pytest.mark.parametrize("delay", [0, 0.002, 0.005, 0.008, 0.012, 0.02, 0.03])
def test_cancelled_at_any_time(kind: str, delay: float, tmp_path: Path) -> None:
    """Also while the sandbox is being set up."""
    mark = marked()
    sandbox = opened(kind, tmp_path)
    cwd = sandbox.policy.mounts[0].inside

    async def work() -> None:
        running = asyncio.ensure_future(sandbox.run(["sleep", mark], cwd=cwd, timeout=60))
        await asyncio.sleep(delay)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    act(work())
    assert not alive(mark)


HARNESS = """
import asyncio, sys
from skilleval.harness.sandbox import Mount, Policy, open_sandbox
sandbox = open_sandbox(sys.argv[1], Policy((Mount(sys.argv[2], "/workspace", True),)))
cwd = sandbox.policy.mounts[0].inside
mark = sys.argv[3]
line = f"setsid -f sleep {mark}; trap '' TERM; sleep {mark}; sleep {mark}"
async def work():
    one = sandbox.run(["bash", "-c", line], cwd=cwd, timeout=60)
    await asyncio.gather(one, sandbox.start(["sleep", mark], cwd=cwd))
    await asyncio.sleep(60)
print("here", flush=True)
asyncio.run(work())
"""


def harness(kind: str, workspace: Path, mark: str) -> subprocess.Popen[bytes]:
    need(kind)
    process = subprocess.Popen(
        [sys.executable, "-c", HARNESS, kind, str(workspace), mark],
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(workspace)},  # what it can't remove any more
    )
    assert process.stdout and process.stdout.readline() == b"here\n"
    return process


def dies(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.stdout
    process.stdout.close()


@kinds(*ALL)
def test_killed_harness_leaves_nothing(kind: str, tmp_path: Path) -> None:
    mark = marked()
    process = harness(kind, tmp_path, mark)
    assert until(lambda: len(alive(mark)) >= 4)
    dies(process)
    assert until(lambda: not alive(mark)), alive(mark)


@kinds(*ALL)
def test_harness_killed_while_it_sets_up_leaves_nothing(kind: str, tmp_path: Path) -> None:
    for tenth in range(5):
        mark = marked()
        process = harness(kind, tmp_path, mark)
        time.sleep(tenth * 0.005)
        dies(process)
        assert until(lambda mark=mark: not _begun(mark)), (tenth, alive(mark))  # type: ignore[misc]
        for never_begun in alive(mark):
            os.kill(never_begun, signal.SIGKILL)


def _begun(mark: str) -> list[int]:
    """The processes that are left, but for one that has not begun and never will.

    If bubblewrap's first process dies before it has told its second one to go on, the second
    waits for that word for ever: it is not yet bound to its parent's life. It holds nothing
    but a place in the process table.
    """
    return [pid for pid in alive(mark) if not _waits_for_ever(pid)]


def _waits_for_ever(pid: int) -> bool:
    try:
        program = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return False
    return program == "bwrap" and parent == 1 and not children


@kinds("landlock", "none")
def test_launcher_that_is_killed_is_noticed(kind: str, tmp_path: Path) -> None:
    """Nothing inside may be able to; should it happen, the command does not count."""
    sandbox = opened(kind, tmp_path)
    mark = marked()
    cwd = sandbox.policy.mounts[0].inside

    async def work() -> None:
        running = asyncio.ensure_future(sandbox.run(["sleep", mark], cwd=cwd, timeout=60))
        assert await settled(lambda: bool(alive(mark)))
        command = next(
            p for p in alive(mark) if b"launcher" not in Path(f"/proc/{p}/cmdline").read_bytes()
        )
        parent = int(Path(f"/proc/{command}/stat").read_text().rpartition(")")[2].split()[1])
        assert parent != os.getpid()
        os.kill(parent, signal.SIGKILL)
        assert (await running).exit_code == 137
        assert not alive(mark)

    act(work())
