"""What a model is told about the folder that it works in."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import NamedTuple

from skilleval.terminal import escape

__all__ = ["InstructionFile", "Workspace", "read_workspace"]

_INSTRUCTIONS = ("CLAUDE.md", "AGENTS.md")
_ENTRIES = 100
_INSTRUCTIONS_CUT = 40_000
"""Characters of a file of instructions that are shown."""


class InstructionFile(NamedTuple):
    """A file of instructions: its name, and what is shown of it."""

    name: str
    text: str


@dataclass(frozen=True)
class Workspace:
    """A folder as a model is told about it.

    Attributes:
        path: as the model sees it.
        entries: what the folder holds, sorted; folders end with ``/``.
        more: how many entries are not shown.
        instructions: CLAUDE.md and AGENTS.md.
    """

    path: str
    entries: tuple[str, ...] = ()
    more: int = 0
    instructions: tuple[InstructionFile, ...] = ()


def read_workspace(folder: str, *, shown_as: str = "") -> Workspace:
    """Look at a folder; links are named, not followed.

    Args:
        folder: where it is.
        shown_as: what the model is to take for its path (default: its own).

    Raises:
        OSError: it can't be listed.
    """
    with os.scandir(folder) as found:
        names = sorted(
            entry.name + ("/" if entry.is_dir(follow_symlinks=False) else "") for entry in found
        )
    return Workspace(
        escape(shown_as or os.path.abspath(folder)),
        tuple(escape(name) for name in names[:_ENTRIES]),
        max(0, len(names) - _ENTRIES),
        tuple(file for name in _INSTRUCTIONS if (file := _instructions(folder, name))),
    )


def _instructions(folder: str, name: str) -> InstructionFile | None:
    path = os.path.join(folder, name)
    if os.path.islink(path) or not os.path.isfile(path):
        return None
    with open(path, encoding="utf-8", errors="replace", newline=None) as file:
        text = file.read(_INSTRUCTIONS_CUT + 1)
    if len(text) > _INSTRUCTIONS_CUT:
        left = os.path.getsize(path) - len(text[:_INSTRUCTIONS_CUT].encode())
        text = text[:_INSTRUCTIONS_CUT] + f"\n[cut here: about {left:,} bytes more in {name}]"
    return InstructionFile(name, text.strip()) if text.strip() else None
