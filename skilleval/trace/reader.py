"""Reading a trace, an event at a time: memory does not grow with its length."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator

from skilleval.errors import InputError
from skilleval.trace.events import VERSION, Event
from skilleval.trace.writer import LARGEST

__all__ = ["read_events", "read_with_agents"]

_LONGEST = LARGEST + 1024 * 1024
_DEEPEST = 8
"""Subagents of subagents whose traces are looked for."""


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


def read_with_agents(
    path: str, missing: Callable[[str], None], depth: int = _DEEPEST
) -> Iterator[Event]:
    """The events of a trace with those of its subagents, each behind the event that starts it.

    Args:
        path: of the trace; those of subagents lie in ``agents`` beside it, and only there.
        missing: called with the path of each trace that is not there.
        depth: how many subagents of subagents are followed.

    Raises:
        InputError: see read_events.
        OSError: see read_events.
    """
    for event in read_events(path):
        yield event
        agent = event.get("agent_id")
        if event["type"] != "agent" or not isinstance(agent, str):
            continue
        known = agent.isascii() and agent.isalnum() and depth > 0
        theirs = os.path.join(os.path.dirname(path), "agents", f"agent-{agent}.jsonl")
        if known and os.path.isfile(theirs):
            yield from read_with_agents(theirs, missing, depth - 1)
        else:
            missing(theirs)


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
