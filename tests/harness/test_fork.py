"""Skills with ``context: fork``: an agent follows them, and only its last message comes back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import write_files
from harness.kit import Turn, World, call, of, results, say

from skilleval.harness.permissions import Rules
from skilleval.harness.session import SessionLimits
from skilleval.prompt.catalog import Style
from skilleval.trace.reader import read_events

BODY = "Count the files of $ARGUMENTS in ${CLAUDE_SKILL_DIR}: CANARY.\n"


def skill(world: World, *lines: str, body: str = BODY) -> Path:
    """A catalog with one skill, whose frontmatter has these lines, too."""
    front = "\n".join(["---", "name: count", "description: Counts.", *lines, "---", ""])
    write_files(world.folder, {"skills/count/SKILL.md": front + body})
    return world.folder / "skills"


def script(parent: list[Turn], child: list[Turn]) -> dict[str, Any]:
    return {"turns": parent, "conversations": [{"when": "CANARY", "turns": child}]}


CALL = call("Skill", skill="count", args="src")
CHILD = [call("Bash", command="echo 7"), say("Seven files.")]


def theirs(world: World, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The trace of the agent that was started."""
    (started,) = of(events, "agent")
    return list(read_events(str(world.folder / started["trace"])))


def test_an_agent_follows_the_skill(world: World) -> None:
    events = world.run(
        script([CALL, say("There are seven.")], CHILD),
        "How many?",
        skills=skill(world, "context: fork"),
    )
    assert results(events) == [
        'Skill "count" completed (forked execution).\n\nResult:\nSeven files.'
    ]
    assert [(e["skill"], e["route"]) for e in of(events, "activation")] == [("count", "fork")]
    inside = theirs(world, events)
    (told,) = of(inside, "prompt")[0]["content"]
    assert told["text"] == (
        "Base directory for this skill: /skills/count\n\n"
        "Count the files of src in /skills/count: CANARY.\n"
    )
    assert "How many?" not in str(inside) and "CANARY" not in str(results(events))
    assert of(inside, "start")[0]["agent_type"] == "general-purpose"
    assert inside[-1]["outcome"] == "completed"
    assert world.last.ended and world.last.ended.text == "There are seven."


def test_the_skill_chooses_the_kind_of_agent(world: World) -> None:
    write_files(
        world.workspace,
        {
            ".claude/agents/looker.md": "---\nname: looker\ndescription: Looks.\ntools: Read\n---\n"
            "You only look.\n"
        },
    )
    catalog = skill(world, "context: fork", "agent: looker")
    events = world.run(script([CALL, say("ok")], [say("Seen.")]), skills=catalog)
    start = of(theirs(world, events), "start")[0]
    assert start["agent_type"] == "looker"
    assert [tool["name"] for tool in start["tools"]] == ["Read"]
    assert start["system"][0]["text"].startswith("You only look.")


def test_a_kind_that_is_not_there_is_the_general_one(world: World) -> None:
    catalog = skill(world, "context: fork", "agent: Explore")
    events = world.run(script([CALL, say("ok")], [say("Seen.")]), skills=catalog)
    assert of(theirs(world, events), "start")[0]["agent_type"] == "general-purpose"
    assert "there is no kind of agent 'Explore'" in str(of(events, "warning"))


def test_an_agent_that_does_not_finish_is_an_error(world: World) -> None:
    catalog = skill(world, "context: fork")
    endless = [{**call("Bash", command="echo"), "repeat": "forever"}]
    limits = SessionLimits(turns=3)
    events = world.run(script([CALL, say("ok")], endless), skills=catalog, limits=limits)
    (result,) = of(events, "result")
    assert result["is_error"] and "did not complete" in result["content"]
    assert "max turns" in result["content"]


def test_no_more_agents_than_a_session_may_have(world: World) -> None:
    catalog = skill(world, "context: fork")
    limits = SessionLimits(agents=1)
    events = world.run(
        script([CALL, CALL, say("ok")], [say("Seen.")]), skills=catalog, limits=limits
    )
    first, second = of(events, "result")
    assert not first["is_error"]
    assert second["is_error"] and "which is the limit" in second["content"]
    assert len(of(events, "activation")) == 1


def test_a_prompt_can_call_it(world: World) -> None:
    catalog = skill(world, "context: fork")
    events = world.run(script([say("Seven, then.")], CHILD), "/count src", skills=catalog)
    texts = [block["text"] for block in of(events, "prompt")[0]["content"]]
    assert texts[0] == "/count src"
    assert texts[1].endswith("Result:\nSeven files.") and "CANARY" not in str(texts)
    assert [event["route"] for event in of(events, "activation")] == ["slash"]
    assert world.last.ended and world.last.ended.text == "Seven, then."


@pytest.mark.parametrize(
    ("lines", "given"),
    [
        (["context: inline"], {}),
        ([], {}),
        (["context: fork"], {"limits": SessionLimits(depth=0)}),
        (["context: fork"], {"rules": Rules.parse(deny=["Agent"])}),
    ],
    ids=["another context", "none", "no depth", "agents are denied"],
)
def test_otherwise_it_is_loaded(world: World, lines: list[str], given: dict[str, Any]) -> None:
    catalog = skill(world, *lines)
    events = world.run([CALL, say("ok")], skills=catalog, **given)
    assert results(events) == ["Launching skill: count"]
    assert not of(events, "agent")
    assert [event["route"] for event in of(events, "activation")] == ["tool"]


def test_in_the_documented_style_it_is_an_ordinary_skill(world: World) -> None:
    catalog = skill(world, "context: fork")
    events = world.run([say("ok")], "/count src", skills=catalog, style=Style.DOCUMENTED)
    assert "CANARY" in str(of(events, "prompt")[0]["content"])
    assert not of(events, "agent")


def test_an_agent_of_a_skill_does_not_start_the_next(world: World) -> None:
    catalog = skill(world, "context: fork")
    child = [call("Skill", skill="count", args="again"), say("Done.")]
    events = world.run(script([CALL, say("ok")], child), skills=catalog)
    inside = theirs(world, events)
    assert results(inside) == ["Launching skill: count"]
    assert not of(inside, "agent")


def test_as_deep_as_agents_may_go_skills_do(world: World) -> None:
    outer = "---\nname: outer\ndescription: x\ncontext: fork\n---\nOUTER\n"
    write_files(world.folder, {"skills/outer/SKILL.md": outer})
    catalog = skill(world, "context: fork")
    turns = {
        "turns": [call("Skill", skill="outer"), say("ok")],
        "conversations": [
            {"when": "OUTER", "turns": [CALL, say("It says seven.")]},
            {"when": "CANARY", "turns": [say("Seven files.")]},
        ],
    }
    events = world.run(turns, skills=catalog, limits=SessionLimits(depth=2))
    assert results(theirs(world, events))[0].endswith("Result:\nSeven files.")


def test_commands_of_a_skill_in_an_agent_are_in_its_trace(world: World) -> None:
    catalog = skill(world, body="CANARY: !`echo $((6*7))`\n")
    task = {"description": "x", "prompt": "CANARY"}
    child = [call("Skill", skill="count"), say("Done.")]
    events = world.run(script([call("Agent", **task), say("ok")], child), skills=catalog)
    inside = theirs(world, events)
    assert "CANARY: 42" in str(of(inside, "result")[0]["after"])
    commands = [e["call"]["input"].get("command") for e in of(inside, "permission")]
    assert commands == [None, "echo $((6*7))"]
    assert len(of(events, "permission")) == 1
