"""Runs one command where no PID namespace does, and leaves none of its processes behind.

It is a program of its own, see START: it imports nothing but a little of the standard library,
as its start is part of what every command takes.

The launcher stays outside of the restrictions and becomes the parent of every process below
that loses its own. So it finds them all, and kills them when the command has ended, when it is
told to (SIGTERM), and when whoever started it dies.

It is started for one command, or once to ``serve``: then it forks a launcher for each command,
which takes a fraction of what a start does, or executes what needs no launcher.
"""

from __future__ import annotations

import _socket
import ctypes
import marshal
import os
import resource
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing and signal would take longer than all the rest
    import signal as _signal
    from collections.abc import Collection, Iterator
    from typing import Any, NoReturn
else:
    import _signal

__all__ = [
    "LAUNCHER_PID", "LEFT", "READY", "SERVER_PID", "START", "below", "main", "read", "stat_of",
]  # fmt: skip

START = """
import marshal, sys
with open(int(sys.argv[1]), "rb") as file:
    orders, code = marshal.load(file), marshal.load(file)
scope = {"__name__": "launcher"}
exec(code, scope)
scope["main"](orders)
"""
"""How it is started, with a descriptor to read its orders and this module's code from."""
LAUNCHER_PID, SERVER_PID = 0x5AFE_5AFE, 0x5AFE_5AFF
"""Stand in a filter of system calls for process ids that are not known yet: the launcher's, and
that of the process that it was forked from."""
READY, LEFT = b"ready ", b"left "
"""Noted when all restrictions are in force, and when not all processes could be killed."""
_PATIENCE = 10.0
"""Seconds for killing what a command has left."""
_LONGEST = 1 << 26
"""Bytes of orders, far more than the kernel takes."""
_MOST_DESCRIPTORS = 250
"""That come with one message; Linux allows 253."""

_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 1, 22, 24
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 36, 38, 47
_LANDLOCK_RESTRICT_SELF = 446
_CAPABILITY_VERSION = 0x2008_0522
_NO_SUCH_FILE = 2


def below(pid: int) -> Iterator[tuple[int, list[bytes]]]:
    """Every living process below a process, parents first, with what its ``stat`` says.

    The words of ``stat`` begin after the program's name: with the state.
    """
    pending = _children(pid)
    while pending:
        child = pending.pop()
        words = stat_of(child)
        if words and words[0] not in (b"Z", b"X"):
            yield child, words
        pending += _children(child)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            found += map(int, read(f"/proc/{pid}/task/{thread}/children").split())
    except OSError:
        pass  # it has just ended: its children are another's now
    return found


def stat_of(pid: int) -> list[bytes]:
    """What ``stat`` says of a process, from its state on; nothing if there is none."""
    try:
        return read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    except OSError:
        return []


