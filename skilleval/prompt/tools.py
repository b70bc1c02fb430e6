"""The tools that the prompt speaks of, as requests define them; the harness carries them out."""

from __future__ import annotations

from typing import Any

__all__ = ["BASH", "READ", "SKILL", "Tool", "tools_of"]

from skilleval.prompt.catalog import Style

Tool = dict[str, Any]
"""A tool's definition in the form of the Messages API."""


def _tool(name: str, description: str, required: dict[str, str], optional: dict[str, str]) -> Tool:
    properties = {
        key: {"type": "integer" if key in _NUMBERS else "string", "description": text}
        for key, text in {**required, **optional}.items()
    }
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    return {"name": name, "description": description, "input_schema": schema}


_NUMBERS = {"offset", "limit", "timeout"}

SKILL = _tool(
    "Skill",
    "Load the instructions of a skill.\n"
    "They come as the next message. Load a skill once, and only one that is listed.",
    {"skill": "its name, as listed"},
    {"args": "what the skill's instructions are to work on, such as names of files"},
)
BASH = _tool(
    "Bash",
    "Run a command in a shell.\n"
    "The working directory is kept from call to call. Output and errors come back together.",
    {"command": "the command"},
    {"timeout": "seconds after which it is stopped", "description": "what it does, in a few words"},
)
READ = _tool(
    "Read",
    "Read a file.\nLines are numbered. A long file comes in parts.",
    {"file_path": "its path"},
    {"offset": "the first line to read, from 1", "limit": "how many lines to read"},
)


def tools_of(style: Style) -> tuple[Tool, ...]:
    """The tools that go with a style: the Skill tool is Claude Code's way to load a skill."""
    return (BASH, READ, SKILL) if style is Style.CLAUDE_CODE else (BASH, READ)
