"""Skill: the instructions as Claude Code gives them, with the paths of the sandbox."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import write_files
from harness.tools.kit import call, make_context, text, trouble

from skilleval.harness.tools import ToolContext, ToolResult
from skilleval.skill import Skill, discover

pytest.importorskip("skilleval.prompt.loading")

FRONT = "---\nname: greet\ndescription: Greets.\n---\n"


def with_skill(root: Path, body: str, kind: str = "auto", **settings: Any) -> ToolContext:
    """A session that can load one skill."""
    write_files(root, {"skills/greet/SKILL.md": FRONT + body})
    skills = [Skill(found) for found in discover([str(root / "skills")]).skills]
    return make_context(root, kind, skills=skills, **settings)


def instructions(result: ToolResult) -> str:
    """The text that follows the result."""
    (block,) = result.after
    assert block["type"] == "text"
    return str(block["text"])


def test_a_skill_is_loaded_once(tmp_path: Path) -> None:
    context = with_skill(tmp_path, "Say hello.\n")
    result = call(context, "Skill", skill="greet")
    assert text(result) == "Launching skill: greet"
    assert instructions(result) == "Base directory for this skill: /skills/greet\n\nSay hello.\n"
    assert result.facts["skill"] == "greet" and not result.facts["again"]
    again = call(context, "Skill", skill="greet")
    assert "already loaded" in instructions(again) and again.facts["again"]


def test_other_arguments_load_it_again(tmp_path: Path) -> None:
    context = with_skill(tmp_path, "Greet $ARGUMENTS in ${CLAUDE_SESSION_ID}.\n", session_id="s1")
    first = instructions(call(context, "Skill", skill="greet", args="Ann"))
    assert first.endswith("Greet Ann in s1.\n")
    result = call(context, "Skill", skill="greet", args="Bob")
    note, second = (block["text"] for block in result.after)
    assert "Re-invocation" in note and second.endswith("Greet Bob in s1.\n")


def test_paths_are_those_inside(tmp_path: Path) -> None:
    context = with_skill(tmp_path, "Run ${CLAUDE_SKILL_DIR}/x in ${CLAUDE_PROJECT_DIR}.\n")
    said = instructions(call(context, "Skill", skill="greet"))
    assert said.endswith("Run /skills/greet/x in /workspace.\n") and str(tmp_path) not in said


def test_commands_go_through_the_hook(tmp_path: Path) -> None:
    asked: list[str] = []

    async def run(command: str) -> str | None:
        asked.append(command)
        return None if "rm" in command else "Monday\n"

    context = with_skill(tmp_path, "Today: !`date`\nAway: !`rm -r x`\n", run_preamble=run)
    said = instructions(call(context, "Skill", skill="greet"))
    assert asked == ["date", "rm -r x"]
    assert "Today: Monday\n" in said and "was not run" in said
    context = with_skill(tmp_path, "Today: !`date`\n")
    assert "was not run" in instructions(call(context, "Skill", skill="greet"))


def test_an_unknown_skill(tmp_path: Path) -> None:
    context = with_skill(tmp_path, "x")
    said = trouble(call(context, "Skill", skill="greeet"))
    assert said == "<tool_use_error>Unknown skill: greeet</tool_use_error>"
