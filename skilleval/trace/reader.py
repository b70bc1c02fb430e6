"""Reading a trace, an event at a time: memory does not grow with its length."""

from __future__ import annotations

import json
from collections.abc import Iterator

from skilleval.errors import InputError
from skilleval.trace.events import VERSION, Event
from skilleval.trace.writer import LARGEST

__all__ = ["read_events"]

_LONGEST = LARGEST + 1024 * 1024


def read_events(path: str) -> Iterator[Event]:
    """The events of a trace, in order; types that are not known are passed on.

    A line that a killed writer left unfinished is passed over where it may stand: at the end,
    or before the session was resumed.

    Raises:
        InputError: it is no trace, it is broken, or of a version that we can't read.
        OSError: it can't be read.
    """
    torn = 0
    with open(path, "rb") as file:
        number = 0
        while line := file.readline(_LONGEST):
            number += 1
            if torn:
                event = _event(line)
                if event is None or event.get("type") != "resume":
                    raise _broken(path, torn)
                torn = 0
            elif not line.strip():
                continue
            else:
                event = _event(line)
                if event is None:
                    if number == 1:
                        raise _broken(path, number)
                    torn = number
                    continue
            if number == 1:
                _check_version(path, event)
            yield event


def _event(line: bytes) -> Event | None:
    """The event of a line; None where it is no whole one."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) and isinstance(event.get("type"), str) else None


def _check_version(path: str, event: Event) -> None:
    version = event.get("version", VERSION)
    if version != VERSION:
        raise InputError(
            f"{path} is a trace of version {version!r}; this skilleval reads version {VERSION}",
            remedy="Use the skilleval that wrote it.",
        )


def _broken(path: str, number: int) -> InputError:
    return InputError(
        f"{path}:{number}: this line is no event of a trace",
        remedy="A trace is a JSON object a line, as skilleval writes it.",
    )
