"""Sandboxes without namespaces: Landlock with a filter of system calls, and none at all.

Both run a command under ``launcher.py``, which finds and ends what it leaves behind.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import time
import weakref
from collections.abc import Iterable, Iterator

from skilleval.errors import InputError, Unmeasured
from skilleval.harness.sandbox import ruleset, seccomp
from skilleval.harness.sandbox.confined import Confined, Order, Start
from skilleval.harness.sandbox.launcher import LAUNCHER_PID, LEFT, READY, SERVER_PID
from skilleval.harness.sandbox.machine import is_in, private, shown
from skilleval.harness.sandbox.nursery import tell, words_for
from skilleval.harness.sandbox.overseer import Ears, Steps
from skilleval.harness.sandbox.policy import Policy
from skilleval.harness.sandbox.watch import BLIND, hard_limits

__all__ = ["Landlock", "Unconfined", "problem"]

_KNOWLEDGE = ("cpuinfo", "filesystems", "loadavg", "meminfo", "stat", "sys", "uptime", "version")
"""What may be read in /proc: nothing of a process, since other people's are there, too."""
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_BLIND = "this kernel does not say which processes a process has started"
_PATIENCE = 12.0
"""Seconds for the launcher to end what it has started."""


@functools.cache
def problem() -> str:
    """Why Landlock can't be used here; empty if it can."""
    if BLIND:
        return _BLIND
    if ruleset.version() == 0:
        return "this kernel does not have it, or a container does not allow it"
    if ruleset.version() < ruleset.MINIMUM:
        return f"version {ruleset.version()} of its interface can't protect files from being cut"
    if not seccomp.SUPPORTED:
        return "system calls can be filtered on x86-64 and AArch64 only"
    try:
        os.close(ruleset.build(["/usr"], ["/dev/null"], network=False))
    except OSError as error:
        return f"{error.strerror}"
    return ""


class _Launched(Confined):
    """Commands that the launcher runs."""

    restrict = False
    filter = b""
    ruleset = -1

    def prepare(self, order: Order) -> Start:
        """How the command is started."""
        notes = os.memfd_create("skilleval")
        status = os.dup(notes)
        limits = hard_limits(self.policy.limits, others=_all_threads())
        orders = {
            "words": list(order.words),
            "cwd": order.cwd,
            "environment": dict(order.environment),
            "fds": list(order.pass_fds),
            "limits": limits,
            "restrict": self.restrict,
            "ruleset": self.ruleset,
            "filter": self.filter,
            "parent": os.getpid(),
            "status": status,
        }
        told = tell(orders)
        inherit = (status, *order.pass_fds, *([self.ruleset] if self.restrict else []), told)
        return Start(words_for(told), inherit, [status, told], notes, _Tree, forked=True)


class Landlock(_Launched):
    """Commands that Landlock keeps from files and a filter keeps from everything else."""

    name = "landlock"
    restrict = True

    def __init__(self, policy: Policy) -> None:
        """Put the rules together.

        Raises:
            InputError: Landlock can't be used here, or can't do what the policy asks for.
        """
        if problem():
            raise InputError(
                f"Landlock does not work here: {problem()}",
                remedy="It needs Linux 6.2 or newer; otherwise install bubblewrap.",
            )
        super().__init__(policy, maps=False)
        self.gaps = tuple(_gaps(policy.network))
        look, change = self._reach()
        try:
            self.ruleset = ruleset.build(look, change, network=policy.network)
        except OSError as error:
            raise InputError(f"Landlock: {error.filename}: {error.strerror}") from None
        weakref.finalize(self, os.close, self.ruleset)
        guarded: tuple[int, ...] = ()
        if ruleset.version() < ruleset.SIGNALS:
            guarded = (os.getpid(), os.getpgrp(), LAUNCHER_PID, SERVER_PID)
        self.filter = seccomp.program(
            seccomp.strict_filter(network=policy.network, guarded=guarded)
        )

    def _reach(self) -> tuple[list[str], list[str]]:
        hidden = (*self.policy.hidden, *(private() if os.geteuid() == 0 else ()))
        look = list(shown().folders(self.policy.hidden))
        change = [path for path in _DEVICES if os.path.exists(path)]
        for mount in self.policy.mounts:
            if not mount.writable:
                look.append(mount.host)
            elif any(is_in(path, mount.host) for path in hidden):
                raise InputError(
                    f"{mount.host}: Landlock can't hide what lies in a folder that is written to",
                    remedy="Keep it somewhere else, or choose --sandbox bubblewrap.",
                )
            else:
                change.append(mount.host)
        if self.policy.network:
            look.append(os.path.realpath("/etc/resolv.conf"))
        look += [f"/proc/{name}" for name in _KNOWLEDGE]
        parts = (part for path in look for part in _without(os.path.realpath(path), hidden))
        return [part for part in dict.fromkeys(parts) if os.path.exists(part)], change


