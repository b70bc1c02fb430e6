"""A filter of system calls, built by hand: what namespaces and Landlock leave open.

A classic BPF program for ``PR_SET_SECCOMP``, for x86-64 and AArch64. It allows everything but
what is listed here, so that programs run as usual.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

__all__ = ["SUPPORTED", "network_filter", "program", "strict_filter"]

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO = 0x7FFF_0000, 0x0005_0000
_CLONE_NEWUSER = 0x1000_0000
_X32 = 0x4000_0000
"""From this number on, x86-64 has its calls a second time, for another ABI."""
UNIX, INET, INET6, NETLINK = 1, 2, 10, 16


class _Machine(NamedTuple):
    audit: int
    column: int


_MACHINES = {"x86_64": _Machine(0xC000_003E, 0), "aarch64": _Machine(0xC000_00B7, 1)}
SUPPORTED = platform.machine() in _MACHINES
"""Whether a filter can be built for this machine."""

_CALLS = {
    "socket": (41, 198),
    "clone": (56, 220),
    "clone3": (435, 435),
    "unshare": (272, 97),
    "setns": (308, 268),
    "io_uring_setup": (425, 425),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_open": (434, 434),
    "prlimit64": (302, 261),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "setxattrat": (463, 463),
    "removexattrat": (466, 466),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
}
"""Numbers on x86-64 and on AArch64."""
_KERNEL = ("bpf", "perf_event_open", "userfaultfd", "add_key", "request_key", "keyctl")
"""Of no use to a command, outside of namespaces, and often a way into the kernel."""
_SIGNALS = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_open")
_OTHERS = (
    "prlimit64",
    "sched_setaffinity",
    "sched_setattr",
    "sched_setparam",
    "sched_setscheduler",
)
"""Calls that change the process that is named first; zero is the caller."""
_PRIORITIES = {"setpriority": 2, "ioprio_set": 3}
"""Calls that say first whom they name next, with the number for all processes of a user."""
_LABELS = ("setxattr", "lsetxattr", "removexattr", "lremovexattr", "setxattrat", "removexattrat")
_SHARED = ("shmget", "msgget", "semget", "mq_open")

_Step = tuple[int, int, int, int]


def network_filter() -> list[_Step]:
    """For a sandbox with namespaces: sockets that know none of them, and nested ones.

    A network namespace does not hold VSOCK (to the host of a virtual machine) or the kernel's
    own families; io_uring could open what ``socket`` must not.
    """
    return _common((UNIX, INET, INET6, NETLINK))


def strict_filter(*, network: bool, guarded: Sequence[int]) -> list[_Step]:
    """For a process in the namespaces of this machine: no other process, no shared memory.

    Args:
        network: allow sockets of IPv4 and IPv6; without it there are no sockets at all, and
            with it none to services of this machine (UNIX).
        guarded: processes that can't be signalled, nor can their groups, nor all at once.
    """
    steps = _common((INET, INET6, NETLINK) if network else ())
    for name in _OTHERS:
        steps += _unless(name, 0, (0,), errno.EPERM)
    for name, user in _PRIORITIES.items():
        whom = [_argument(0), (_EQUAL, 0, 1, user), _refuse(errno.EPERM)]
        steps += _call(name, [*whom, _argument(1), (_EQUAL, 1, 0, 0), _refuse(errno.EPERM)])
    if guarded:
        aims = {-1, *guarded, *(-pid for pid in guarded)}
        for name in _SIGNALS:
            steps += _if(name, 0, aims, errno.EPERM)
    steps += _never(_LABELS, errno.ENOTSUP)
    return steps + _never(_SHARED, errno.EACCES)


def program(steps: Iterable[_Step]) -> bytes:
    """The filter as the kernel reads it; a call of another ABI does not exist."""
    machine = _MACHINES[platform.machine()]
    start: list[_Step] = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, machine.audit),
        _refuse(errno.ENOSYS),
        (_LOAD, 0, 0, 0),
        (_AT_LEAST, 0, 1, _X32),
        _refuse(errno.ENOSYS),
    ]
    whole = [*start, *steps, (_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("<HBBI", *step) for step in whole)


def _common(families: Sequence[int]) -> list[_Step]:
    return [
        *_unless("socket", 0, families, errno.EACCES),
        *_never(("io_uring_setup", "clone3"), errno.ENOSYS),  # there is an older way for both
        *_call("clone", [_argument(0), (_ANY_BIT, 0, 1, _CLONE_NEWUSER), _refuse(errno.EPERM)]),
        *_never(("unshare", "setns", *_KERNEL), errno.EPERM),
    ]


def _never(names: Iterable[str], error: int) -> list[_Step]:
    return [step for name in names for step in _call(name, [_refuse(error)])]


def _unless(name: str, argument: int, values: Sequence[int], error: int) -> list[_Step]:
    """Refuse a call unless the argument is one of the values."""
    tests = [(_EQUAL, len(values) - at, 0, value & 0xFFFF_FFFF) for at, value in enumerate(values)]
    return _call(name, [_argument(argument), *tests, _refuse(error)])


def _if(name: str, argument: int, values: Iterable[int], error: int) -> list[_Step]:
    """Refuse a call if the argument is one of the values."""
    block: list[_Step] = [_argument(argument)]
    for value in sorted(values):
        block += [(_EQUAL, 0, 1, value & 0xFFFF_FFFF), _refuse(error)]
    return _call(name, block)


def _call(name: str, block: list[_Step]) -> list[_Step]:
    """Go through a block for one system call only, and allow it at the end."""
    number = _CALLS[name][_MACHINES[platform.machine()].column]
    return [(_EQUAL, 0, len(block) + 1, number), *block, (_RETURN, 0, 0, _ALLOW)]


def _argument(index: int) -> _Step:
    return (_LOAD, 0, 0, 16 + 8 * index)  # its lower half; both machines are little-endian


def _refuse(error: int) -> _Step:
    return (_RETURN, 0, 0, _ERRNO | error)
