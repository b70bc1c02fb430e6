"""Decisions of a trace, for a person who has to sign them off.

Nothing is kept but counts: a trace can be as long as it likes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from skilleval.harness.permissions.model import Decision

__all__ = ["Audit", "audit_lines"]

_MOST_SHOWN = 12
_WIDEST = 200


class Audit:
    """Counts the decisions that pass through it."""

    def __init__(self) -> None:
        self.total = 0
        self.allowed = 0
        self.uncovered = 0
        self.uncovered_allowed = 0
        self.steps: Counter[tuple[str, bool]] = Counter()
        self.tools: Counter[tuple[str, bool]] = Counter()

    def add(self, decision: Decision) -> None:
        """Count a decision."""
        self.total += 1
        self.allowed += decision.allowed
        self.steps[decision.step, decision.allowed] += 1
        self.tools[decision.tool, decision.allowed] += 1
        if not decision.covered:
            self.uncovered += 1
            self.uncovered_allowed += decision.allowed

    def as_dict(self) -> dict[str, Any]:
        """The counts, for programs."""
        return {
            "total": self.total,
            "allowed": self.allowed,
            "denied": self.total - self.allowed,
            "uncovered": self.uncovered,
            "uncovered_allowed": self.uncovered_allowed,
            "steps": _table(self.steps),
            "tools": _table(self.tools),
        }


def _table(counts: Counter[tuple[str, bool]]) -> dict[str, dict[str, int]]:
    names = dict.fromkeys(name for name, _ in counts)
    return {n: {"allowed": counts[n, True], "denied": counts[n, False]} for n in names}


def audit_lines(events: Iterable[Mapping[str, Any]], audit: Audit | None = None) -> Iterator[str]:
    """The lines of a report on events of the type ``permission``; others are passed over.

    A ``!`` stands before every call that no rule covered.

    Raises:
        InputError: a permission event is broken.
    """
    audit = audit or Audit()
    for event in events:
        if event.get("type") != "permission":
            continue
        decision = Decision.from_event(event)
        audit.add(decision)
        yield from _lines(audit.total, decision, str(event.get("agent") or ""))
    yield ""
    yield from _summary(audit)


def _lines(number: int, decision: Decision, agent: str) -> Iterator[str]:
    verdict = "allowed" if decision.allowed else "DENIED"
    mark = " " if decision.covered else "!"
    where = f"  [{decision.id}]" if decision.id else ""
    where += f"  (agent {_short(agent)})" if agent else ""
    yield f"{mark} {number:>4}  {verdict}  {decision.tool}  {_short(_what(decision))}{where}"
    yield f"          by {decision.step}: {_short(decision.decided_by)}"
    if decision.reason:
        yield f"          why: {_short(decision.reason)}"
    needs = [str(each) for each in decision.capabilities]
    more = len(needs) - _MOST_SHOWN
    shown = ", ".join(needs[:_MOST_SHOWN]) + (f", and {more} more" if more > 0 else "")
    yield f"          needs: {shown or 'nothing that is known'}"


def _what(decision: Decision) -> str:
    """The part of an input that says most."""
    keys = ("command", "file_path", "notebook_path", "path", "pattern", "url", "skill")
    for key in keys:
        if isinstance(value := decision.input.get(key), str):
            return value
    return json.dumps(dict(decision.input), ensure_ascii=False, default=str)


def _short(text: str) -> str:
    more = len(text) - _WIDEST
    return text if more <= 0 else f"{text[:_WIDEST]}… [{more:,} more characters]"


def _summary(audit: Audit) -> Iterator[str]:
    denied = audit.total - audit.allowed
    yield f"{_count(audit.total, 'decision')}: {audit.allowed:,} allowed, {denied:,} denied"
    for title, counts in (("step", audit.steps), ("tool", audit.tools)):
        for name in dict.fromkeys(name for name, _ in counts):
            yes, no = counts[name, True], counts[name, False]
            yield f"  {title} {name}: {yes:,} allowed, {no:,} denied"
    if audit.uncovered:
        verb = "was" if audit.uncovered == 1 else "were"
        yield (
            f"{_count(audit.uncovered, 'call')} {verb} covered by no rule (marked !), "
            f"{audit.uncovered_allowed:,} of them allowed"
        )
    else:
        yield "every call was covered by a rule"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"
