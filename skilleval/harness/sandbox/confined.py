"""What all sandboxes have in common: paths, variables, a folder of their own, and running."""

from __future__ import annotations

import asyncio
import contextlib
import os
import posixpath
import shutil
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from skilleval.errors import InputError, Unmeasured
from skilleval.harness.sandbox.machine import own_folder, shown
from skilleval.harness.sandbox.nursery import Child, begin
from skilleval.harness.sandbox.output import Output
from skilleval.harness.sandbox.overseer import Ears, Steps, oversee
from skilleval.harness.sandbox.places import TMP, Places, resolve
from skilleval.harness.sandbox.policy import MAX_OUTPUT, Finished, Mount, Policy
from skilleval.harness.sandbox.supervise import Pipes, Tree, Watcher

__all__ = ["Confined", "Order", "Start"]

_KILLED = 128 + 9
_NOT_RUN = 126
_BY_SIGNAL = {128 + 24: "cpu", 128 + 25: "file size"}
"""Exit codes that tell which of the kernel's own limits ended a command."""
_LINE = 1 << 24
"""Bytes of the longest line that can be read from a command that goes on."""
_T = TypeVar("_T")


class Order(NamedTuple):
    """A command as a mechanism has to start it.

    Attributes:
        words: the command.
        cwd: where, as seen inside.
        environment: all variables that it gets.
        pass_fds: descriptors that it gets.
        piped: something will be written to its standard input.
    """

    words: Sequence[str]
    cwd: str
    environment: Mapping[str, str]
    pass_fds: Sequence[int] = ()
    piped: bool = False


@dataclass
class Start:
    """How a mechanism starts a command.

    Attributes:
        words: what to execute, without any variables.
        inherit: descriptors that it gets.
        own: those of them that are to be closed here afterwards.
        notes: a file in memory that what is started notes things in.
        tree: makes it a tree of processes, from its process id and the notes, which it closes.
        ready: what the output starts with when the sandbox is set up; it then waits for a line
            on standard input, so that nothing runs unless somebody watches. Empty: it does not.
        forked: a launcher can be forked in place of executing the words.
    """

    words: list[str]
    inherit: tuple[int, ...]
    own: list[int]
    notes: int
    tree: Callable[[int, int], Tree]
    ready: bytes = b""
    forked: bool = False


