"""Commands that are made to be slow, deep or large are answered soon, and never by a rule."""

from __future__ import annotations

import time

import pytest
from harness.permissions.kit import World, bash, run

from skilleval.harness.permissions import Call, Mode, Rules

SIZE = 120_000
HOSTILE = {
    "pipes": "|" * SIZE,
    "arrays": "a=(" * (SIZE // 3),
    "parentheses": "( " * 20_000 + "a" + ")" * 20_000,
    "substitutions": "$(" * 30_000 + "a" + ")" * 30_000,
    "expansions": "echo " + "${x:-" * 15_000 + "}" * 15_000,
    "braces": "echo " + "{a,b}" * 20_000,
    "open braces": "echo " + "a{" * 50_000,
    "here-documents": "cat <<A\n" * 10_000,
    "evals": "eval " * 20_000 + "ls",
    "envs": "env " * 25_000 + "ls",
    "unknown options": "sudo -Z " * 10_000 + "ls",
    "too long": "ls " + "a" * 200_000,
    "quotes": "echo " + "'\"" * 50_000,
}
LONG = {
    "commands": "ls; " * 20_000,
    "arguments": "ls " + "a " * 50_000,
    "redirections": "ls " + ">/dev/null " * 10_000,
    "pipeline": "ls" + " | ls" * 15_000,
    "and": "ls" + " && ls" * 15_000,
}
RULES = Rules.parse(
    ["Bash(rm:*)", "Bash(git push:*)", "Read(./secrets/**)", "Edit(.env)"], ["Bash(* x)"], ["Bash"]
)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(name: str, place: World) -> None:
    start = time.monotonic()
    decision = bash(HOSTILE[name], place.policy(Mode.DEFAULT, rules=RULES))
    assert time.monotonic() - start < 8
    assert not decision.allowed


@pytest.mark.parametrize("name", LONG)
def test_long_ones_are_read_to_the_end(name: str, place: World) -> None:
    policy = place.policy(Mode.DEFAULT, rules=RULES)
    start = time.monotonic()
    assert bash(LONG[name], policy).step == "allow rule"
    assert bash(LONG[name] + "\nrm x", policy).step == "deny rule"
    assert time.monotonic() - start < 16


def test_a_thousand_files_are_all_checked(place: World) -> None:
    files = " ".join(f"f{n}" for n in range(1_000))
    assert bash(f"rm {files}", place.policy(Mode.ACCEPT_EDITS)).step == "mode"
    assert bash(f"rm {files} ../x", place.policy(Mode.ACCEPT_EDITS)).step == "callback"


def test_an_event_stays_small(place: World) -> None:
    decision = run(Call("Write", {"file_path": "x", "content": "y" * 100_000}), place.policy())
    event = decision.to_event()
    assert len(event["call"]["input"]["content"]) < 2_100
    assert "98,000 more characters" in event["call"]["input"]["content"]
    many = bash("cat " + " ".join(f"f{n}" for n in range(1_000)), place.policy())
    assert len(many.to_event()["capabilities"]) == 201
    assert len(many.capabilities) > 1_000
