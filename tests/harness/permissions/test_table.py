"""The table of who decides what."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.permissions.kit import Asked, World, call_of, rules_of, run

from skilleval.harness.permissions import Mode

LINES = (Path(__file__).parent / "table.txt").read_text(encoding="utf-8").splitlines()
ROWS = [(at, line) for at, line in enumerate(LINES, 1) if line and not line.startswith("#")]


def test_the_table_is_long_enough() -> None:
    assert len(ROWS) >= 150
    assert len({line for _, line in ROWS}) == len(ROWS)


@pytest.mark.parametrize(("at", "line"), ROWS, ids=[f"{at}: {line}" for at, line in ROWS])
def test_row(at: int, line: str, shared_place: World) -> None:
    result, mode, rules, hook, call = shared_place.fill(line).split(" | ", 4)
    asked = Asked()
    policy = shared_place.policy(Mode(mode), rules=rules_of(rules))
    decision = run(call_of(call), policy, hook.strip(), asked)
    sign = "?" if asked.reasons else "+" if decision.allowed else "-"
    assert f"{sign} {decision.step}" == result, decision