class Confined(ABC):
    """A sandbox; see ``Sandbox`` for what its methods promise."""

    name: str
    gaps: tuple[str, ...] = ()

    def __init__(self, policy: Policy, *, maps: bool) -> None:
        """Check the policy, and make a folder for /tmp where none is mounted there.

        Args:
            policy: what is asked for.
            maps: the mechanism can show a folder at another path.

        Raises:
            InputError: the policy makes no sense.
        """
        own = next((m for m in policy.mounts if posixpath.normpath(m.inside) == TMP), None)
        if own and not own.writable:
            raise InputError("what is mounted at /tmp of a sandbox has to be writable")
        policy = resolve(policy, maps=maps)
        _check_texts(*policy.environment, *policy.environment.values())
        self.folder = tempfile.mkdtemp(dir=own_folder())
        weakref.finalize(self, _remove, self.folder)
        if own:
            tmp = os.path.realpath(own.host)
        else:
            tmp = os.path.realpath(self.folder)
            mount = Mount(tmp, TMP if maps else tmp, writable=True)
            policy = replace(policy, mounts=(*policy.mounts, mount))
        home = os.path.join(tmp, "home")
        os.makedirs(home, exist_ok=True)
        self.policy = policy
        self._places = Places(policy.mounts)
        self.environment = {
            "PATH": shown().path,
            "HOME": self.inside(home),
            "LANG": "C.UTF-8",
            "TMPDIR": self.inside(tmp),
            **policy.environment,
        }
        self._going: weakref.WeakKeyDictionary[asyncio.subprocess.Process, _Going] = (
            weakref.WeakKeyDictionary()
        )

    @abstractmethod
    def prepare(self, order: Order) -> Start:
        """How the command is started."""

    def inside(self, host_path: str) -> str:
        """The path that a file of this machine has inside."""
        return self._places.inside(host_path)

    def outside(self, inside_path: str) -> str | None:
        """The path on this machine of a file in a mount; None for anything else."""
        return self._places.outside(inside_path)

    async def run(
        self,
        words: Sequence[str],
        *,
        cwd: str,
        timeout: float,
        stdin: bytes = b"",
        max_output: int = MAX_OUTPUT,
        environment: Mapping[str, str] | None = None,
        output_file: str | None = None,
        pass_fds: Sequence[int] = (),
    ) -> Finished:
        """Run a command to its end; nothing that it started is alive afterwards."""
        order = self._order(words, cwd, environment, pass_fds, piped=bool(stdin))
        limits = self.policy.limits
        output = Output(max_output, output_file, limits.file_bytes)
        seconds = min(timeout, limits.wall_seconds)
        stop = os.eventfd(0, os.EFD_CLOEXEC)
        try:
            work = oversee(lambda e: self._see_through(order, stdin, output, seconds, stop, e))
            return await _to_its_end(work, stop)
        finally:
            output.close()
            os.close(stop)

    async def start(
        self, words: Sequence[str], *, cwd: str, environment: Mapping[str, str] | None = None
    ) -> asyncio.subprocess.Process:
        """Start a command that goes on, with pipes to its three standard streams."""
        start = self.prepare(self._order(words, cwd, environment, (), piped=True))
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *start.words, stdin=pipe, stdout=pipe, stderr=pipe, limit=_LINE,
                pass_fds=start.inherit, env={}, cwd="/", start_new_session=True,
            )  # fmt: skip
        except BaseException:
            os.close(start.notes)
            raise
        finally:
            _close(start.own)
        stop = os.eventfd(0, os.EFD_CLOEXEC)
        pid, limits = process.pid, self.policy.limits
        tree = start.tree(pid, start.notes)

        def follow(ears: Ears) -> Steps[None]:
            yield from Watcher(pid, tree, stop, limits, ears).follow(float("inf"))

        self._going[process] = _Going(oversee(follow), stop)
        try:
            await _wait_until_ready(process, start.ready)
        except BaseException:
            await self.stop(process)
            raise
        return process

    async def stop(self, process: asyncio.subprocess.Process) -> int:
        """Kill what ``start`` gave, with everything that it started, and wait for the end."""
        going = self._going.pop(process, None)
        if going:
            os.eventfd_write(going.stop, 1)
            try:
                await _to_its_end(going.work, going.stop)
            finally:
                os.close(going.stop)
        code = await process.wait()
        process._transport.close()  # type: ignore[attr-defined]  # its pipes have no other name
        await asyncio.sleep(0)
        return code if code >= 0 else 128 - code

    def _order(
        self,
        words: Sequence[str],
        cwd: str,
        environment: Mapping[str, str] | None,
        pass_fds: Sequence[int],
        *,
        piped: bool,
    ) -> Order:
        variables = {**self.environment, **(environment or {})}
        _check_texts(cwd, *words, *variables, *variables.values())
        if not words or any("=" in name or not name for name in variables):
            raise InputError("a command in a sandbox needs words, and variables need names")
        where = self.outside(cwd)
        if where is not None and not os.path.isdir(where):
            raise InputError(f"{cwd}: there is no such folder in the sandbox")
        return Order(words, posixpath.normpath(cwd), variables, pass_fds, piped)

    def _see_through(
        self, order: Order, stdin: bytes, output: Output, seconds: float, stop: int, ears: Ears
    ) -> Steps[Finished]:
        limits = self.policy.limits
        start = self.prepare(order)
        try:
            process, pipes = _spawn(start, stdin, limits.file_bytes)
        except OSError as error:  # too long for the kernel
            os.close(start.notes)
            message = f"skilleval: can't run {order.words[0][:100]}: {error.strerror}\n"
            return Finished(_NOT_RUN, message.encode("utf-8", "replace"))
        try:
            tree = start.tree(process.pid, start.notes)
            watcher = Watcher(process.pid, tree, stop, limits, ears)
            pipes.connect(watcher, output, ears)
            yield from watcher.follow(seconds)
            yield from pipes.drain(1)
        finally:
            pipes.close()
        code = process.wait()
        code = _KILLED if watcher.reason else code if code >= 0 else 128 - code
        if pipes.ready and not watcher.reason:
            said = pipes.early.decode("utf-8", "replace").strip()
            raise Unmeasured(f"the sandbox could not be set up: {said or 'it said nothing'}")
        kept = output.data()
        return Finished(
            code,
            kept,
            timed_out=watcher.reason == "time",
            killed_by=watcher.reason or _BY_SIGNAL.get(code, ""),
            dropped=output.total - len(kept),
            unwritten=output.unwritten,
        )


class _Going(NamedTuple):
    """A command that goes on: the watch over it, and what tells that to end it."""

    work: asyncio.Future[None]
    stop: int


def _spawn(start: Start, stdin: bytes, most: int) -> tuple[Child, Pipes]:
    with contextlib.ExitStack() as theirs:
        theirs.callback(_close, start.own)
        read, out = os.pipe()
        theirs.callback(os.close, out)
        streams, write = {1: out, 2: out}, -1
        if stdin or start.ready:
            streams[0], write = os.pipe()
            theirs.callback(os.close, streams[0])
        try:
            child = begin(streams, start.inherit, None if start.forked else start.words)
        except BaseException:
            _close([read] if write < 0 else [read, write])
            raise
        return child, Pipes(read, write, stdin=stdin, ready=start.ready, most=most)


def _remove(folder: str) -> None:
    """Remove a folder, also what a command has locked in it."""
    for parent, names, _ in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            with contextlib.suppress(OSError):
                if not os.path.islink(path):
                    os.chmod(path, 0o700)
    shutil.rmtree(folder, ignore_errors=True)


def _close(handles: list[int]) -> None:
    while handles:
        os.close(handles.pop())


def _check_texts(*texts: str) -> None:
    if any("\0" in text for text in texts):
        raise InputError("no word, variable or path of a sandbox may hold a NUL")


async def _wait_until_ready(process: asyncio.subprocess.Process, ready: bytes) -> None:
    if not ready:
        return
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    if not (stdin and stdout and stderr):
        raise Unmeasured("the sandbox has no pipes")
    try:
        await stdout.readuntil(ready)
    except asyncio.IncompleteReadError:
        said = (await stderr.read()).decode("utf-8", "replace").strip()
        raise Unmeasured(f"the sandbox could not be set up: {said}") from None
    stdin.write(b"\n")


async def _to_its_end(work: asyncio.Future[_T], stop: int) -> _T:
    """Wait for a command; where the waiting is cancelled, tell it to stop and wait all the same."""
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError as error:
            cancelled = error
            os.eventfd_write(stop, 1)
    if cancelled:
        work.exception()  # it was looked at: asyncio need not complain
        raise cancelled
    return work.result()
