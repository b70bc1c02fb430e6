"""The tools are few, well named, and always the same."""

from __future__ import annotations

import json
import re

import pytest
from harness.tools.kit import TOOLS, call, text, trouble
from jsonschema import Draft202012Validator

from skilleval.harness.tools import ToolContext, ToolResult, standard_tools


def test_all_tools_in_order() -> None:
    names = ["Read", "Write", "Edit", "Glob", "Grep", "Bash", "Skill", "Agent", "memory"]
    assert [tool.name for tool in standard_tools(agents={"a": "b"})] == names
    assert [tool.name for tool in standard_tools()] == [n for n in names if n != "Agent"]
    fewer = standard_tools(skills=False, memory=False, without=["Grep"])
    assert [tool.name for tool in fewer] == ["Read", "Write", "Edit", "Glob", "Bash"]
    with pytest.raises(ValueError, match="Gerp"):
        standard_tools(without=["Gerp"])


def test_definitions_are_the_same_every_time() -> None:
    one, two = ([tool.definition for tool in standard_tools(agents={"a": "b"})] for _ in range(2))
    assert json.dumps(one) == json.dumps(two)
    one[0]["name"] = "changed"
    assert standard_tools()[0].definition["name"] == "Read"


@pytest.mark.parametrize("name", [name for name in TOOLS if name != "memory"])
def test_definitions(name: str) -> None:
    definition = TOOLS[name].definition
    assert definition["name"] == name and re.fullmatch("[A-Za-z_]{1,64}", name)
    first = definition["description"].split("\n")[0]
    assert first.endswith(".") and len(first) < 90
    Draft202012Validator.check_schema(definition["input_schema"])
    assert definition["input_schema"]["additionalProperties"] is False
    for about in definition["input_schema"]["properties"].values():
        assert about["description"]


def test_who_only_reads() -> None:
    assert [name for name, tool in TOOLS.items() if tool.reads_only] == [
        "Read",
        "Glob",
        "Grep",
        "Agent",
    ]


def test_the_agent_tool_asks_who_can_spawn(context: ToolContext) -> None:
    given = {"description": "x", "prompt": "do", "subagent_type": "general-purpose"}
    assert "No agent" in trouble(call(context, "Agent", **given))
    asked = []

    async def spawn(input: object) -> ToolResult:
        asked.append(input)
        return ToolResult("done")

    context.spawn = spawn
    assert text(call(context, "Agent", **given)) == "done"
    assert asked == [given]
    definition = TOOLS["Agent"].definition
    assert "- general-purpose: any task" in definition["description"]
    kinds = definition["input_schema"]["properties"]["subagent_type"]["enum"]
    assert kinds == ["general-purpose"]
