"""Runs one command where no PID namespace does, and leaves none of its processes behind.

It is a program of its own, see START: it imports nothing but a little of the standard library,
as its start is part of what every command takes.

The launcher stays outside of the restrictions and becomes the parent of every process below
that loses its own. So it finds them all, and kills them when the command has ended, when it is
told to (SIGTERM), and when whoever started it dies.
"""

from __future__ import annotations

import ctypes
import os
import resource
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing and signal would take longer than all the rest
    import signal as _signal
    from collections.abc import Iterator
    from typing import Any, NoReturn
else:
    import _signal

__all__ = ["LAUNCHER_PID", "LEFT", "READY", "START", "below", "main"]

START = """
import marshal, sys
with open(int(sys.argv[1]), "rb") as file:
    code, orders = marshal.load(file)
scope = {"__name__": "launcher"}
exec(code, scope)
scope["main"](orders)
"""
"""How it is started, with a descriptor to read this module's code and its orders from."""
LAUNCHER_PID = 0x5AFE_5AFE
"""Stands for the launcher's process id, which is not known yet, in a filter of system calls."""
READY, LEFT = b"ready ", b"left "
"""Noted when all restrictions are in force, and when not all processes could be killed."""
_PATIENCE = 10.0
"""Seconds for killing what a command has left."""

_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 1, 22, 24
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 36, 38, 47
_LANDLOCK_RESTRICT_SELF = 446
_CAPABILITY_VERSION = 0x2008_0522
_NO_SUCH_FILE = 2


def below(pid: int) -> Iterator[int]:
    """Every living process below a process, parents first."""
    pending = _children(pid)
    while pending:
        child = pending.pop()
        if _lives(child):
            yield child
        pending += _children(child)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += map(int, file.read().split())
    except OSError:
        pass  # it has just ended: its children are another's now
    return found


def _lives(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


def main(orders: dict[str, Any]) -> NoReturn:
    """Carry out orders, and exit as the command does.

    Args:
        orders: ``words``, ``cwd`` and ``environment`` of the command, the descriptors ``fds``
            that it keeps, its ``limits``, and whether to ``restrict`` it: then by a Landlock
            ``ruleset`` (a descriptor) and a ``filter`` of system calls. ``parent`` is the
            process that has to be alive; ``status`` a descriptor to note READY, or
            what went wrong, and LEFT.
    """
    libc = _libc()
    status = orders["status"]
    _signal.signal(_signal.SIGTERM, lambda *_: _end(status, 128 + _signal.SIGKILL))
    libc.prctl(_PR_SET_PDEATHSIG, _signal.SIGTERM, 0, 0, 0)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    launcher = os.getpid()
    if os.getppid() != orders["parent"]:
        os._exit(128 + _signal.SIGKILL)
    os.set_inheritable(status, False)
    pid = os.fork()
    if pid == 0:
        _become(orders, libc, launcher)
    for each in {0, 1, 2, *orders["fds"]}:
        os.close(each)  # the end of the output is the end of the last process that can write
    while True:
        ended, how = os.waitpid(-1, 0)
        if ended == pid:
            break
    code = os.waitstatus_to_exitcode(how)
    _end(status, code if code >= 0 else 128 - code)


def _end(status: int, code: int) -> NoReturn:
    if not _kill_all():
        os.write(status, LEFT)
    os._exit(code)


def _kill_all() -> bool:
    """Kill every process below this one; whether none is left.

    Whole groups go first: a process can't fork itself out of a signal to its group.
    """
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        alive = False
        for pid in below(os.getpid()):
            alive = True
            for kill in (os.killpg, os.kill):
                try:
                    kill(pid, _signal.SIGKILL)
                except OSError:
                    pass  # it leads no group, or has ended
        reaped = _reap()
        if not alive and not reaped:
            return True
        if not reaped:
            time.sleep(0.0005)
    return False


def _reap() -> bool:
    """Take leave of children that have ended; whether there were any."""
    found = False
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            found = True
    except ChildProcessError:
        pass
    return found


def _become(orders: dict[str, Any], libc: Any, launcher: int) -> NoReturn:
    """Give up what the orders say, and become the command."""
    try:
        os.setsid()
        for each in (_signal.SIGTERM, _signal.SIGINT, _signal.SIGPIPE, _signal.SIGXFSZ):
            _signal.signal(each, _signal.SIG_DFL)  # Python ignores or handles them
        libc.prctl(_PR_SET_PDEATHSIG, _signal.SIGKILL, 0, 0, 0)
        if os.getppid() != launcher:
            os._exit(128 + _signal.SIGKILL)
        for name, values in orders["limits"].items():
            resource.setrlimit(getattr(resource, name), values)
        _go_first()
        if orders["restrict"]:
            _restrict(orders, libc, launcher)
        os.write(orders["status"], READY)
    except OSError as error:
        _fail(orders["status"], f"{error.filename or 'a restriction'}: {error.strerror}", 1)
    word = orders["words"][0]
    try:
        os.chdir(orders["cwd"])
    except OSError as error:
        _fail(2, f"skilleval: can't enter {orders['cwd']}: {error.strerror}\n", 126)
    try:
        os.execvpe(word, orders["words"], orders["environment"])  # noqa: S606 - no shell
    except OSError as error:
        code = 127 if error.errno == _NO_SUCH_FILE else 126
        _fail(2, f"skilleval: can't run {word}: {error.strerror}\n", code)


def _fail(handle: int, message: str, code: int) -> NoReturn:
    os.write(handle, message.encode("utf-8", "surrogateescape"))
    os._exit(code)


def _go_first() -> None:
    """If memory runs out, the command goes before the rest of the machine."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass


def _restrict(orders: dict[str, Any], libc: Any, launcher: int) -> None:
    """No new privileges, no capabilities, then Landlock, then the filter of system calls."""
    _check(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    libc.prctl(_PR_CAP_AMBIENT, 4, 0, 0, 0)
    for capability in range(64):
        if libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0):
            break  # not allowed, or the last one was the highest; none can come back anyhow
    _check(libc.capset(_CAPABILITY_VERSION.to_bytes(8, "little"), bytes(24)))
    _check(libc.syscall(_LANDLOCK_RESTRICT_SELF, orders["ruleset"], 0))
    os.close(orders["ruleset"])
    code = _aim(orders["filter"], launcher)
    held = ctypes.create_string_buffer(code, len(code))
    program = (len(code) // 8).to_bytes(8, "little") + ctypes.addressof(held).to_bytes(8, "little")
    told = ctypes.create_string_buffer(program, len(program))
    _check(libc.prctl(_PR_SET_SECCOMP, 2, ctypes.addressof(told), 0, 0))


def _aim(code: bytes, launcher: int) -> bytes:
    """Put the launcher's process id where LAUNCHER_PID, or its negative, stands for it."""
    aims = {_word(sign * LAUNCHER_PID): _word(sign * launcher) for sign in (1, -1)}
    parts = [code[at : at + 4] for at in range(0, len(code), 4)]
    return b"".join(aims.get(part, part) for part in parts)


def _word(number: int) -> bytes:
    return (number & 0xFFFF_FFFF).to_bytes(4, "little")


def _check(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _libc() -> Any:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    libc.syscall.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_long]
    return libc
