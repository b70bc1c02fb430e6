"""Tries to get out of a sandbox, here and now: what ``skilleval doctor`` shows.

The tests know many more ways; these are the ones that a user can follow.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from skilleval.harness.sandbox import (
    WORKSPACE,
    Finished,
    Limits,
    Mount,
    Policy,
    Sandbox,
    open_sandbox,
)

__all__ = ["Findings", "Outcome", "probe"]

_TIGHT = Limits(cpu_seconds=1, memory_bytes=80 << 20, processes=40, file_bytes=5 << 20)
_SECRET_VARIABLE = "SKILLEVAL_DOCTOR_SECRET"  # noqa: S105 - its name


class Outcome(NamedTuple):
    """What became of one attempt.

    Attributes:
        name: what was tried.
        held: the sandbox stopped it.
        promised: this kind of sandbox has to stop it.
    """

    name: str
    held: bool
    promised: bool


class _Attempt(NamedTuple):
    """A line of bash, and how to see from outside whether it got through."""

    name: str
    line: str
    through: Callable[[Finished], bool]
    seconds: float = 10
    tight: bool = False
    always: bool = False


class Findings(NamedTuple):
    """The sandbox that it was, what it can't stop, and what became of the attempts."""

    name: str
    gaps: tuple[str, ...]
    outcomes: list[Outcome]


def probe(kind: str) -> Findings:
    """Try everything in a sandbox of a kind; takes about two seconds.

    Raises:
        InputError: this kind does not work here.
        Unmeasured: it broke.
    """
    with contextlib.ExitStack() as closing:
        stage = _Stage(closing)
        mounts = (Mount(str(stage.workspace), WORKSPACE, writable=True),)
        policy = Policy(mounts, hidden=(str(stage.secret.parent),))
        loose = open_sandbox(kind, policy)
        tight = open_sandbox(kind, replace(policy, limits=_TIGHT))
        attempts = [*stage.reaching(), *stage.using()]
        results = asyncio.run(_try_all(loose, tight, attempts))
        outcomes = [
            Outcome(attempt.name, not attempt.through(done), attempt.always or loose.name != "none")
            for attempt, done in zip(attempts, results, strict=True)
        ]
        return Findings(loose.name, loose.gaps, outcomes)


async def _try_all(loose: Sandbox, tight: Sandbox, attempts: Sequence[_Attempt]) -> list[Finished]:
    def run(attempt: _Attempt) -> Coroutine[Any, Any, Finished]:
        sandbox = tight if attempt.tight else loose
        cwd = sandbox.policy.mounts[0].inside
        return sandbox.run(["bash", "-c", attempt.line], cwd=cwd, timeout=attempt.seconds)

    return await asyncio.gather(*map(run, attempts))


class _Stage:
    """What the attempts go for: a secret, two listeners, a folder and a victim."""

    def __init__(self, closing: contextlib.ExitStack) -> None:
        folder = Path(
            closing.enter_context(tempfile.TemporaryDirectory(prefix="skilleval-doctor-"))
        )
        self.token = uuid.uuid4().hex
        self.mark = f"{uuid.uuid4().int % 10**6 + 10**6}.{uuid.uuid4().int % 10**9}"
        self.workspace, self.outside = folder / "workspace", folder / "outside"
        self.secret = folder / "hidden" / "secret"
        for each in (self.workspace, self.outside, self.secret.parent):
            each.mkdir()
        self.secret.write_text(self.token)
        self.tcp = closing.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.udp = closing.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self.udp.bind(("127.0.0.1", 0))
        self.udp.setblocking(False)
        self.victim = subprocess.Popen(["sleep", "600"], start_new_session=True)
        closing.callback(self.victim.wait)
        closing.callback(self.victim.kill)
        closing.enter_context(_variable(_SECRET_VARIABLE, self.token))

    def reaching(self) -> Iterator[_Attempt]:
        """Attempts to reach what is outside."""
        tcp, udp = self.tcp.getsockname()[1], self.udp.getsockname()[1]
        yield _Attempt("connect by TCP", f"exec 3<>/dev/tcp/127.0.0.1/{tcp} && echo OUT", _says_out)
        yield _Attempt("send by UDP", f"echo x >/dev/udp/127.0.0.1/{udp}", self._received)
        new = self.outside / "new"
        yield _Attempt("write outside", f"echo x >'{new}'", lambda _: new.exists())
        yield _Attempt(
            "write through a link",
            f"ln -s '{self.outside}' link && echo x >link/linked",
            lambda _: (self.outside / "linked").exists(),
        )
        yield _Attempt("read a hidden file", f"cat '{self.secret}'", self._says_token)
        through = f"/proc/{os.getpid()}/root{self.secret}"
        yield _Attempt("read it through /proc", f"cat '{through}'", self._says_token)
        yield _Attempt("read a variable", "env; export -p", self._says_token, always=True)
        environ = f"/proc/{os.getpid()}/environ"
        yield _Attempt(
            "read variables by /proc", f"cat {environ} >/dev/null && echo OUT", _says_out
        )
        yield _Attempt("signal skilleval", f"kill -0 {os.getpid()} && echo OUT", _says_out)
        yield _Attempt(
            "kill a process", f"kill -9 {self.victim.pid}", lambda _: self.victim.poll() is not None
        )

    def using(self) -> Iterator[_Attempt]:
        """Attempts to use too much, or to stay."""
        stay = f"(sleep {self.mark} &); (trap '' TERM HUP; sleep {self.mark}) & disown"
        yield _Attempt("outlive the command", stay, self._survived, always=True)
        yield _Attempt(
            "outlive the time-out", f"{stay}; trap '' TERM; wait", self._survived, 0.5, always=True
        )
        yield _Attempt(
            "use too much memory",
            "x=$(head -c 200000000 /dev/zero | tr '\\0' x); [ ${#x} = 200000000 ] && echo OUT",
            _says_out, tight=True, always=True,
        )  # fmt: skip
        yield _Attempt(
            "start too many processes",
            "for i in {1..120}; do sleep 20 & done; sleep 0.5; echo OUT",
            _says_out, tight=True, always=True,
        )  # fmt: skip
        yield _Attempt(
            "write too long a file",
            "head -c 20000000 /dev/zero >big; [ $(wc -c <big) -gt 5242880 ] && echo OUT",
            _says_out, tight=True, always=True,
        )  # fmt: skip
        yield _Attempt(
            "use too much processor time", "while :; do :; done",
            lambda done: done.killed_by != "cpu", tight=True, always=True,
        )  # fmt: skip

    def _says_token(self, done: Finished) -> bool:
        return self.token.encode() in done.output

    def _received(self, _: Finished) -> bool:
        with contextlib.suppress(BlockingIOError):
            return bool(self.udp.recv(99))
        return False

    def _survived(self, _: Finished) -> bool:
        for process in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if self.mark.encode() in process.read_bytes().split(b"\0"):
                    return True
        return False


def _says_out(done: Finished) -> bool:
    return b"OUT" in done.output.split()


@contextlib.contextmanager
def _variable(name: str, value: str) -> Iterator[None]:
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
