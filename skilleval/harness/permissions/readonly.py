"""Which commands are known to change nothing: all others count as writes while planning."""

from __future__ import annotations

import re
from collections.abc import Iterable

from skilleval.harness.permissions.edits import is_plain_sed
from skilleval.harness.permissions.filecommands import READERS
from skilleval.harness.permissions.needs import Needs
from skilleval.harness.permissions.places import HARMLESS_FILES
from skilleval.harness.permissions.units import Unit
from skilleval.harness.permissions.words import Word

__all__ = ["changes_nothing"]

_SAFE = (READERS - frozenset("less more most bat awk gawk mawk nawk yq".split())) | frozenset(
    "echo printf true false : test pwd cd which type whereis readlink realpath basename dirname "
    "stat seq date whoami id uname nproc free df ps uptime locale getconf env printenv tr expr "
    "sleep wait exit return break continue shift export local declare readonly typeset set "
    "unset read sed git".split()
)
_WRITES = {
    "date": re.compile(r"-[a-zA-Z]*s|--set"),
    "file": re.compile(r"-[a-zA-Z]*C|--compile"),
    "find": re.compile(r"-(?:delete|fprint0?|fprintf|fls)"),
    "rg": re.compile(r"--pre|--hostname-bin"),
    "sort": re.compile(r"-[a-zA-Z]*[oT]|--output|--compress|--temporary"),
    "tree": re.compile(r"-[a-zA-Z]*o"),
    "sed": re.compile(r"-[a-zA-Z]*i|--in-place"),
    "ag": re.compile(r"--pager"),
    "ack": re.compile(r"--pager|--output"),
    "git": re.compile(r"--output|--ext-diff|--textconv|-O|--open-files"),
    "xxd": re.compile(r"-[a-zA-Z]*r"),
}
"""Options with which they do change something."""
_GIT = frozenset(
    "status log diff show blame shortlog describe rev-parse rev-list ls-files ls-tree cat-file "
    "grep name-rev merge-base diff-tree diff-index diff-files for-each-ref show-ref var "
    "whatchanged count-objects".split()
)
_SECOND_IS_OUTPUT = frozenset({"uniq", "xxd"})


def changes_nothing(needs: Needs) -> bool:
    """Whether every part of a command is known to change nothing."""
    if needs.command is None or needs.opaque:
        return False
    return all(unit.maybe or _safe(unit) for unit in needs.units)


def _safe(unit: Unit) -> bool:
    for redirect in unit.redirects:
        if redirect.kind == "write" and redirect.word.literal not in HARMLESS_FILES:
            return False
    if not unit.words or unit.local or unit.clear:
        return True
    name = unit.program or ""
    if name not in _SAFE:
        return False
    words = unit.words[1:]
    if (pattern := _WRITES.get(name)) and _any(pattern, words):
        return False
    if name in _WRITES and any(word.literal is None and word.many for word in words):
        return False  # it might be one of these options
    operands = [word for word in words if not (word.literal or "").startswith("-")]
    if name in _SECOND_IS_OUTPUT and len(operands) > 1:
        return False
    if name == "git":
        return bool(words) and words[0].literal in _GIT
    return name != "sed" or is_plain_sed(unit.words)


def _any(pattern: re.Pattern[str], words: Iterable[Word]) -> bool:
    return any(pattern.match(word.literal or "") for word in words)
