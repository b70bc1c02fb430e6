"""Settings of the harness, in ``skilleval.toml`` or ``pyproject.toml``.

``[harness]`` in the one, ``[tool.skilleval.harness]`` in the other, with the tables ``budgets``,
``thresholds`` and ``sandbox-limits`` below it. What a session may do (mode, rules, network) is
no setting: such a file may have come with a repository that somebody else wrote.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from skilleval.errors import InputError, SettingsError
from skilleval.harness.context.manager import EDITS, Thresholds
from skilleval.harness.sandbox.policy import Limits
from skilleval.harness.tools.budgets import Budgets
from skilleval.settings import find_table

if TYPE_CHECKING:
    from skilleval.harness.opening import Setup

__all__ = ["MOST", "HarnessSettings", "read_harness"]

MOST = 10**12
"""The largest number that a setting may be."""

_PARTS: dict[str, Budgets | Thresholds | Limits] = {
    "budgets": Budgets(),
    "thresholds": Thresholds(),
    "sandbox_limits": Limits(),
}
"""The tables below ours, each with what holds where it says nothing."""


@dataclass(frozen=True)
class HarnessSettings:
    """What a settings file says of sessions; everything is optional.

    Attributes:
        budgets: how much a tool may give back at once.
        thresholds: when the context is made smaller.
        sandbox_limits: what one command may use.
        background: whether the model may leave commands running in the background.
        context_management: what the API itself is asked to do to make room, in place of our own
            shapers: names of ``EDITS``; ``true`` in a file means all of them.
    """

    budgets: Budgets = field(default_factory=Budgets)
    thresholds: Thresholds = field(default_factory=Thresholds)
    sandbox_limits: Limits = field(default_factory=Limits)
    background: bool = False
    context_management: tuple[str, ...] = ()

    def applied(self, setup: Setup) -> Setup:
        """A setup with these settings."""
        return replace(setup, **{each.name: getattr(self, each.name) for each in fields(self)})


def read_harness(folder: str = ".") -> HarnessSettings:
    """The settings that hold in a folder.

    Raises:
        SettingsError: a settings file is broken or says something that makes no sense.
    """
    found = find_table("harness", folder)
    return _settings(*found) if found else HarnessSettings()


def _settings(path: str, table: Mapping[str, Any]) -> HarnessSettings:
    where = f"{path}: [harness]"
    given = _named(where, table, (each.name for each in fields(HarnessSettings)))
    for name, usual in _PARTS.items():
        if name in given:
            part = f"{path}: [harness.{_written(name)}]"
            given[name] = _numbers(part, usual, given[name])
    if not isinstance(given.get("background", False), bool):
        raise SettingsError(f"{where}: background must be true or false")
    if "context_management" in given:
        given["context_management"] = _edits(where, given["context_management"])
    return HarnessSettings(**given)


def _written(name: str) -> str:
    return name.replace("_", "-")


def _named(where: str, table: object, names: Iterable[str]) -> dict[str, Any]:
    """A table by the names of attributes; each of its keys has to be one as it is written."""
    if not isinstance(table, dict):
        raise SettingsError(f"{where} is not a table")
    written = {_written(name): name for name in names}
    for key in table:
        if key not in written:
            raise SettingsError(f"{where}: there is no setting {key}", remedy=_meant(key, written))
    return {written[key]: value for key, value in table.items()}


def _meant(said: str, names: Iterable[str]) -> str:
    """Which name was probably meant, and which there are."""
    known = list(names)
    close = difflib.get_close_matches(said[:80].replace("_", "-"), known, n=1)
    hint = f"Did you mean {close[0]}? " if close else ""
    return f"{hint}There are: {', '.join(known)}."


def _numbers(
    where: str, default: Budgets | Thresholds | Limits, table: object
) -> Budgets | Thresholds | Limits:
    given = _named(where, table, (each.name for each in fields(default)))
    for name, value in given.items():
        usual, place = getattr(default, name), f"{where}: {_written(name)}"
        if isinstance(usual, tuple):
            if not isinstance(value, list):
                raise SettingsError(f"{place} must be a list of numbers")
            given[name] = tuple(_number(place, each, whole=False) for each in value)
        else:
            given[name] = _number(place, value, whole=isinstance(usual, int))
    try:
        made = replace(default, **given)
    except InputError as error:
        raise SettingsError(f"{where}: {error.message}") from None
    if isinstance(made, Budgets) and made.bash_timeout_ms > made.bash_longest_ms:
        raise SettingsError(f"{where}: bash-timeout-ms is more than bash-longest-ms")
    return made


def _number(place: str, value: object, *, whole: bool) -> Any:
    kinds = int if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise SettingsError(f"{place} must be a {'whole ' if whole else ''}number")
    if not 0 < value <= MOST:
        raise SettingsError(f"{place} must lie above 0, and be {MOST:,} at most")
    return value


def _edits(where: str, value: object) -> tuple[str, ...]:
    place = f"{where}: context-management"
    if isinstance(value, bool):
        return EDITS if value else ()
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise SettingsError(f"{place} must be true, false, or a list of names")
    for name in value:
        if name not in EDITS:
            raise SettingsError(f"{place}: {name[:80]!r} is none", remedy=_meant(name, EDITS))
    return tuple(name for name in EDITS if name in value)
