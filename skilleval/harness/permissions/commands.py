"""A shell command with all that it starts: every unit, its program, where the shell may be."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable

from skilleval.harness.permissions.inside import look_inside
from skilleval.harness.permissions.parsing import Budget
from skilleval.harness.permissions.programs import Programs
from skilleval.harness.permissions.shell import read_script
from skilleval.harness.permissions.units import Script, Unit
from skilleval.harness.permissions.unwrap import Start
from skilleval.harness.permissions.words import Word
from skilleval.harness.permissions.wrappers import LOOSE, READS_COMMANDS, SHELLS, WRAPPERS

__all__ = ["Command", "read_command"]

_DEEPEST = 24
_MOST_FOLDERS = 16
_ROUNDS = 3
_NEUTRAL = frozenset(": true false break continue return exit shift wait".split())
_MOVING = frozenset("git tar bsdtar make gmake ninja env npm pnpm yarn cargo go sudo".split())
_STARTERS = frozenset([*WRAPPERS, *LOOSE, *SHELLS, *READS_COMMANDS, "find", "xargs", "git"])


class Command:
    """A command that was taken apart.

    Attributes:
        folders: where the shell may be at one time or another; None if that is not known.
    """

    def __init__(self, script: Script, programs: Programs, folders: Collection[str] | None) -> None:
        self.script = script
        self.programs = programs
        self.folders = folders


def read_command(
    text: str, *, start: str, home: str, path: str, watched: Iterable[str] = ()
) -> Command:
    """Take a command apart; ``watched`` are programs that are recognised under any name.

    Which programs it starts can depend on where it goes, and where it goes on what it starts:
    so this is done again until nothing changes.
    """
    programs = Programs(path, [*watched, *_STARTERS])
    budget = Budget()
    folders: frozenset[str] | None = frozenset({start})
    for _ in range(_ROUNDS):
        script = _expanded(text, home, programs, folders, budget)
        found = _folders(script, start, home)
        if found == folders:
            break
        folders = found
        names = [unit.program or "" for unit in script.units]
        if not any("/" in name and not os.path.isabs(name) for name in names):
            break
    else:
        folders = None
    return Command(script, programs, folders)


def _expanded(
    text: str, home: str, programs: Programs, folders: frozenset[str] | None, budget: Budget
) -> Script:
    script = read_script(text, home, budget)
    at = 0
    while at < len(script.units):  # grows on the way
        unit = script.units[at]
        _identify(unit, script, programs, folders)
        if unit.depth > _DEEPEST:
            unit.question("it is nested too deep", anything=True)
        elif not unit.local:
            inside = look_inside(unit)
            unit.clear = inside.clear
            unit.assigned += inside.assigned
            for begun in inside.commands:
                if not (unit.maybe and begun.maybe):
                    script.units.append(_begun(unit, at, begun))
            for code in inside.code:
                inner = read_script(code.text, home, budget, posix=code.posix)
                _add_code(script, at, code.at, inner)
        at += 1
    return script


def _begun(unit: Unit, at: int, begun: Start) -> Unit:
    return Unit(
        words=begun.words,
        outer=at,
        at=begun.at,
        depth=unit.depth + 1,
        maybe=begun.maybe or unit.maybe,
        repeated=unit.repeated,
        stdin=unit.stdin,
        posix=unit.posix,
    )


def _add_code(script: Script, at: int, word: int, inner: Script) -> None:
    """Put the commands of a text behind those of the script that runs it."""
    outer = script.units[at]
    if inner.doubt:
        outer.question(inner.doubt, anything=True)
    script.functions |= inner.functions
    for unit in inner.units:
        unit.outer, unit.at = at, word
        unit.depth = outer.depth + 1
        unit.maybe = outer.maybe
        unit.repeated = outer.repeated or unit.repeated
        script.units.append(unit)


def _identify(
    unit: Unit, script: Script, programs: Programs, folders: frozenset[str] | None
) -> None:
    word = unit.program
    if word is None:
        return
    if word in script.functions:
        unit.local = True
    found = programs.known(word, folders or ())
    unit.names, unit.file = found.names, found.file
    unit.neutral = word in _NEUTRAL
    if "/" in word and folders is None and not os.path.isabs(word):
        unit.question("where the program lies is known only when it runs", anything=True)
    elif re.match(r"/proc/(?!self/root(?:/|$))|/dev/", word):
        unit.question("a program is named by way of a process", anything=True)
    for name, _ in unit.assigned:
        if name == "PATH":
            unit.question("it changes where programs are looked for")


def _folders(script: Script, start: str, home: str) -> frozenset[str] | None:
    """All folders in which the shell may be; None if they are not known, or too many."""
    moves: list[str] = []
    for unit in script.units:
        if any(name == "CDPATH" for name, _ in unit.assigned):
            return None
        for target in _targets(unit, home):
            if target is None or (unit.repeated and not os.path.isabs(target)):
                return None
            moves.append(target)
    if len(moves) > _MOST_FOLDERS:
        return None
    folders = {start}
    for _ in moves:
        more = {os.path.normpath(os.path.join(f, move)) for f in folders for move in moves}
        if more <= folders:
            break
        folders |= more
        if len(folders) > _MOST_FOLDERS:
            return None
    return frozenset(folders)


def _targets(unit: Unit, home: str) -> list[str | None]:
    """Where a command takes the shell, or itself."""
    words = unit.words
    if unit.local or not words:
        return []
    if unit.program in ("cd", "pushd", "builtin", "command"):
        moving = _moving(words)
        if moving is None:
            return []
        operands = [word for word in moving if (word.literal or "?")[:1] != "-"]
        dash = any(word.literal == "-" or (word.literal or "")[:1] == "+" for word in moving)
        if dash or len(operands) > 1 or any(word.literal is None for word in moving):
            return [None]
        physical = any(re.match(r"-[A-Za-z]*P", word.literal or "") for word in moving)
        if physical and ".." in (operands[0].literal or "").split("/")[1:]:
            return [None]  # with -P, ".." is that of where a link leads
        return [operands[0].literal if operands else home]
    found: list[str | None] = []
    if not unit.names & _MOVING:
        return []
    for at, word in enumerate(words[1:], 1):
        text = word.literal or ""
        if text in ("-C", "--directory", "--chdir", "--cwd", "--prefix") and at + 1 < len(words):
            found.append(words[at + 1].literal)
        elif match := re.match(r"--(?:directory|chdir|cwd|prefix)=(.*)", text):
            found.append(match[1])
    return found


def _moving(words: tuple[Word, ...]) -> tuple[Word, ...] | None:
    """The arguments of a ``cd``, if it is one, wrapped or not."""
    for at, word in enumerate(words):
        text = word.literal or ""
        if text in ("cd", "pushd"):
            return words[at + 1 :]
        if text not in ("builtin", "command", "--", "-p"):
            return None
    return None
