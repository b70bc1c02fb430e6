"""``skilleval prompt``: the listing on standard output, what became of it on standard error."""

from __future__ import annotations

import json

import pytest
from cli.kit import DESCRIPTION, assert_one_clear_error, run, skill_md
from conftest import Write


def test_the_listing_and_nothing_else_is_on_standard_output(write: Write) -> None:
    write({"s/a/SKILL.md": skill_md("a"), "s/b/SKILL.md": skill_md("b")})
    result = run("prompt", "s")
    assert result.code == 0
    assert result.out.splitlines()[2:] == [f"- a: {DESCRIPTION}", f"- b: {DESCRIPTION}"]
    assert "2 skills on claude-sonnet-5-5: 2 whole; " in result.err
    assert "of 30,000 characters, about " in result.err


def test_what_is_lost_is_named(write: Write) -> None:
    write({f"s/k{n:02}/SKILL.md": skill_md(f"k{n:02}", "x" * 1_000) for n in range(12)})
    result = run("prompt", "s", "--model", "haiku-4-5")
    assert "7 whole, 5 name only; " in result.err
    assert [line.split()[2] for line in result.err.splitlines()[1:]] == [
        "k07:", "k08:", "k09:", "k10:", "k11:",
    ]  # fmt: skip
    assert result.out.splitlines()[-1] == "- k11"


def test_json_has_each_skill(write: Write) -> None:
    write({"s/a/SKILL.md": skill_md("a", extra="disable-model-invocation: true\n")})
    data = run("prompt", "s", "--format", "json").json
    assert data["budget"] == 30_000 and data["characters"] == 0 and data["text"] == ""
    (entry,) = data["skills"]
    assert entry["state"] == "hidden" and entry["name"] == "a" and entry["why"]


def test_a_budget_of_ones_own(write: Write) -> None:
    write({"s/a/SKILL.md": skill_md("a")})
    assert run("prompt", "s", "--budget", "3").out.splitlines()[-1] == "- a"
    result = run("prompt", "s", "--budget", "3", "--style", "documented")
    assert result.code == 2 and "--style claude-code" in result.err


@pytest.mark.parametrize("words", [["--model", "not a model", "s"], ["nowhere"], [""]])
def test_what_makes_no_sense_is_one_clear_error(write: Write, words: list[str]) -> None:
    write({"s/a/SKILL.md": skill_md("a")})
    assert_one_clear_error(run("prompt", *words))


def test_names_can_not_speak_to_the_terminal(write: Write) -> None:
    write({"s/a\x1b[31m/SKILL.md": skill_md("a", extra="disable-model-invocation: true\n")})
    result = run("prompt", "s")
    assert "\x1b" not in result.err and "a\\u{1b}[31m" in result.err
    assert (
        json.loads(run("prompt", "s", "--format", "json").out)["skills"][0]["name"] == "a\x1b[31m"
    )


def test_full_shows_the_whole_prompt_and_what_it_is_made_of(write: Write) -> None:
    write({"a/SKILL.md": skill_md("a"), "CLAUDE.md": "Use tabs.\n"})
    listing, full = run("prompt", "a"), run("prompt", "--full", "a")
    assert full.code == 0
    assert listing.out.strip() in full.out
    assert "Use tabs." in full.out
    found = [line.strip().split("  ")[0] for line in full.err.splitlines()[1:]]
    assert found == [
        "identity", "tools", "limits", "skills", "working directory", "instructions", "prefix",
    ]  # fmt: skip


def test_full_as_json_is_what_a_request_says(write: Write) -> None:
    write({"a/SKILL.md": skill_md("a"), "w/data.csv": "x"})
    data = run("prompt", "--full", "--workspace", "w", "--format", "json", "a").json
    assert [block["type"] for block in data["system"]] == ["text"] * 3
    assert "data.csv" in data["system"][2]["text"]
    assert {tool["name"] for tool in data["tools"]} >= {"Bash", "Read", "Skill", "Agent"}
    assert set(data["prefix_sha256"]) == {"tools", "catalog", "trial"}


def test_a_workspace_without_full_is_a_mistake(write: Write) -> None:
    write({"a/SKILL.md": skill_md("a")})
    done = run("prompt", "--workspace", ".", "a")
    assert done.code == 2 and "--workspace goes with --full" in done.err


def test_an_unknown_model_is_accepted_and_said_to_be_unknown(write: Write) -> None:
    write({"a/SKILL.md": skill_md("a")})
    done = run("prompt", "--model", "claude-sonet-5-5", "a")
    assert done.code == 0
    assert "unknown model claude-sonet-5-5" in done.err
    assert "200,000" in done.err
    assert "did you mean claude-sonnet-5-5?" in done.err
