"""A file may be changed only as the model knows it: read, and not changed by others since."""

from __future__ import annotations

import os

from skilleval.harness.tools.base import ToolContext, ToolError
from skilleval.harness.tools.beneath import Spot
from skilleval.harness.tools.ledger import digest_of

__all__ = ["check_seen"]


def check_seen(spot: Spot, path: str, context: ToolContext, *, new: bool = False) -> bool:
    """Whether a file is there, which the model then knows.

    Args:
        spot: where the file is.
        path: what the model called it.
        context: of the call.
        new: nothing need be there.

    Raises:
        ToolError: the model has not read it, or not as it is now.
        OSError: it can't be read.
    """
    known, limit = context.files.get(spot.inside), context.budgets.edit_bytes
    try:
        handle = spot.open()
    except FileNotFoundError:
        if new:
            return False
        raise
    if known is None:
        os.close(handle)
        raise ToolError(f"{path} is there already and has not been read. Read it first.")
    with os.fdopen(handle, "rb") as file:
        size = os.fstat(handle).st_size
        same = size == known.size and size <= limit and digest_of(file.read()) == known.digest
    if same or (size > limit and _same_time(spot, known.mtime_ns, known.size)):
        return True
    raise ToolError(f"{path} has been changed since you last read it. Read it again first.")


def _same_time(spot: Spot, mtime_ns: int, size: int) -> bool:
    """For files that are too large to be read once more."""
    status = spot.status()
    return (status.st_mtime_ns, status.st_size) == (mtime_ns, size)
