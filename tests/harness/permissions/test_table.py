"""The table of who decides what, and once more as a sandbox shows the paths."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from harness.permissions.kit import World, call_of

from skilleval.harness.permissions import (
    Answer,
    Call,
    Capability,
    Classifier,
    Decision,
    HookVerdict,
    Mode,
    Rules,
    decide,
)

LINES = (Path(__file__).parent / "table.txt").read_text(encoding="utf-8").splitlines()
MODES = {"every": tuple(Mode), "others": tuple(m for m in Mode if m is not Mode.DONT_ASK)}


class Row(NamedTuple):
    line: int
    topic: str
    result: str
    mode: str
    setup: str
    call: str


def read_rows() -> list[Row]:
    rows, topic = [], ""
    for line, text in enumerate(LINES, 1):
        if text.startswith("#"):
            topic = text
        elif text:
            result, mode, setup, call = text.replace(" | | ", " |  | ", 1).split(" | ", 3)
            rows.append(Row(line, topic, result, mode, setup, call))
    return rows


def in_each_mode(rows: list[Row]) -> list[Any]:
    cases = []
    for row in rows:
        for mode in MODES.get(row.mode) or (Mode(row.mode),):
            name = f"{row.line} {mode}: {row.setup} | {row.call}"
            cases.append(pytest.param(row._replace(mode=mode), id=name))
    return cases


TABLE = read_rows()
WITH_PATHS = [row for row in TABLE if row.topic.endswith("(paths)")]


async def ask_model(kind: str, system: str) -> str:
    """A model that classifies: its first question wants one word, its second an object."""
    if kind == "error":
        raise ConnectionError("no model")
    if "one word" in system:
        return "SAFE" if kind == "yes" else "UNSURE"
    verdict = {"after thinking": "allow", "no": "deny"}.get(kind, "perhaps")
    return f'{{"decision": "{verdict}", "reason": "because"}}'


class Setup:
    """What stands in the third column."""

    def __init__(self, text: str) -> None:
        lists: dict[str, list[str]] = {"deny": [], "ask": [], "allow": []}
        one: dict[str, str] = {}
        for part in filter(None, (part.strip() for part in text.split(";"))):
            key, value = (each.strip() for each in part.split(":", 1))
            if key in lists:
                lists[key].append(value)
            else:
                one[key] = value
        self.rules = Rules.parse(**lists)
        behavior: Any = one.get("hook")
        self.hook = HookVerdict(behavior, "as it is set up", "guard") if behavior else None
        self.person = one.get("person", "no")
        self.model = one.get("model", "")
        self.asked = 0

    async def _answer(self, call: Call, needs: Sequence[Capability], reason: str) -> Answer:
        self.asked += 1
        if self.person == "broken":
            raise ConnectionError("nobody there")
        return Answer(self.person == "yes")

    def decide(self, call: Call, policy: Any) -> Decision:
        model = self.model
        return asyncio.run(
            decide(
                call,
                policy,
                hooks=self.hook,
                callback=None if self.person == "none" else self._answer,
                classifier=Classifier(lambda s, _: ask_model(model, s)) if model else None,
            )
        )


def check(row: Row, call: str, world: World, **more: Any) -> None:
    setup = Setup(world.fill(row.setup))
    policy = world.policy(Mode(row.mode), rules=setup.rules, **more)
    decision = setup.decide(call_of(call.replace("@300", "; ".join(["wc -l"] * 300))), policy)
    sign = "+" if decision.allowed else "?" if setup.asked and setup.person == "no" else "-"
    assert f"{sign} {decision.step}" == row.result, decision
    assert decision.step == "callback" or not setup.asked


def test_the_table_is_what_it_seems() -> None:
    assert len(TABLE) >= 150
    assert len({row[2:] for row in TABLE}) == len(TABLE)
    assert len(WITH_PATHS) >= 100


@pytest.mark.parametrize("row", in_each_mode(TABLE))
def test_row(row: Row, shared_place: World) -> None:
    check(row, shared_place.fill(row.call), shared_place)


@pytest.mark.parametrize("row", in_each_mode(WITH_PATHS))
def test_row_with_paths_of_a_sandbox(row: Row, shared_place: World) -> None:
    """Rules are about this machine's folders, calls about those that the sandbox shows."""
    mounts = (("/workspace", str(shared_place.workspace)), ("/more", str(shared_place.more)))
    call = row.call.replace("@ws", "/workspace").replace("@more", "/more")
    check(row, shared_place.fill(call), shared_place, mounts=mounts)


@pytest.mark.parametrize("mode", list(Mode))
def test_a_path_of_this_machine_is_denied_in_a_sandbox_as_well(
    shared_place: World, mode: Mode
) -> None:
    mounts = (("/workspace", str(shared_place.workspace)),)
    setup = Setup("deny: Read(secrets/**); hook: allow")
    policy = shared_place.policy(mode, rules=setup.rules, mounts=mounts)
    for path in ("/workspace/secrets/key", f"{shared_place.workspace}/secrets/key", "secrets/key"):
        for call in (Call("Read", {"file_path": path}), Call("Bash", {"command": f"cat {path}"})):
            assert setup.decide(call, policy).step == "deny rule", call
