"""bubblewrap: namespaces of its own for every command, and a file tree that was put together.

The tree holds the folders of the system read-only, what the policy mounts, and nothing else.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable
from typing import NamedTuple

from skilleval.errors import InputError, Unmeasured
from skilleval.harness.sandbox.confined import Confined, Order, Start
from skilleval.harness.sandbox.machine import ROOTS, is_in, own_folder, private, shown
from skilleval.harness.sandbox.overseer import Ears, Steps
from skilleval.harness.sandbox.policy import Limits, Policy
from skilleval.harness.sandbox.seccomp import SUPPORTED, network_filter, program
from skilleval.harness.sandbox.watch import BLIND, hard_limits

__all__ = ["Bubblewrap", "problem", "version"]

READY = b"\1"
_USER = "1000"
_SHARED_MEMORY = 256 << 20
"""Bytes of /dev/shm."""
_PROBE_SECONDS = 20
_REMEDY = (
    "Install bubblewrap and allow user namespaces (on Ubuntu 24.04: sysctl "
    "kernel.apparmor_restrict_unprivileged_userns=0; in a container: --security-opt "
    "seccomp=unconfined), or choose --sandbox landlock."
)
_SCRIPT = r"""printf '\001'
read -r _ || exit 125
ulimit -c 0 && ulimit -f {blocks} && ulimit -d {kibibytes} || exit 125
ulimit -S -t {soft} && ulimit -H -t {hard} || exit 125
ulimit -u {processes} 2>/dev/null || ulimit -p {processes} || exit 125
cd -P -- "$1" || exit 126
shift
exec "$@" {stdin}
"""
"""The first process inside. It says that it is there and waits for us to be there: bubblewrap ties
its first process to ours only once all is set up, and were we killed before, the command would
run without anybody to end it. The limits come from the shell, since a limit on processes
counts those of the user namespace only if it is set inside."""


@functools.cache
def version() -> str:
    """The version of the bubblewrap on PATH; empty if there is none."""
    program = _program()
    if not program:
        return ""
    done = subprocess.run([program, "--version"], capture_output=True, check=False)
    return done.stdout.decode("utf-8", "replace").split()[-1] if done.returncode == 0 else ""


@functools.cache
def problem() -> str:
    """Why bubblewrap can't be used here; empty if a try with all namespaces went well."""
    program = _program()
    if not program:
        return "there is no bwrap on PATH"
    tree = ("--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp")  # noqa: S108
    words = [program, *_NAMESPACES, "--unshare-net", *tree, "--", "/bin/sh", "-c", "exit 0"]
    try:
        done = subprocess.run(
            words,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    said = done.stderr.decode("utf-8", "replace").strip().removeprefix("bwrap: ")
    return (said or f"it ends with {done.returncode}") if done.returncode else ""


def _program() -> str:
    return shutil.which("bwrap") or ""


class Bubblewrap(Confined):
    """Commands in namespaces of their own."""

    name = "bubblewrap"

    def __init__(self, policy: Policy) -> None:
        """Work out the file tree.

        Raises:
            InputError: bubblewrap can't be used here, or the policy makes no sense.
        """
        if problem():
            raise InputError(f"bubblewrap does not work here: {problem()}", remedy=_REMEDY)
        super().__init__(policy, maps=True)
        self.gaps = tuple(_gaps(policy.network))
        self._tree = _file_tree(self.policy)

    def prepare(self, order: Order) -> Start:
        """How the command is started."""
        options = [*_NAMESPACES, *([] if self.policy.network else ["--unshare-net"]), *self._tree]
        for name, value in order.environment.items():
            options += ["--setenv", name, value]
        return _start(options, self.policy.limits, order, network_filter() if SUPPORTED else None)


_NAMESPACES = (
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
    "--uid", _USER, "--gid", _USER, "--hostname", "sandbox", "--cap-drop", "ALL",
    "--die-with-parent", "--new-session", "--chdir", "/",
)  # fmt: skip


def _start(
    options: list[str], limits: Limits, order: Order, steps: list[tuple[int, int, int, int]] | None
) -> Start:
    notes = _in_memory(b"")
    own = [os.dup(notes)]
    options = [*options, "--info-fd", str(own[0])]
    if steps is not None:
        own.append(_in_memory(program(steps)))
        options += ["--seccomp", str(own[-1])]
    own.append(_in_memory(b"".join(os.fsencode(word) + b"\0" for word in options)))
    hard = hard_limits(limits)
    script = _SCRIPT.format(
        blocks=hard["RLIMIT_FSIZE"][1] // 512,
        kibibytes=hard["RLIMIT_DATA"][1] // 1024,
        soft=hard["RLIMIT_CPU"][0],
        hard=hard["RLIMIT_CPU"][1],
        processes=hard["RLIMIT_NPROC"][1],
        stdin="" if order.piped else "</dev/null",
    )
    words = [_program(), "--args", str(own[-1]), "--", "/bin/sh", "-c", script, "skilleval"]
    words += [order.cwd, *order.words]
    inherit = (*own, *order.pass_fds)
    return Start(words, inherit, own, notes, _Tree, READY)


def _in_memory(data: bytes) -> int:
    """A descriptor to read the data from: on the command line everybody could read it."""
    handle = os.memfd_create("skilleval")
    os.write(handle, data)
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


class _Tree:
    """bubblewrap, and the namespace that it watches: its first process is the life of all."""

    def __init__(self, pid: int, notes: int) -> None:
        """Know the tree by bubblewrap's process, and by what that notes of the first inside."""
        self._pid = pid
        self._notes = notes
        self._since = 0.0

    def kill(self) -> None:
        """Kill the first process: the kernel kills all others before it is gone."""
        self._since = self._since or time.monotonic()
        first = self._first()
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            if first >= 0:
                signal.pidfd_send_signal(first, signal.SIGKILL)
            elif time.monotonic() > self._since + 1:
                os.kill(self._pid, signal.SIGKILL)
        if first >= 0:
            os.close(first)

    def wait(self, ears: Ears, seconds: float) -> Steps[None]:
        """Wait until the namespace is empty."""
        first = self._first()
        os.close(self._notes)
        if first < 0:
            return
        ended: list[bool] = []
        ears.on(first, lambda: ended.append(True))
        deadline = time.monotonic() + seconds
        try:
            while not ended:
                if time.monotonic() > deadline:
                    raise Unmeasured("processes of a command in the sandbox can't be killed")
                yield deadline
        finally:
            ears.off(first)
            os.close(first)

    def _first(self) -> int:
        """A descriptor of the first process; negative if there is none yet, or no longer."""
        text, whole, _ = os.pread(self._notes, 4096, 0).partition(b"}")
        try:
            return os.pidfd_open(json.loads(text + whole)["child-pid"]) if whole else -1
        except ProcessLookupError:
            return -1


class _Seen(NamedTuple):
    """Something that is shown inside."""

    path: str
    host: str
    writable: bool


def _file_tree(policy: Policy) -> list[str]:
    """The options that put the file tree together: what lies deeper comes later, and wins."""
    hidden = (*policy.hidden, *_private())
    steps, last = _system(policy.hidden, policy.network)
    steps, last = list(steps), list(last)
    for mount in policy.mounts:
        entry = _Seen(mount.inside, mount.host, mount.writable)
        steps.append((entry.path, _shows(entry)))
        _hide(hidden, [(entry, entry.host)], steps, last)
    steps.sort(key=lambda step: step[0].count("/"))
    return [
        *(word for _, words in steps for word in words),
        *_account(),
        *("--proc", "/proc", "--dev", "/dev", "--dir", "/run", "--dir", "/var"),
        *("--size", str(_SHARED_MEMORY), "--perms", "1777", "--tmpfs", "/dev/shm"),  # noqa: S108
        # root outside is root for /proc/sys, whoever it is inside and without any capability
        *("--remount-ro", "/proc", "--remount-ro", "/dev", *last, "--remount-ro", "/"),
    ]


_Step = tuple[str, list[str]]
"""A path inside, and the options that put something there."""


@functools.lru_cache(maxsize=64)
def _system(hidden: tuple[str, ...], network: bool) -> tuple[list[_Step], list[str]]:
    """What is the same for all trials of a process: the system, without what is hidden of it.

    Returns:
        The steps, and the options that come last.
    """
    seen = _seen(hidden, network)
    steps = [(entry.path, _shows(entry)) for entry in seen]
    last: list[str] = []
    places = [(entry, os.path.realpath(entry.host)) for entry in seen]
    _hide((*hidden, *_private()), places, steps, last)
    return steps, last


def _hide(
    hidden: Iterable[str], places: list[tuple[_Seen, str]], steps: list[_Step], last: list[str]
) -> None:
    """Add what covers hidden files and folders, wherever they could be seen."""
    for each in hidden:
        for path in _names(each, places):
            if os.path.isdir(each):
                steps.append((path, ["--tmpfs", path]))
                last += ["--remount-ro", path]
            else:
                steps.append((path, ["--ro-bind", "/dev/null", path]))


def _private() -> tuple[str, ...]:
    return private() if os.geteuid() == 0 else ()


def _seen(hidden: tuple[str, ...], network: bool) -> list[_Seen]:
    found = [_Seen(folder, folder, False) for folder in shown().folders(hidden)]
    names = os.path.realpath("/etc/resolv.conf")
    if network and os.path.exists(names) and not any(is_in(names, f.path) for f in found):
        found.append(_Seen(names, names, False))
    return found


def _shows(entry: _Seen) -> list[str]:
    if entry.path == entry.host and os.path.islink(entry.host) and entry.path in ROOTS:
        return ["--symlink", os.readlink(entry.host), entry.path]
    return ["--bind" if entry.writable else "--ro-bind", entry.host, entry.path]


def _names(hidden: str, places: list[tuple[_Seen, str]]) -> set[str]:
    """Every path inside at which something hidden could be seen."""
    found = set()
    for entry, host in places:
        if is_in(hidden, host) and not (entry.path in ROOTS and os.path.islink(entry.path)):
            found.add(os.path.normpath(os.path.join(entry.path, os.path.relpath(hidden, host))))
    return found


def _account() -> list[str]:
    """The user that commands run as, so that it has a name, in place of those of this machine."""
    words = []
    for path in _account_files(own_folder()):
        words += ["--ro-bind", path, f"/etc/{os.path.basename(path)}"]
    return words


@functools.cache
def _account_files(folder: str) -> list[str]:
    """Files for all trials, which can only read them."""
    files = {
        "passwd": f"user:x:{_USER}:{_USER}::/tmp/home:/bin/sh\n",
        "group": f"user:x:{_USER}:\n",
    }
    found = []
    for name, text in files.items():
        if os.path.exists(f"/etc/{name}"):
            found.append(os.path.join(folder, name))
            with open(found[-1], "w", encoding="ascii") as file:
                file.write(text)
    return found


def _gaps(network: bool) -> list[str]:
    found = [
        "disk space: each file has a size limit, but not all of them together",
        "memory of files that are in memory only (memfd) is not counted",
        "processes and memory are counted every 50 ms: what bursts can use more for that long",
    ]
    if not SUPPORTED:
        found.append("system calls are filtered on x86-64 and AArch64 only: VSOCK is open here")
    if BLIND:
        found.append(
            "this kernel does not list what a process starts: only single ones have limits"
        )
    if network:
        found.append("the network is open, services of this machine on local addresses included")
    return found
