"""Skill: the instructions of a skill, as Claude Code gives them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from skilleval.harness.tools.base import Block, Tool, ToolContext, ToolError, ToolResult
from skilleval.harness.tools.registry import tool

if TYPE_CHECKING:
    from skilleval.skill import Skill

__all__ = ["SkillTool", "forked", "skill_text", "wants_agent"]

_REFUSED = "[This command was not run: commands of skills are not allowed here.]"


@tool
class SkillTool(Tool):
    """Loads a skill."""

    name = "Skill"
    definition: Block = {  # noqa: RUF012 - never changed
        "name": "Skill",
        "description": "Load the instructions of a skill.\n"
        "They come as the next message. Load a skill once, and only one that is listed.",
        "input_schema": {
            "type": "object",
            "properties": {
                "skill": {"type": "string", "description": "its name, as listed"},
                "args": {
                    "type": "string",
                    "description": "what the instructions are to work on, such as names of files",
                },
            },
            "required": ["skill"],
            "additionalProperties": False,
            "examples": [{"skill": "pdf-tools", "args": "report.pdf"}],
        },
    }

    async def call(self, input: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Load a skill."""
        from skilleval.prompt import loading

        called = input["skill"]
        skill = loading.find_skill(context.skills, called)
        if skill is None:
            raise ToolError(loading.refusal(context.skills, called))
        if wants_agent(skill) and context.fork:
            return await forked(skill, called, input.get("args"), context)
        text = await skill_text(skill, input.get("args"), context)
        before, context.loaded[skill.folder] = context.loaded.get(skill.folder), text
        facts = {"skill": skill.name, "folder": skill.folder, "characters": len(text)}
        if before == text:
            after = [loading.already_loaded(called)]
        else:
            after = [*([loading.loaded_again(called)] if before is not None else []), text]
        return ToolResult(
            loading.launching(called),
            facts={**facts, "again": before is not None},
            after=tuple({"type": "text", "text": each} for each in after),
        )


def wants_agent(skill: Skill) -> bool:
    """Whether a skill is to be carried out by an agent of its own: ``context: fork``."""
    return _word(skill, "context") == "fork"


async def forked(
    skill: Skill, called: str, arguments: str | None, context: ToolContext
) -> ToolResult:
    """Have an agent follow a skill's instructions; the result has its last message.

    The frame around it is that of Claude Code 2.1.

    Raises:
        ToolError: no agent can be started.
    """
    from skilleval.prompt import loading

    if context.fork is None:
        raise ToolError("No agent can be started here.")
    text = await skill_text(skill, arguments, context)
    report = await context.fork(text, _word(skill, "agent"))
    return replace(
        report,
        content=loading.forked(called, str(report.content), failed=report.is_error),
        facts={
            **report.facts,
            "skill": skill.name,
            "folder": skill.folder,
            "characters": len(text),
            "route": "fork",
        },
    )


def _word(skill: Skill, key: str) -> str:
    """What frontmatter says under a key, as a text."""
    found = skill.front.fields.get(key)
    return ((found.text if found else "") or "").strip()


async def skill_text(skill: Skill, arguments: str | None, context: ToolContext) -> str:
    """The instructions, with the paths that the skill has inside."""
    from skilleval.prompt import loading

    inside = context.sandbox.inside
    folder, catalog = inside(skill.folder), skill.found.catalog
    loaded = loading.load_skill(
        skill,
        arguments,
        session_id=context.session_id,
        plugin_root=inside(catalog.folder) if catalog.plugin else None,
        variables={
            "CLAUDE_SKILL_DIR": folder,
            "CLAUDE_PROJECT_DIR": context.home,
        },
    )
    outputs = []
    for command in loaded.commands:
        run = context.run_preamble
        printed = await run(command.command) if run else None
        outputs.append(_REFUSED if printed is None else loading.shown_output(printed))
    text = loaded.text(outputs)
    start = "Base directory for this skill: "
    if text.startswith(start + skill.folder):
        text = start + folder + text[len(start + skill.folder) :]
    return text