class Unconfined(_Launched):
    """Commands that nothing keeps from anything, but the limits."""

    name = "none"
    gaps = (
        "nothing is isolated: commands can read and change all that you can, and use the network",
        "a process that ends the one that watches over it can outlive the command",
    )

    def __init__(self, policy: Policy) -> None:
        """Check the policy.

        Raises:
            InputError: it makes no sense, or processes can't be found here.
        """
        if BLIND:
            raise InputError(f"commands can't be run here: {_BLIND}")
        super().__init__(policy, maps=False)


def _without(path: str, hidden: Iterable[str]) -> Iterator[str]:
    """A path that may be read, in parts where something in it may not."""
    within = [each for each in hidden if is_in(each, path)]
    if not within:
        yield path
    elif path not in within:
        with os.scandir(path) as entries:
            for entry in entries:
                if not entry.is_symlink():
                    yield from _without(entry.path, within)


def _all_threads() -> int:
    """How many there are on this machine: the kernel counts all of a user's."""
    try:
        with open("/proc/loadavg", "rb") as file:
            return int(file.read().split()[3].partition(b"/")[2])
    except (OSError, ValueError, IndexError):
        return 4096


class _Tree:
    """The launcher and everything below it."""

    def __init__(self, pid: int, notes: int) -> None:
        """Know the tree by the launcher's process, and by what that notes down."""
        self._pid = pid
        self._notes = notes
        self._since = 0.0

    def kill(self) -> None:
        """Tell the launcher to end everything; if that is of no use, end it as well."""
        now = time.monotonic()
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            if not self._since:
                self._since = now
                os.kill(self._pid, signal.SIGTERM)
            elif now > self._since + _PATIENCE:
                os.kill(self._pid, signal.SIGKILL)

    def wait(self, ears: Ears, seconds: float) -> Steps[None]:
        """The launcher has ended, and has waited for the others before."""
        yield from ()
        said = os.pread(self._notes, 4096, 0)
        os.close(self._notes)
        if LEFT in said:
            raise Unmeasured("processes of a command in the sandbox can't be killed")
        if READY not in said and not self._since:
            reason = said.decode("utf-8", "replace") or "it did not start"
            raise Unmeasured(f"the sandbox could not be set up: {reason}")


def _gaps(network: bool) -> list[str]:
    found = [
        "paths are not mapped: the workspace is seen where it is on this machine",
        "whether a file exists, its size and its times can be asked for by its path",
        "permissions and times of your own files can be changed (chmod, touch), their content not",
        "a process has no view of itself in /proc, and there is no shared memory in /dev/shm",
        "disk space: each file has a size limit, but not all of them together",
        "memory of files that are in memory only (memfd) is not counted",
        "processes and memory are counted every 50 ms: what bursts can use more for that long",
    ]
    if ruleset.version() < ruleset.SIGNALS:
        found.append("other processes of yours can be sent signals, but not skilleval itself")
    if network:
        found.append("the network is open, services of this machine on local addresses included")
    return found
