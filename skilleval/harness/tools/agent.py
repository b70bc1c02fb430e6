"""Agent: a task for a model with a context of its own."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from skilleval.harness.tools.base import Block, Tool, ToolContext, ToolError, ToolResult
from skilleval.harness.tools.budgets import DEFAULT, Budgets
from skilleval.harness.tools.registry import tool

__all__ = ["Agent"]

_DEFINITION: Block = {
    "name": "Agent",
    "description": "Give a task to an agent that works on its own and reports back.\n"
    "It knows nothing of this conversation but what you write here. You get its last message. "
    "Several can work at once: call them together.",
    "input_schema": {
        "type": "object",
        "properties": {
            "description": {"type": "string", "description": "the task in three to five words"},
            "prompt": {"type": "string", "minLength": 1, "description": "what it is to achieve"},
            "output_format": {"type": "string", "description": "what its answer should look like"},
            "guidance": {"type": "string", "description": "which tools and sources to use"},
            "boundaries": {"type": "string", "description": "where its task ends"},
            "isolation": {
                "type": "string",
                "enum": ["worktree"],
                "description": "worktree: it works in a git working tree of its own",
            },
            "subagent_type": {"type": "string", "description": "the kind of agent"},
        },
        "required": ["description", "prompt"],
        "additionalProperties": False,
        "examples": [
            {
                "description": "Find the parser's tests",
                "prompt": "Find the tests of the parser below src.",
                "output_format": "their paths, one a line",
                "guidance": "Search with Grep and Glob.",
                "boundaries": "Change nothing.",
            }
        ],
    },
}


@tool
class Agent(Tool):
    """Starts a subagent."""

    name = "Agent"
    reads_only = True
    """They share nothing but the files, and who starts several wants them to work at once."""

    def __init__(self, budgets: Budgets = DEFAULT) -> None:
        """Define the tool; any kind of agent may be asked for."""
        self.definition = deepcopy(_DEFINITION)

    def offer(self, kinds: Mapping[str, str]) -> None:
        """Name the kinds of agents, with what each is for: only these may be asked for."""
        listed = "".join(f"\n- {name}: {text}" for name, text in kinds.items())
        self.definition["description"] += f"\nKinds of agents:{listed}"
        self.definition["input_schema"]["properties"]["subagent_type"]["enum"] = list(kinds)

    async def call(self, input: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Start a subagent and wait for its report."""
        if context.spawn is None:
            raise ToolError("No agent can be started here. Do the task yourself.")
        return await context.spawn(input)
