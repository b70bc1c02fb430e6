"""Settings for linting, in ``skilleval.toml`` or ``pyproject.toml``.

``[lint]`` in the one, ``[tool.skilleval.lint]`` in the other, from the working directory up
to the top of its repository; the nearest file with such a table holds.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from skilleval.errors import InputError, SettingsError
from skilleval.lint.engine import Options, unknown_rule
from skilleval.lint.model import ALL, Severity, Target
from skilleval.lint.registry import all_rules, rules_by_id
from skilleval.settings import find_table

__all__ = ["FAIL_ON", "LintSettings", "choose_rules", "read_settings"]

FailOn = Literal["error", "warning", "note", "never"]
FAIL_ON: tuple[str, ...] = get_args(FailOn)


@dataclass
class LintSettings:
    """What a settings file says; everything is optional.

    Attributes:
        path: the file, or None where there is none.
        select: ids or groups of the rules to run (default: all).
        ignore: ids or groups to leave out.
        exclude: git-style patterns of paths that are not searched for skills.
        per_path: patterns of paths, each with ids or groups to leave out there.
        severity: other severities for some rules or groups.
        targets: whose contract counts.
        fail_on: the least severity that makes the command fail.
        baseline: path of a baseline, from the settings file's folder.
    """

    select: list[str] = field(default_factory=list)
    ignore: list[str] = field(default_factory=list)
    exclude: list[str] = field(default_factory=list)
    per_path: dict[str, list[str]] = field(default_factory=dict)
    severity: dict[str, Severity] = field(default_factory=dict)
    targets: list[Target] = field(default_factory=list)
    fail_on: FailOn = "error"
    baseline: str | None = None
    path: str | None = field(default=None, init=False)

    @property
    def folder(self) -> str | None:
        """The folder of the file: what the paths and patterns in it count from."""
        return os.path.dirname(self.path) if self.path else None

    def options(
        self,
        targets: Sequence[Target] = (),
        select: Sequence[str] = (),
        ignore: Sequence[str] = (),
        suppressions: bool = True,
    ) -> Options:
        """What to run, the command line's words before the file's."""
        chosen = targets or self.targets
        rules = choose_rules(select or self.select) if select or self.select else None
        left_out = choose_rules([*(() if select else self.ignore), *ignore])
        if left_out:
            rules = (rules or frozenset(rules_by_id())) - left_out
        return Options(
            targets=tuple(t for t in ALL if t in chosen) if chosen else ALL,
            rules=rules,
            severity={
                rule: level
                for name, level in self.severity.items()
                for rule in choose_rules([name])
            },
            per_path=[(pattern, choose_rules(ids)) for pattern, ids in self.per_path.items()],
            base=self.folder,
            suppressions=suppressions,
        )


def choose_rules(names: Iterable[str]) -> frozenset[str]:
    """The rules that ids, groups and ``all`` name.

    Raises:
        InputError: there is no such rule or group.
    """
    chosen: set[str] = set()
    groups = {rule.group for rule in all_rules()}
    for name in names:
        if name == "all":
            chosen.update(rules_by_id())
        elif name in groups:
            chosen.update(rule.id for rule in all_rules() if rule.group == name)
        elif name in rules_by_id():
            chosen.add(name)
        else:
            raise InputError(unknown_rule(name))
    return frozenset(chosen)


def read_settings(folder: str = ".") -> LintSettings:
    """The settings that hold in a folder.

    Raises:
        SettingsError: a settings file is broken or says something that makes no sense.
    """
    found = find_table("lint", folder)
    return _settings(*found) if found else LintSettings()


def _settings(path: str, table: dict[str, Any]) -> LintSettings:
    from pydantic import TypeAdapter, ValidationError  # only where there are settings

    written = {name.replace("_", "-"): name for name in _names()}
    unknown = [key for key in table if key not in written]
    if unknown:
        raise SettingsError(
            f"{path}: there is no setting {unknown[0]}",
            remedy=f"The settings are: {', '.join(written)}.",
        )
    values = {written[key]: value for key, value in table.items()}
    try:
        settings = TypeAdapter(LintSettings).validate_python(values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]).replace("_", "-")
        raise SettingsError(
            f"{path}: {where}: {first['msg']}",
            remedy=f"The settings are: {', '.join(written)}.",
        ) from None
    settings.path = path
    try:
        choose_rules([*settings.select, *settings.ignore, *settings.severity])
        for ids in settings.per_path.values():
            choose_rules(ids)
    except InputError as error:
        raise SettingsError(f"{path}: {error.message}") from None
    return settings


def _names() -> list[str]:
    return [entry.name for entry in fields(LintSettings) if entry.init]
