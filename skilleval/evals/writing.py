"""Writing cases and results in one of the formats that can be written."""

from __future__ import annotations

import json
from typing import Any

from skilleval.errors import InputError
from skilleval.evals.records import Suite
from skilleval.evals.registry import Contents, Format, Written, formats
from skilleval.evals.results import TriggerReport

__all__ = ["TARGETS", "convert", "dump"]

TARGETS = ("native", "skill-creator", "trigger", "grading", "benchmark")


def convert(contents: Contents, target: str) -> Written:
    """What was read as plain data of another format, and what has no place in that.

    Raises:
        InputError: the format holds other things than these.
    """
    name = (
        "trigger-report" if target == "trigger" and isinstance(contents, TriggerReport) else target
    )
    format = formats().get(name)
    if format is None or format.write is None or format.takes is None:
        writable = ", ".join(TARGETS)
        raise InputError(f"{target} can't be written", remedy=f"These can: {writable}.")
    if not isinstance(contents, format.takes):
        raise _unfitting(contents, format)
    return format.write(contents)


def _unfitting(contents: Contents, format: Format) -> InputError:
    fitting = [
        each.name
        for each in formats().values()
        if each.takes and each.write and isinstance(contents, each.takes)
    ]
    what = "cases" if isinstance(contents, Suite) else "results"
    named = ["trigger" if name == "trigger-report" else name for name in fitting]
    return InputError(
        f"{contents.path}: holds {what} that can't be written as {format.name}",
        remedy=f"It can be written as {', '.join(named)}.",
    )


def dump(data: Any) -> bytes:
    """Plain data as the bytes of a file."""
    return (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode()
