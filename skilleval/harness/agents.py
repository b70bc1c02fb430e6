"""Kinds of subagents: what ``.claude/agents/*.md`` says, and the one that is always there."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from dataclasses import dataclass

from skilleval.errors import InputError
from skilleval.skill.frontmatter import State, read_frontmatter
from skilleval.skill.tools import tool_names

__all__ = ["GENERAL", "AgentType", "names", "read_agents", "task_prompt"]

_LARGEST = 200_000
"""Bytes of a definition."""


@dataclass(frozen=True)
class AgentType:
    """A kind of subagent.

    Attributes:
        name: what the Agent tool calls it by.
        description: what it is for.
        instructions: its part of the system prompt.
        tools: the names of those that it may use; None for all that its parent may.
        model: which model it wants; empty for its parent's.
    """

    name: str
    description: str
    instructions: str = ""
    tools: tuple[str, ...] | None = None
    model: str = ""


GENERAL = AgentType(
    "general-purpose",
    "Carries out a task of several steps on its own, and reports.",
)


def read_agents(folder: str) -> list[AgentType]:
    """The kinds that a folder's ``.claude/agents`` defines, and the general one.

    Raises:
        InputError: a definition makes no sense; it says which.
    """
    found = [GENERAL]
    pattern = os.path.join(glob.escape(folder), ".claude", "agents", "*.md")
    for path in sorted(glob.glob(pattern)):
        agent = _read(path)
        if any(agent.name == other.name for other in found[1:]):
            raise InputError(f"{path}: there is another agent called {agent.name}")
        found = [other for other in found if other.name != agent.name] + [agent]
    return found


def _read(path: str) -> AgentType:
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise InputError(f"can't read {path}: {error.strerror}") from None
    if len(data) > _LARGEST:
        raise InputError(f"{path} is larger than {_LARGEST:,} bytes")
    text = data.decode("utf-8", "replace")
    front = read_frontmatter(text)
    if front.state is not State.OK or front.problem:
        why = front.problem.message if front.problem else "it has no frontmatter"
        raise InputError(
            f"{path}: {why}", remedy="An agent's file begins with name and description."
        )
    fields = front.fields
    name = (fields["name"].text if "name" in fields else "") or ""
    description = (fields["description"].text if "description" in fields else "") or ""
    if not name or not description:
        missing = "description" if name else "name"
        raise InputError(f"{path}: it has no {missing}", remedy="Both have to be there.")
    tools = tuple(tool_names(fields["tools"])) if "tools" in fields else None
    model = (fields["model"].text if "model" in fields else "") or ""
    inherited = model in ("", "inherit")
    body = text[front.body :].strip()
    return AgentType(name, description, body, tools, "" if inherited else model)


def task_prompt(objective: str, output_format: str, guidance: str, boundaries: str) -> str:
    """What a subagent is told: all that it knows of its parent's work."""
    parts = [
        ("Objective", objective),
        ("Output format", output_format),
        ("Guidance", guidance),
        ("Boundaries", boundaries),
    ]
    return "\n\n".join(f"{title}: {text.strip()}" for title, text in parts if text.strip())


def names(agents: Iterable[AgentType]) -> str:
    """The kinds with what they are for, a line each."""
    return "\n".join(f"- {agent.name}: {agent.description}" for agent in agents)
