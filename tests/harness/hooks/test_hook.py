"""Matchers fit as they do in Claude Code, and a hook that makes no sense is refused."""

from __future__ import annotations

from typing import Any

import pytest

from skilleval.errors import InputError
from skilleval.harness.hooks import EVENTS, Hook, HookEvent


def hook(matcher: str, event: HookEvent = HookEvent.PRE_TOOL_USE) -> Hook:
    return Hook(event, matcher=matcher, command="true")


@pytest.mark.parametrize(
    ("matcher", "fits", "fits_not"),
    [
        ("", ["Bash", "mcp__a__b", ""], []),
        ("*", ["Bash", "mcp__a__b", ""], []),
        ("Bash", ["Bash"], ["BashOutput", "bash", ""]),
        ("Edit|Write", ["Edit", "Write"], ["NotebookEdit", "MultiEdit", "Edit|Write"]),
        ("Edit, Write", ["Edit", "Write"], ["NotebookEdit"]),
        ("code-reviewer", ["code-reviewer"], ["senior-code-reviewer"]),
        ("mcp__memory__.*", ["mcp__memory__add"], ["mcp__other__add"]),
        ("^Edit$", ["Edit"], ["NotebookEdit"]),
        ("Edit.*", ["Edit", "NotebookEdit"], ["Write"]),
        (".*", ["Bash", ""], []),
        (r"\d", ["a1"], ["a٣"]),
    ],
)
def test_matchers(matcher: str, fits: list[str], fits_not: list[str]) -> None:
    assert all(hook(matcher).matches(subject) for subject in fits)
    assert not any(hook(matcher).matches(subject) for subject in fits_not)


@pytest.mark.parametrize("event", [e for e in HookEvent if not EVENTS[e].subject])
def test_without_a_subject_every_hook_is_called(event: HookEvent) -> None:
    assert hook("Bash", event).matches("")
    assert hook("[", event).matches("")


def test_names_of_files_are_literal() -> None:
    watching = hook(".envrc|.env", HookEvent.FILE_CHANGED)
    assert watching.matches(".env") and watching.matches(".envrc")
    assert not watching.matches("xenv")


@pytest.mark.parametrize("matcher", ["Edit(", "*Edit", "[a", "(?<name>x)"])
def test_a_bad_expression_is_refused(matcher: str) -> None:
    with pytest.raises(InputError, match="no regular expression"):
        hook(matcher)


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "command"},
        {"kind": "http"},
        {"kind": "callable"},
        {"kind": "prompt"},
        {"kind": "agent", "prompt": "look"},
        {"kind": "http", "url": "ftp://host/"},
        {"kind": "http", "url": "file:///etc/passwd"},
        {"kind": "http", "url": "http://"},
        {"kind": "http", "url": "http://[x/"},
        {"command": "true", "timeout": 0},
        {"command": "true", "timeout": float("nan")},
        {"command": "true", "timeout": float("inf")},
        {"command": "true", "timeout": 10**400},
        {"command": "true", "shell": "powershell"},
    ],
)
def test_nonsense_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Hook(HookEvent.STOP, **changes)


@pytest.mark.parametrize("event", HookEvent)
def test_prompts_are_for_events_that_can_block(event: HookEvent) -> None:
    if EVENTS[event].can_block:
        assert Hook(event, "prompt", prompt="Fine?").seconds == 30
    else:
        with pytest.raises(InputError, match="blocks nothing"):
            Hook(event, "prompt", prompt="Fine?")


def test_time_and_names() -> None:
    assert Hook(HookEvent.STOP, command="true").seconds == EVENTS[HookEvent.STOP].timeout
    assert Hook(HookEvent.STOP, command="true", timeout=3).seconds == 3
    assert Hook(HookEvent.STOP, command="x" * 100).name == "x" * 59 + "…"
    assert Hook(HookEvent.STOP, "callable", function=print).name == "print"


def test_only_plain_names_are_watched() -> None:
    watching = Hook(HookEvent.FILE_CHANGED, command="true", matcher=".env|a.txt|x/y||*|..")
    assert watching.watches == (".env", "a.txt")
    assert Hook(HookEvent.FILE_CHANGED, command="true", matcher="*").watches == ()
    assert Hook(HookEvent.PRE_TOOL_USE, command="true", matcher="Bash").watches == ()
