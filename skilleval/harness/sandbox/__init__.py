"""Where the commands of a model run: what it may do is one thing, what it can do is this.

==============  ==============================================================================
kind            what keeps a command in
==============  ==============================================================================
``bubblewrap``  namespaces: its own processes, network, IPC, users, and a file tree with the
                system read-only, the workspace at the same path in every trial, and no more
``landlock``    the kernel's rules for files and a filter of system calls: no sockets, no other
                processes; what these can't do is in ``gaps``
``none``        nothing; only limits, clean variables, and an end of all processes
==============  ==============================================================================
"""

from __future__ import annotations

import sys

from skilleval.errors import InputError
from skilleval.harness.sandbox import bubblewrap, launched
from skilleval.harness.sandbox.policy import (
    MAX_OUTPUT,
    WORKSPACE,
    Finished,
    Limits,
    Mount,
    Policy,
    Sandbox,
)

__all__ = [
    "KINDS",
    "MAX_OUTPUT",
    "WORKSPACE",
    "Finished",
    "Limits",
    "Mount",
    "Policy",
    "Sandbox",
    "open_sandbox",
]

KINDS = ("auto", "bubblewrap", "landlock", "none")
"""What ``--sandbox`` can be."""


def _strongest() -> str:
    """What ``auto`` is on this machine: found out by trying, once in a process.

    Raises:
        InputError: nothing works here; it says why, and what to do.
    """
    if not bubblewrap.problem():
        return "bubblewrap"
    if not launched.problem():
        return "landlock"
    raise InputError(
        f"no sandbox works here: bubblewrap: {bubblewrap.problem()}; "
        f"Landlock: {launched.problem()}",
        remedy="Install bubblewrap; --sandbox none runs commands without any protection.",
    )


def open_sandbox(kind: str, policy: Policy) -> Sandbox:
    """A sandbox for the commands of one trial.

    Args:
        kind: one of KINDS. ``auto`` is the strongest that works; never ``none``.
        policy: what commands may see, use and do.

    Raises:
        InputError: this kind does not work here, or the policy makes no sense.
    """
    if kind not in KINDS:
        raise InputError(f"{kind}: no kind of sandbox", remedy=f"Choose from {', '.join(KINDS)}.")
    if sys.platform != "linux":
        raise InputError("commands of a model can be run on Linux only")
    kind = _strongest() if kind == "auto" else kind
    if kind == "bubblewrap":
        return bubblewrap.Bubblewrap(policy)
    return launched.Landlock(policy) if kind == "landlock" else launched.Unconfined(policy)