def read(path: str) -> bytes:
    """A small file of /proc, with fewer system calls than ``open`` makes.

    Raises:
        OSError: it can't be read.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = b""
        while piece := os.read(handle, 1 << 16):
            data += piece
        return data
    finally:
        os.close(handle)


def main(orders: dict[str, Any]) -> NoReturn:
    """Carry out orders, and exit as the command does.

    Args:
        orders: ``words``, ``cwd`` and ``environment`` of the command, the descriptors ``fds``
            that it keeps, its ``limits``, and whether to ``restrict`` it: then by a Landlock
            ``ruleset`` (a descriptor) and a ``filter`` of system calls. ``parent`` is the
            process that has to be alive; ``status`` a descriptor to note READY, or
            what went wrong, and LEFT. Or nothing but ``serve``, a socket, and ``parent``.
    """
    libc = _libc()
    if "serve" in orders:
        _serve(orders["serve"], orders["parent"], libc)
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


def _serve(control: int, parent: int, libc: Any) -> NoReturn:
    """Start what each message asks for, and say how it ended when asked, until nobody is there.

    A message is a process id to wait for, or the numbers that the descriptors that came along
    are to have in a new process; the last of them holds its orders. In a list, they are those of
    a launcher, which is forked; in a tuple, the words of a program, which is executed.
    """
    _signal.signal(_signal.SIGTERM, lambda *_: _close_down(libc))
    libc.prctl(_PR_SET_PDEATHSIG, _signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
    os.set_inheritable(control, False)
    socket = _socket.socket(fileno=control)
    room = _socket.CMSG_LEN(4 * _MOST_DESCRIPTORS)
    while True:
        data, extra, _, _ = socket.recvmsg(1 << 16, room, _socket.MSG_CMSG_CLOEXEC)
        if not data:
            _close_down(libc)
        asked = marshal.loads(data)  # noqa: S302 - from whoever started this
        if isinstance(asked, int):
            answer = os.waitstatus_to_exitcode(os.waitpid(asked, 0)[1])
        else:
            came = b"".join(part for _, _, part in extra)
            given = [int.from_bytes(came[at : at + 4], "little") for at in range(0, len(came), 4)]
            given = _out_of_the_way(given, asked)
            if isinstance(asked, tuple):
                answer = _spawn(given, asked)
            else:
                server = os.getpid()
                answer = os.fork() or _launch(given, asked, server)
            for handle in given:
                os.close(handle)
        socket.send(marshal.dumps(answer))


def _close_down(libc: Any) -> NoReturn:
    """Nobody is there any more: end everything, what has lost its parent meanwhile included."""
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    _kill_all()
    os._exit(0)


def _out_of_the_way(given: list[int], wanted: Collection[int]) -> list[int]:
    """The descriptors, under numbers that none of them is to have."""
    moved, left = [], []
    for handle in given:
        while handle in wanted:
            left.append(handle)
            handle = os.dup(handle)
        moved.append(handle)
    for handle in left:
        os.close(handle)
    return moved


def _spawn(given: list[int], wanted: tuple[int, ...]) -> int:
    """Execute a program without any variables; its process id, or an error's negative number."""
    words = marshal.loads(os.read(given[-1], _LONGEST))  # noqa: S302 - from whoever started this
    pairs = zip(given[:-1], wanted[:-1])  # noqa: B905 - they are as many
    try:
        return os.posix_spawn(
            words[0], words, {}, setsid=True, setsigdef=(_signal.SIGPIPE, _signal.SIGXFSZ),
            file_actions=[(os.POSIX_SPAWN_DUP2, handle, number) for handle, number in pairs],
        )  # fmt: skip
    except OSError as error:
        return -(error.errno or 1)


def _launch(given: list[int], wanted: list[int], server: int) -> NoReturn:
    """Be the launcher that was asked for, with the descriptors under their numbers."""
    try:
        os.setsid()
        for handle, number in zip(given, wanted):  # noqa: B905 - they are as many
            os.dup2(handle, number)
        for name in os.listdir("/proc/self/fd"):
            if int(name) not in (0, *wanted):
                try:
                    os.close(int(name))
                except OSError:
                    pass  # that of the listing itself
        orders = marshal.loads(os.read(wanted[-1], _LONGEST))  # noqa: S302 - as above
        os.close(wanted[-1])
        orders["parent"] = server
        main(orders)
    finally:
        os._exit(1)


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
        for pid, _ in below(os.getpid()):
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
        _execute(word, orders["words"], orders["environment"])
    except OSError as error:
        code = 127 if error.errno == _NO_SUCH_FILE else 126
        _fail(2, f"skilleval: can't run {word}: {error.strerror}\n", code)


def _execute(word: str, words: list[str], environment: dict[str, str]) -> NoReturn:
    """As ``os.execvpe``, which imports a module first: that would be half of a fork's time."""
    folders = [""] if "/" in word else environment.get("PATH", os.defpath).split(":")
    missing = refused = None
    for folder in folders:
        try:
            os.execve(os.path.join(folder, word), words, environment)  # noqa: S606 - no shell
        except (FileNotFoundError, NotADirectoryError) as error:
            missing = error
        except OSError as error:
            refused = refused or error
    raise refused or missing or FileNotFoundError(_NO_SUCH_FILE, os.strerror(_NO_SUCH_FILE))


def _fail(handle: int, message: str, code: int) -> NoReturn:
    os.write(handle, message.encode("utf-8", "surrogateescape"))
    os._exit(code)


def _go_first() -> None:
    """If memory runs out, the command goes before the rest of the machine."""
    try:
        handle = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(handle, b"1000")
        os.close(handle)
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
    code = _aim(orders["filter"], launcher, orders["parent"])
    held = ctypes.create_string_buffer(code, len(code))
    program = (len(code) // 8).to_bytes(8, "little") + ctypes.addressof(held).to_bytes(8, "little")
    told = ctypes.create_string_buffer(program, len(program))
    _check(libc.prctl(_PR_SET_SECCOMP, 2, ctypes.addressof(told), 0, 0))


def _aim(code: bytes, launcher: int, server: int) -> bytes:
    """Put process ids where LAUNCHER_PID and SERVER_PID, or their negatives, stand for them."""
    known = ((LAUNCHER_PID, launcher), (SERVER_PID, server))
    aims = {_word(sign * mark): _word(sign * pid) for mark, pid in known for sign in (1, -1)}
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
