"""The policies that match words and run shell blocks, in whole conversations."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from conftest import PROJECT
from models.offline.kit import (
    BASH,
    BODY,
    CSV,
    DOCUMENTED_LISTING,
    QUERY,
    READ,
    SKILL,
    asked,
    assistant,
    call,
    called,
    play,
    request,
    result,
    said,
    tool,
    user,
)
from models.offline.kit import text as block

from skilleval.models.offline.literal import EAGER, LITERAL, SHY, Literal
from skilleval.prompt.catalog import build_listing
from skilleval.skill import Skill, discover

LOADED = "Base directory for this skill: /s/csv-tidy\n\n" + BODY
COMMANDS = ["tidy.py orders.csv", "check /s/csv-tidy/rules"]
Carry = Callable[[str, dict[str, Any]], list[dict[str, Any]]]


def answers(body: str = LOADED, **printed: str) -> Carry:
    """Tools that hand over a body and print the same for each command."""

    def carry(name: str, given: dict[str, Any]) -> list[dict[str, Any]]:
        if name == "Skill":
            return [result(f"Launching skill: {given['skill']}"), block(body)]
        if name == "Read":
            return [result("1\t---\n2\tname: x\n3\t---\n" + body)]
        if given["command"].startswith("cat /s/"):
            return [result("---\nname: x\n---\n" + body)]
        return [result(printed.get("out", "ok"), is_error="error" in printed)]

    return carry


def inputs(messages: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    return [
        (part["name"], part["input"])
        for message in messages
        for part in message["content"]
        if part["type"] == "tool_use"
    ]


def last_text(messages: list[dict[str, Any]]) -> str:
    (part,) = messages[-1]["content"]
    return str(part["text"])


def test_loads_runs_and_reports() -> None:
    sent = play(LITERAL, asked(), answers(out="7 rows, 2 removed"))
    (_, skill), *ran = inputs(sent)
    assert skill == {"skill": "csv-tidy", "args": "orders.csv"}
    assert [given["command"] for _, given in ran] == COMMANDS
    assert all(given["description"] for _, given in ran)
    report = last_text(sent)
    assert "csv-tidy is loaded (score 0." in report
    assert report.count("7 rows, 2 removed") == 2
    assert "offline/literal is no language model: " in report


def test_the_documented_way_to_load() -> None:
    body = asked(listing=DOCUMENTED_LISTING, tools=[BASH, READ])
    (first, *ran) = inputs(play(LITERAL, body, answers(BODY)))
    assert first == ("Read", {"file_path": "/s/csv-tidy/SKILL.md"})
    assert [given["command"] for _, given in ran] == COMMANDS


def test_loading_with_a_shell_only() -> None:
    body = asked(listing=DOCUMENTED_LISTING, tools=[BASH])
    (first, *ran) = inputs(play(LITERAL, body, answers(BODY)))
    assert first[1]["command"] == "cat /s/csv-tidy/SKILL.md"
    assert [given["command"] for _, given in ran] == COMMANDS


@pytest.mark.parametrize(
    "message", [user(block(QUERY), block(LOADED)), f"{QUERY}\n\n{LOADED}", user(block(LOADED))]
)
def test_instructions_that_are_there_are_not_loaded_again(message: Any) -> None:
    ran = inputs(play(LITERAL, request(message, tools=[SKILL, BASH]), answers()))
    assert [name for name, _ in ran] == ["Bash", "Bash"]


def test_no_arguments_without_files() -> None:
    name, given = called(LITERAL.answer(asked("Remove duplicate rows of my messy spreadsheet")))
    assert (name, given) == ("Skill", {"skill": "csv-tidy"})


def test_files_are_quoted_for_a_shell() -> None:
    _, given = called(LITERAL.answer(asked('Remove duplicate rows of "my orders.csv" and b.csv')))
    assert given["args"] == "'my orders.csv' b.csv"


def test_no_match() -> None:
    text = said(LITERAL.answer(asked("Write a poem about the messy sea.")))
    assert "No skill fits the query. The nearest is csv-tidy with a score of 0." in text
    assert "0.43 is needed" in text
    assert "no language model" in text


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (asked("Sing."), "No skill has a word in common with the query."),
        (asked(listing=""), "lists no skills"),
        (asked(tools=[BASH, READ]), "there is no tool to load it with"),
        (asked(tools=[]), "there is no tool to load it with"),
        (asked(tool_choice={"type": "none"}), "there is no tool to load it with"),
    ],
)
def test_why_not(body: dict[str, Any], words: str) -> None:
    assert words in said(LITERAL.answer(body))


def test_a_skill_that_can_not_be_loaded() -> None:
    def carry(name: str, given: dict[str, Any]) -> list[dict[str, Any]]:
        return [result("<tool_use_error>Unknown skill: csv-tidy</tool_use_error>", is_error=True)]

    sent = play(LITERAL, asked(), carry)
    assert len(sent) == 2
    assert "loading it failed: <tool_use_error>Unknown skill" in last_text(sent)


def test_a_skill_that_answers_by_itself() -> None:
    def carry(name: str, given: dict[str, Any]) -> list[dict[str, Any]]:
        return [result('Skill "csv-tidy" completed (forked execution).\n\nAll clean.')]

    assert "was called and answered:\n\nSkill" in last_text(play(LITERAL, asked(), carry))


def test_failures_are_reported_and_the_rest_goes_on() -> None:
    sent = play(LITERAL, asked(), answers(out="Exit code 2\nno such file", error="yes"))
    assert len(inputs(sent)) == 3
    assert "2 commands, of which 2 failed" in last_text(sent)
    assert last_text(sent).count("failed: Exit code 2") == 2


def test_without_a_shell_the_commands_are_told() -> None:
    sent = play(LITERAL, asked(tools=[SKILL]), answers())
    assert len(sent) == 2
    text = last_text(sent)
    assert "There is no tool to run commands with" in text
    assert all(command in text for command in COMMANDS)


def test_nothing_to_run() -> None:
    sent = play(LITERAL, asked(), answers("Base directory for this skill: /s/x\n\nJust think."))
    assert "nothing to run" in last_text(sent)


def test_ten_commands_and_no_more() -> None:
    body = "Base directory for this skill: /s/csv-tidy\n\n"
    body += "\n\n".join(f"```sh\nstep {number % 12}\n```" for number in range(24))
    sent = play(LITERAL, asked(), answers(body))
    assert [given["command"] for _, given in inputs(sent)[1:]] == [f"step {n}" for n in range(10)]
    assert "2 further blocks were left out" in last_text(sent)


def test_long_outputs_are_cut_in_the_report() -> None:
    text = last_text(play(LITERAL, asked(), answers(out="x" * 5_000)))
    assert "[3,000 more characters not repeated]" in text
    assert len(text) < 5_500


def test_the_second_query_starts_anew() -> None:
    first = asked()
    earlier = [
        first["messages"][0], assistant(call("Skill", "a", skill="csv-tidy", args="orders.csv")),
        user(result("ok", "a"), block(LOADED)), assistant(call("Bash", "b", command=COMMANDS[0])),
        user(result("ok", "b")), assistant(block("Done.")),
    ]  # fmt: skip
    body = first | {
        "messages": [*earlier, {"role": "user", "content": "Remove duplicates in b.csv"}]
    }
    name, given = called(LITERAL.answer(body))
    assert (name, given["args"]) == ("Skill", "b.csv")

    def carry(name: str, given: dict[str, Any]) -> list[dict[str, Any]]:
        again = "Skill /csv-tidy is already loaded above; instructions unchanged."
        return (
            [result("Launching skill: csv-tidy"), block(again)] if name == "Skill" else [result("")]
        )

    ran = inputs(play(LITERAL, body, carry))
    assert [given["command"] for _, given in ran[1:]] == ["tidy.py b.csv", COMMANDS[1]]


def test_required_fields_of_other_harnesses() -> None:
    odd = tool("bash", "command", "reason")
    body = request(user(block(QUERY), block(LOADED)), tools=[odd])
    assert called(LITERAL.answer(body)) == ("bash", {"command": COMMANDS[0], "reason": "reason"})


def test_reminders_in_results_are_not_repeated() -> None:
    def carry(name: str, given: dict[str, Any]) -> list[dict[str, Any]]:
        if name == "Skill":
            return [result("ok"), block(LOADED)]
        return [result("fine\n\n<system-reminder>\nsecret\n</system-reminder>")]

    text = last_text(play(LITERAL, asked(), carry))
    assert "fine" in text and "secret" not in text


def test_the_policies_differ_by_their_threshold_only() -> None:
    vague = asked("Something is messy.")
    assert EAGER.threshold < LITERAL.threshold < SHY.threshold
    assert called(EAGER.answer(vague))[1]["skill"] == "csv-tidy"
    assert "No skill fits" in said(LITERAL.answer(vague))
    assert "No skill fits" in said(SHY.answer(asked()))
    sure = asked(f"{CSV}")
    for policy in (EAGER, LITERAL, SHY):
        assert called(policy.answer(sure))[0] == "Skill"


def activation(policy: Literal) -> tuple[float, float]:
    """How often a skill is loaded where it should be, and where it should not, in our suites."""
    skills = [Skill(found) for found in discover([str(PROJECT / "skills")]).skills]
    listing = build_listing(skills).text
    suites = [PROJECT / "evals" / "which-skill.json"]
    suites += sorted((PROJECT / "skills").glob("*/evals/evals.json"))
    hits: dict[bool, list[bool]] = {True: [], False: []}
    for suite in suites:
        for record in json.loads(suite.read_text(encoding="utf-8")):
            (part,) = policy.answer(asked(record["query"], listing)).content
            loaded = part["input"]["skill"] if part["type"] == "tool_use" else None
            hit = loaded in record["skills"] if record["skills"] else loaded is not None
            hits[record["should_trigger"]].append(hit)
    return sum(hits[True]) / len(hits[True]), sum(hits[False]) / len(hits[False])


def test_activation_on_the_sample_suites() -> None:
    """Literal is clearly the best; the others err on their side."""
    (good, bad), (eager, too_often), (shy, never) = map(activation, (LITERAL, EAGER, SHY))
    assert good > 0.8 and bad < 0.3
    assert eager > 0.95 and too_often > 0.6
    assert shy < 0.3 and never < 0.05
    assert good - bad > max(eager - too_often, shy - never) + 0.2
