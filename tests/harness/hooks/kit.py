"""What the tests of hooks share: a session, sample fields for each event, ways to fire."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from skilleval.harness.hooks import EVENTS, Hook, HookEvent, Hooks, SessionFacts, Verdict
from skilleval.harness.hooks.answer import Answer, from_mapping, from_text

PYTHON = sys.executable
CALL: dict[str, Any] = {
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
    "tool_use_id": "toolu_1",
}
SPECIAL: dict[str, Any] = {
    **CALL,
    "tool_calls": [CALL],
    "tool_response": {"stdout": ""},
    "stop_hook_active": False,
    "file_path": "/project/.env",
}


def facts(cwd: Path | str = "/", **changes: str) -> SessionFacts:
    given = {"session_id": "s1", "transcript_path": "/t.jsonl", "cwd": str(cwd), **changes}
    return SessionFacts(**given)


def sample(event: HookEvent) -> dict[str, Any]:
    """The fields that an event needs, with values that do."""
    return {
        field.name: SPECIAL.get(field.name, f"some {field.name}")
        for field in EVENTS[event].fields
        if field.needed
    }


def fire(event: HookEvent, *hooks: Hook, cwd: Path | str = "/", **options: Any) -> Verdict:
    """Fire an event with its sample fields at some hooks."""
    fields = sample(event) | options.pop("fields", {})
    session = options.pop("session", None) or facts(cwd)
    return asyncio.run(Hooks(hooks, session=session, **options).fire(event, **fields))


def says(value: Any, event: HookEvent = HookEvent.PRE_TOOL_USE, **changes: Any) -> Hook:
    """A callable hook that always answers the same."""
    return Hook(event, "callable", function=lambda _: value, **changes)


def read(said: Any, event: HookEvent, tool: str = "") -> Answer:
    """The answer that a hook's words are at an event."""
    reader = from_text if isinstance(said, str) else from_mapping
    return reader(said, event, EVENTS[event], tool)
