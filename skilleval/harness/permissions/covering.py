"""Whether a call is covered: by allow rules, or by a mode that accepts edits.

A command is covered if every part of it is, and a part of which it can't be told what it does
is not. What is left uncovered first is named, for whoever is asked.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from skilleval.harness.permissions.edits import EDITING, edited, is_recursive
from skilleval.harness.permissions.model import Mode
from skilleval.harness.permissions.needs import Needs
from skilleval.harness.permissions.places import HARMLESS_FILES, Place, inside, place_of, places
from skilleval.harness.permissions.policy import PermissionPolicy
from skilleval.harness.permissions.rules import READING, WRITING, Rule
from skilleval.harness.permissions.units import Unit
from skilleval.harness.permissions.words import Word
from skilleval.harness.permissions.wrappers import HARMLESS_VARIABLE, RISKY_VARIABLE

__all__ = ["Cover", "cover"]

_DECLARING = frozenset("export declare local readonly typeset unset".split())


class Cover(NamedTuple):
    """What covers a call.

    Attributes:
        missing: what is not covered; empty if all is.
        rules: those that cover something, in the order of the call.
        edits: something is covered by the mode.
    """

    missing: str
    rules: tuple[Rule, ...] = ()
    edits: bool = False


def cover(needs: Needs, rules: Sequence[Rule], policy: PermissionPolicy, mode: Mode) -> Cover:
    """What covers a call: of the modes only the one that accepts edits does."""
    if needs.wrong:
        return Cover(needs.wrong)
    return _Covering(needs, rules, policy, mode is Mode.ACCEPT_EDITS).cover()


class _Covering:
    def __init__(
        self, needs: Needs, rules: Sequence[Rule], policy: PermissionPolicy, edits: bool
    ) -> None:
        self._needs = needs
        self._rules = rules
        self._policy = policy
        self._edits = edits
        self._used: dict[Rule, None] = {}
        self._edited = False
        self._fixed: dict[int, int] = {}  # how many words of a unit a rule names literally
        self._patterns = {r: policy.pattern(r) for r in rules if r.what and r.tool in _FILES}

    def cover(self) -> Cover:
        needs = self._needs
        missing = self._commands() if needs.command else self._call()
        if not (missing or self._used or self._edited):
            missing = "a command that needs no rule of its own"
        return Cover(missing, () if missing else tuple(self._used), self._edited and not missing)

    def _use(self, rule: Rule | None) -> bool:
        if rule is not None:
            self._used[rule] = None
        return rule is not None

    def _call(self) -> str:
        call = self._needs.call
        bare = (rule for rule in self._rules if not rule.what and rule.names(call.tool))
        if self._use(next(bare, None)):
            return ""
        for touch in self._needs.touches:
            writes = touch.how == "write"
            if not (self._file(touch.place, writes) or (writes and self._edit(touch.place))):
                return f"{touch.how} {touch.place.shown}"
        if self._needs.touches:
            return ""
        for host in self._needs.hosts:
            known = [host] if host else []
            named = (r for r in self._rules if r.tool == "WebFetch" and known and r.what)
            if not self._use(next((r for r in named if r.name.surely(known)), None)):
                return f"network {host or '…'}"
        if self._needs.hosts:
            return ""
        key = "skill" if call.tool == "Skill" else "subagent_type"
        name = str(call.input.get(key) or "general-purpose")
        fits = (r for r in self._rules if r.what and r.names(call.tool) and r.name.surely([name]))
        return "" if self._use(next(fits, None)) else f"a call of {call.tool}"

    def _file(self, place: Place, writes: bool) -> bool:
        """Whether a rule about paths covers one."""
        tool = self._needs.call.tool
        for rule, pattern in self._patterns.items():
            general = "Edit" if writes else "Read"
            fits = rule.tool in (general, "Write" if writes else general, tool)
            same = rule.tool in (WRITING if writes else READING)
            if fits and same and pattern.surely(place):
                return self._use(rule)
        return False

    def _edit(self, place: Place) -> bool:
        """Whether the mode covers an edit of a file."""
        good = self._edits and self._policy.accepts_edit(place)
        self._edited = self._edited or good
        return good

    # Commands

    def _commands(self) -> str:
        needs = self._needs
        if needs.opaque:
            return f"a command of which it can't be told what it does ({needs.opaque})"
        bare = next((r for r in self._rules if r.tool == "Bash" and not r.what), None)
        if self._use(bare):
            return ""
        moves = any(unit.program in ("cd", "pushd") for unit in needs.units)
        git = any("git" in unit.names for unit in needs.units)
        for at, unit in enumerate(needs.units):
            if unit.maybe or self._within(unit):
                continue
            if missing := self._unit(at, unit, moves and git):
                return missing
        return ""

    def _within(self, unit: Unit) -> bool:
        """Whether a rule names what is around a command, and the command with it."""
        while unit.outer is not None:
            if self._fixed.get(unit.outer, 0) > unit.at:
                return True
            unit = self._needs.units[unit.outer]
        return False

    def _unit(self, at: int, unit: Unit, strict: bool) -> str:
        rule = self._rule(unit)
        if rule is not None:
            self._fixed[at] = rule.command.fixed
        assigned = rule.command.assigned if rule else frozenset()
        for name, value in unit.assigned:
            alone = not unit.words or unit.program in _DECLARING
            harmless = HARMLESS_VARIABLE.fullmatch(name)
            if alone and not RISKY_VARIABLE.fullmatch(name):
                continue
            if not harmless and f"{name}={value.literal}" not in assigned:
                return f"the variable {name}"
        for redirect in unit.redirects:
            for place in places(redirect.word, self._needs.shell.folders):
                if place.real in HARMLESS_FILES or place.path in HARMLESS_FILES:
                    continue
                writes = redirect.kind == "write"
                if not (self._file(place, writes) or (writes and self._edit(place))):
                    return f"{redirect.kind} {place.shown}"
        if self._use(rule) or not unit.words or unit.local or unit.clear or unit.neutral:
            return ""
        if unit.program in _DECLARING or (self._stays(unit) and not strict):
            return ""
        return "" if self._edits and self._edits_files(unit) else f"`{unit.shown}`"

    def _rule(self, unit: Unit) -> Rule | None:
        """The rule that fits a command for certain."""
        program = unit.program
        if program is None:
            return None
        for rule in self._rules:
            if rule.tool != "Bash" or not rule.what:
                continue
            name = program
            if "/" in program and rule.command.program != program:
                programs = self._needs.shell.programs
                same = unit.file and programs.find(rule.command.program) == unit.file
                name = rule.command.program if same else program
            if rule.command.surely(unit.words, name):
                return rule
        return None

    def _stays(self, unit: Unit) -> bool:
        """Whether a command is a ``cd`` that stays inside."""
        if unit.program not in ("cd", "pushd", "popd"):
            return False
        folders = self._needs.shell.folders
        if folders is None:
            return False
        real = (place_of(folder, "/").real for folder in folders)
        return all(inside(each, self._policy.roots) for each in real)

    def _edits_files(self, unit: Unit) -> bool:
        """Whether a command is one of those that count as edits, and its files are inside."""
        name, roots = unit.program or "", self._policy.roots
        if "/" in name and self._needs.shell.programs.find(os.path.basename(name)) == unit.file:
            name = os.path.basename(name)
        if name not in EDITING or not unit.file or inside(unit.file, roots):
            return False
        files = edited(name, unit.words)
        if files is None:
            return False
        found = self._edited_places(name, files, is_recursive(name, unit.words))
        good = all(self._policy.accepts_edit(place) for place in found)
        self._edited = self._edited or good
        return good

    def _edited_places(self, name: str, files: list[Word], beneath: bool) -> list[Place]:
        """The places that are edited; what is copied or moved into a folder lands in it."""
        folders = self._needs.shell.folders
        if name not in ("cp", "mv") or len(files) < 2:
            return [place for word in files for place in places(word, folders, beneath)]
        targets = places(files[-1], folders)
        sources = [place for word in files[:-1] for place in places(word, folders, beneath)]
        landed = [
            place_of(os.path.basename(source.path), target.path)._replace(beneath=beneath)
            for target in targets
            for source in sources
        ]
        for word in files[:-1]:
            if (word.literal or "").rstrip("/").endswith("."):  # its content, not the folder
                landed += [target._replace(beneath=beneath) for target in targets]
        return [*targets, *sources, *landed]


_FILES = READING | WRITING
