"""What a sandbox is asked for, what it answers, and what every kind of it can do."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

__all__ = ["MAX_OUTPUT", "WORKSPACE", "Finished", "Limits", "Mount", "Policy", "Sandbox"]

WORKSPACE = "/workspace"
"""Where the workspace is seen in every trial, if paths can be mapped."""
MAX_OUTPUT = 50_000_000
"""Bytes of a command's output that are kept in memory."""


class Mount(NamedTuple):
    """A folder of this machine, and where it is seen inside.

    Attributes:
        host: its path on this machine.
        inside: its path in the sandbox. Landlock can't map paths: it has ``host`` there.
        writable: whether commands may write to it.
    """

    host: str
    inside: str
    writable: bool = False


@dataclass(frozen=True)
class Limits:
    """What one command may use, with everything that it starts.

    Attributes:
        cpu_seconds: processor time, summed up over its processes.
        memory_bytes: resident memory, summed up; what processes share counts once. No process
            may have more private memory than this, either.
        processes: processes and threads that run at once.
        file_bytes: the size of any one file, and of the command's output.
        wall_seconds: how long it may take; ``run`` can ask for less.
    """

    cpu_seconds: int = 600
    memory_bytes: int = 4 << 30
    processes: int = 512
    file_bytes: int = 1 << 30
    wall_seconds: float = 600


@dataclass(frozen=True)
class Policy:
    """What commands may see, use and do.

    Attributes:
        mounts: the first one is the workspace, and writable. A mount at ``/tmp`` takes the place
            of the folder that every sandbox has there for itself.
        network: whether they may reach the network of this machine.
        hidden: files and folders of this machine that can't be read inside, by whatever name.
        limits: of every command.
        environment: variables besides PATH, HOME, LANG and TMPDIR; none is inherited.
    """

    mounts: tuple[Mount, ...]
    network: bool = False
    hidden: tuple[str, ...] = ()
    limits: Limits = Limits()
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Finished:
    """How a command ended.

    Attributes:
        exit_code: its own; 128 and the signal's number if a signal ended it; 126 or 127 if it
            could not be started (the output says why).
        output: what it wrote to standard output and standard error, in the order of writing, up
            to ``max_output`` bytes.
        timed_out: it was killed because its time was over.
        killed_by: which limit ended it: ``time``, ``cpu``, ``memory``, ``processes``,
            ``file size`` or ``output``; empty if none did, or if that can't be known.
        dropped: bytes of the output that are not in ``output``.
        unwritten: bytes of the output that are not in the output file, which is as long as
            ``file_bytes`` allows, or as the disk has room for.
    """

    exit_code: int
    output: bytes
    timed_out: bool = False
    killed_by: str = ""
    dropped: int = 0
    unwritten: int = 0


class Sandbox(Protocol):
    """Where the commands of one trial run.

    Attributes:
        name: ``bubblewrap``, ``landlock`` or ``none``.
        policy: as it is in force: host paths without links, ``inside`` as it is seen, and the
            sandbox's own ``/tmp`` among the mounts.
        gaps: what it can't stop, in words.
    """

    @property
    def name(self) -> str: ...

    @property
    def policy(self) -> Policy: ...

    @property
    def gaps(self) -> tuple[str, ...]: ...

    def inside(self, host_path: str) -> str:
        """The path that a file of this machine has inside.

        Raises:
            InputError: it lies in no mount.
        """

    def outside(self, inside_path: str) -> str | None:
        """The path on this machine of a file in a mount; None for anything else.

        Nothing is looked up: whoever opens it must not follow links, which commands can make.
        """

    async def run(
        self,
        words: Sequence[str],
        *,
        cwd: str,
        timeout: float,
        stdin: bytes = b"",
        max_output: int = MAX_OUTPUT,
        environment: Mapping[str, str] = ...,
        output_file: str | None = None,
        pass_fds: Sequence[int] = (),
    ) -> Finished:
        """Run a command to its end; nothing that it started is alive afterwards.

        That holds after a time-out, a cancelled task and the death of this process, too.

        Args:
            words: the command; its first word is looked up on the sandbox's PATH.
            cwd: the working directory, as seen inside.
            timeout: seconds; ``wall_seconds`` holds all the same.
            stdin: what it reads from standard input.
            max_output: bytes of the output to keep in memory.
            environment: variables besides those of the policy.
            output_file: path on this machine of a file that gets the whole output.
            pass_fds: descriptors that it inherits under their numbers.

        Raises:
            InputError: ``cwd``, a word or a variable can't be one.
            OSError: the output file can't be written.
            Unmeasured: the sandbox itself failed.
        """

    async def start(
        self, words: Sequence[str], *, cwd: str, environment: Mapping[str, str] = ...
    ) -> asyncio.subprocess.Process:
        """Start a command that goes on, with pipes to its three standard streams.

        All limits but the time hold; whoever starts it stops it.

        Raises:
            InputError: ``cwd``, a word or a variable can't be one.
            OSError: it can't be started.
        """

    async def stop(self, process: asyncio.subprocess.Process) -> int:
        """Kill what ``start`` gave, with everything that it started, and wait for the end.

        Returns:
            Its exit code; 128 and the signal's number if it was killed.
        """
