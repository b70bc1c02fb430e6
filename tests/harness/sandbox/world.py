"""A machine to break into: secrets, services and a victim outside of the sandbox."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import subprocess
import sysconfig
import tempfile
import uuid
from pathlib import Path

from skilleval.harness.sandbox import (
    WORKSPACE,
    Mount,
    Policy,
    Sandbox,
    machine,
    open_sandbox,
    seccomp,
)
from skilleval.harness.sandbox.machine import is_in

PIDFD_GETFD = 438


class World:
    """What lies outside, and whether anybody has touched it."""

    def __init__(self, kind: str, root: Path, closing: contextlib.ExitStack) -> None:
        self.kind = kind
        self.root = root
        self.token = f"token{uuid.uuid4().hex}"
        self.secret_text = self.token[::-1]
        self.closing = closing
        self.count = 0
        self.datagrams: set[bytes] = set()
        self.sockets: dict[str, socket.socket] = {}
        self.secret = self.file("judge/secret.txt", self.secret_text)
        self.program = self.file("judge/program", "#!/bin/sh\necho ESCAPED\n")
        self.program.chmod(0o755)
        self.alias = root / "alias"
        self.alias.symlink_to("judge")
        self.file("other/trial.txt", self.secret_text)
        self.handle = os.open(self.secret, os.O_RDONLY)
        os.set_inheritable(self.handle, True)
        closing.callback(os.close, self.handle)
        self.listen()
        self.shared_memory = self.share_memory()
        self.temporary = tempfile.NamedTemporaryFile(prefix="of-the-host-")
        closing.enter_context(self.temporary)

    def file(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def listen(self) -> None:
        places: dict[str, tuple[int, int, object]] = {
            "tcp": (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            "udp": (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            "unix": (socket.AF_UNIX, socket.SOCK_STREAM, f"{self.root}/s"),
            "abstract": (socket.AF_UNIX, socket.SOCK_STREAM, f"\0{self.token}"),
            "datagram": (socket.AF_UNIX, socket.SOCK_DGRAM, f"\0{self.token}-d"),
        }
        if socket.has_ipv6:
            places["tcp6"] = (socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0))
        for name, (family, kind, address) in places.items():
            opened = self.closing.enter_context(socket.socket(family, kind))
            try:
                opened.bind(address)  # type: ignore[arg-type]
            except OSError:  # no IPv6 here
                continue
            if kind == socket.SOCK_STREAM:
                opened.listen(64)
            opened.setblocking(False)
            self.sockets[name] = opened

    def share_memory(self) -> int:
        """The key of a System V segment."""
        libc = ctypes.CDLL(None)
        key = uuid.uuid4().int % 2**30 + 1
        number = libc.shmget(key, 4096, 0o1600)
        self.closing.callback(libc.shmctl, number, 0, None)
        return key

    def port(self, name: str) -> str:
        return str(self.sockets[name].getsockname()[1]) if name in self.sockets else "9"

    def received(self, token: str) -> bool:
        """Whether a datagram with a token has come."""
        with contextlib.suppress(BlockingIOError):
            while True:
                self.datagrams.add(self.sockets["udp"].recv(999))
        return token.encode() in self.datagrams

    def sandbox(self, number: int) -> Sandbox:
        """One whose policy hides what has to be hidden, with a workspace of its own."""
        workspace = self.root / f"workspace-{number}"
        workspace.mkdir()
        shown = self.root / f"shown-{number}"
        self.file(f"{shown.name}/visible.txt", "see")
        self.file(f"{shown.name}/private/secret.txt", self.secret_text)
        self.file(f"{shown.name}/answer.txt", self.secret_text)
        mounts = (Mount(str(workspace), WORKSPACE, True), Mount(str(shown), "/shown"))
        hidden = (self.secret.parent, shown / "private", shown / "answer.txt", self.root / "other")
        return open_sandbox(self.kind, Policy(mounts, hidden=tuple(map(str, hidden))))


class Scene:
    """One attempt's own part of the world: a victim, and files that must stay as they are."""

    def __init__(self, world: World) -> None:
        self.world = world
        world.count += 1
        self.token = f"{world.token}{world.count}"
        self.shown = world.root / f"shown-{world.count}"
        self.sandbox = world.sandbox(world.count)
        self.outside = world.root / f"outside-{world.count}"
        (self.outside / "empty").mkdir(parents=True)
        (self.outside / "kept").write_text("kept")
        self.victim = subprocess.Popen(
            [f"sleep-{world.secret_text}", "600"], executable="/bin/sleep", start_new_session=True
        )
        self.before = self.look()

    def look(self) -> dict[str, object]:
        """All that can change."""
        files = sorted(self.outside.rglob("*"))
        stats = [(p.name, s.st_mode, s.st_size, s.st_mtime_ns) for p in files for s in [p.stat()]]
        shown = sorted(path.name for path in self.shown.iterdir())
        with contextlib.suppress(OSError):
            state = Path(f"/proc/{self.victim.pid}/stat").read_text().rpartition(")")[2].split()
            return {
                "outside": stats + [os.listxattr(path) for path in files],
                "shown": shown,
                "victim": (state[0] in "TZX", state[16]),
                "shm": os.path.exists(f"/dev/shm/{self.token}"),
            }
        return {}

    def changed(self, what: str) -> bool:
        """Whether a part of the world is not what it was."""
        if what == "udp":
            return self.world.received(self.token)
        return self.look().get(what) != self.before[what]

    def environment(self) -> dict[str, str]:
        """Where everything is: the attempts know all of it."""
        world, numbers = self.world, seccomp._CALLS
        column = seccomp._MACHINES[os.uname().machine].column if seccomp.SUPPORTED else 0
        calls = (
            "io_uring_setup",
            "clone",
            "add_key",
            "bpf",
            "userfaultfd",
            "tkill",
            "rt_sigqueueinfo",
        )
        return {
            **{name.upper(): str(numbers[name][column]) for name in calls},
            "PIDFD_GETFD": str(PIDFD_GETFD),
            "HARNESS": str(os.getpid()),
            "GROUP": str(os.getpgrp()),
            "VICTIM": str(self.victim.pid),
            "SECRET": str(world.secret),
            "SECRET_ALIAS": f"{world.alias}/secret.txt",
            "SECRET_PROGRAM": str(world.program),
            "SECRET_FD": str(world.handle),
            "SHOWN": self.sandbox.inside(str(self.shown)),
            "OTHER": str(world.root / "other"),
            "OUTSIDE": str(self.outside),
            "HOST": str(world.root),
            "HOST_TMP": tempfile.gettempdir(),
            "TMP_NAME": os.path.basename(world.temporary.name),
            "OUTER_HOME": os.path.expanduser("~"),
            "TOKEN": self.token,
            "SECRET_TEXT": world.token,
            "TCP": world.port("tcp"),
            "TCP6": world.port("tcp6"),
            "UDP": world.port("udp"),
            "UNIX": f"{world.root}/s",
            "ABSTRACT": world.token,
            "NETNS": os.readlink("/proc/self/ns/net"),
            "PURELIB": sysconfig.get_paths()["purelib"],
            "SHM": str(world.shared_memory),
            "HOME_NAME": _name_in_home(),
        }

    def close(self) -> None:
        self.victim.kill()
        self.victim.wait()
        with contextlib.suppress(OSError):
            os.unlink(f"/dev/shm/{self.token}")


def _name_in_home() -> str:
    """Something in the home that nothing that is shown lies in."""
    home = os.path.expanduser("~")
    known = machine.shown().folders(())
    names = sorted(os.listdir(home)) if os.access(home, os.R_OK) else []
    free = [name for name in names if not any(is_in(k, f"{home}/{name}") for k in known)]
    return free[0] if free else "nothing"
