"""What a session remembers of its permissions: what was granted, and what was refused."""

from __future__ import annotations

from collections import Counter
from typing import Any, NoReturn

from skilleval.harness.permissions.model import Decision
from skilleval.harness.permissions.rules import Rule

__all__ = ["Denials", "Grants"]


class Grants:
    """Rules that somebody has granted for this session.

    They live in memory. There is no way to write them down: a resumed session starts with none,
    and asks again.
    """

    def __init__(self) -> None:
        self._rules: list[Rule] = []

    @property
    def rules(self) -> tuple[Rule, ...]:
        return tuple(self._rules)

    def add(self, text: str) -> None:
        """Grant a rule, written as in ``allow``.

        Raises:
            InputError: it is none.
        """
        rule = Rule.parse(text)
        if rule not in self._rules:
            self._rules.append(rule)

    def _never(self, *_: Any) -> NoReturn:
        raise TypeError("grants of a session are not stored")

    __reduce_ex__ = _never
    __getstate__ = _never


class Denials:
    """How often a session was refused something."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def record(self, decision: Decision) -> None:
        """Count a decision, if it is a denial."""
        if not decision.allowed:
            self._counts[decision.tool, decision.step] += 1

    @property
    def total(self) -> int:
        return self._counts.total()

    @property
    def counts(self) -> dict[tuple[str, str], int]:
        """How many, by tool and step."""
        return dict(self._counts)
