"""Results that are too long: what is shown of them, and the file with all of them."""

from __future__ import annotations

import os
from typing import NamedTuple

from skilleval.harness.tools.base import ToolContext

__all__ = ["Kept", "ends_of", "keep_output", "new_output"]

_CREATE = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_WIDEST = 4
"""Bytes that a character may take."""
_NEAR = 2_000


class Kept(NamedTuple):
    """A file for a whole output: where it is on this machine, and where inside."""

    host: str
    inside: str


def new_output(tool: str, context: ToolContext) -> Kept:
    """Make an empty file for a whole output; never one that is there, nor through a link."""
    os.makedirs(context.outputs_folder, mode=0o755, exist_ok=True)
    while True:
        context.counter += 1
        host = os.path.join(context.outputs_folder, f"{tool}-{context.counter:04d}.txt")
        try:
            os.close(os.open(host, _CREATE, 0o644))
        except FileExistsError:
            continue
        return Kept(host, context.sandbox.inside(host))


def keep_output(tool: str, data: bytes, context: ToolContext) -> Kept:
    """Keep a whole output, as far as the budget goes, in a file that the model can read."""
    kept = new_output(tool, context)
    with open(os.open(kept.host, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "wb") as file:
        file.write(data[: context.budgets.output_bytes])
    return kept


def ends_of(kept: Kept, characters: int) -> tuple[str, str]:
    """The start and the end of an output that is longer than so many characters.

    The cut falls between lines where a line's end is near.
    """
    half = characters // 2
    with open(os.open(kept.host, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        head = file.read(half * _WIDEST).decode("utf-8", "replace")[:half]
        start = max(file.seek(0, os.SEEK_END) - half * _WIDEST, 0)
        file.seek(start)
        tail = file.read(half * _WIDEST).decode("utf-8", "replace")[-half:]
    end, begin = head.rfind("\n") + 1, tail.find("\n") + 1
    head = head[:end] if end and end > half - _NEAR else head
    return head, tail[begin:] if 0 < begin < _NEAR else tail
