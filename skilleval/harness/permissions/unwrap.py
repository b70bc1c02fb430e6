"""The command that a wrapper starts, told from the wrapper's own arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from skilleval.harness.permissions.nodes import RESERVED
from skilleval.harness.permissions.units import Unit
from skilleval.harness.permissions.words import Word, known
from skilleval.harness.permissions.wrappers import Wrapper

__all__ = [
    "STDIN",
    "UNKNOWN",
    "Code",
    "Inside",
    "Start",
    "filled",
    "guess",
    "joined",
    "run_stdin",
    "run_text",
    "skip_options",
    "unwrap",
]

_MOST_GUESSES = 12
STDIN = re.compile(r"-|/dev/(?:stdin|fd/\d+)|/proc/[^/]+/fd/\d+")
"""Files that are the input of whoever opens them."""
UNKNOWN = Word((None,), True)
"""Words of which nothing is known."""


class Start(NamedTuple):
    """A command that begins at a word of another one; ``maybe`` if that is not certain."""

    at: int
    words: tuple[Word, ...]
    maybe: bool = False


class Code(NamedTuple):
    """A text for a shell, the word that holds it, and whether that shell is not bash."""

    at: int
    text: str
    posix: bool = True


@dataclass(slots=True)
class Inside:
    """What a command starts.

    Attributes:
        code: texts for a shell.
        clear: the command itself does nothing but that.
    """

    commands: list[Start] = field(default_factory=list)
    code: list[Code] = field(default_factory=list)
    assigned: list[tuple[str, Word]] = field(default_factory=list)
    clear: bool = False


def joined(words: Sequence[Word]) -> Word:
    """Words as one text, as ``eval`` and others join them."""
    texts = [word.literal for word in words]
    if any(text is None for text in texts) or any(word.many for word in words):
        return UNKNOWN
    return known(" ".join(str(text) for text in texts))


def run_text(unit: Unit, at: int, text: Word, inside: Inside, posix: bool = True) -> None:
    """Note a text that a shell runs: as a rule one that need not be bash."""
    if text.literal is None:
        unit.question("the text that it runs is known only when it runs", anything=True)
    else:
        inside.code.append(Code(at, text.literal, posix))


def run_stdin(unit: Unit, inside: Inside, posix: bool = True) -> None:
    if unit.stdin is None:
        unit.question("it runs what it is fed, and that is not known", anything=True)
    else:
        run_text(unit, len(unit.words), unit.stdin, inside, posix)


def skip_options(words: Sequence[Word], how: Wrapper, at: int = 1) -> tuple[int, bool]:
    """Where the options end, and whether all of them are known."""
    sure = True
    while at < len(words):
        text = words[at].literal
        if text is None:
            return at, False
        if text == "--":
            return at + 1, sure
        if text.startswith("--"):
            name, equals, _ = text[2:].partition("=")
            takes = any(each.startswith(name) for each in how.long.split())
            sure = sure and bool(takes or equals)
            at += 2 if takes and not equals else 1
        elif len(text) > 1 and text[0] == "-":
            used, good = _cluster(text, how)
            sure = sure and good
            at += used
        elif how.assigns and "=" in text:
            at += 1
        else:
            break
    return at, sure


def _cluster(text: str, how: Wrapper) -> tuple[int, bool]:
    """How many words an option such as ``-abc`` takes, and whether it is known."""
    for place, letter in enumerate(text[1:], 2):
        if letter in how.valued + how.code:
            return (1 if place < len(text) else 2), True
        if letter not in how.flags:
            return 1, False
    return 1, True


def unwrap(unit: Unit, how: Wrapper, inside: Inside) -> None:
    words = unit.words
    at, sure = skip_options(words, how)
    for letter in how.code:
        for place, word in enumerate(words[:-1]):
            if re.fullmatch(rf"-[A-Za-z]*{letter}|--command", word.literal or ""):
                run_text(unit, place + 1, words[place + 1], inside)
    if "command" in unit.names and any(word.literal in ("-v", "-V") for word in words[1:at]):
        return
    for word in words[1:at] if how.assigns else ():
        name, equals, value = (word.literal or "").partition("=")
        if equals and not name.startswith("-"):
            inside.assigned.append((name, known(value)))
    if not sure:
        unit.question("it has options that are not known here")
        guess(unit, 1, inside)
        return
    at += how.skip
    inside.clear = how.clear and at < len(words)
    if unit.names & {"time", "coproc"} and at < len(words) and words[at].literal in RESERVED:
        unit.question("what it runs is more than one command", anything=True)
    if at >= len(words):
        return
    if how.joins:
        run_text(unit, at, joined(words[at:]), inside)
    else:
        inside.commands.append(Start(at, words[at:]))
    if "exec" in unit.names:
        _renamed(words[:at], words[at:], inside)


def _renamed(options: Sequence[Word], rest: tuple[Word, ...], inside: Inside) -> None:
    """``exec -a name``: programs of many names go by the one that they are given."""
    for place, option in enumerate(options):
        text = option.literal or ""
        if text.startswith("-") and "a" in text:
            name = text.partition("a")[2]
            word = known(name) if name else options[min(place + 1, len(options) - 1)]
            inside.commands.append(Start(place, (word, *rest[1:]), maybe=True))


def guess(unit: Unit, start: int, inside: Inside) -> None:
    """Any of the next words may be the command."""
    words = unit.words
    for at in range(start, min(len(words), start + _MOST_GUESSES)):
        text = words[at].literal
        if text is None or not text.startswith("-"):
            inside.commands.append(Start(at, words[at:], maybe=True))


def filled(word: Word, mark: str) -> Word:
    """A word in which a mark stands for what is known only when it runs."""
    text = word.literal
    if not mark or text is None or mark not in text:
        return word
    pieces: list[str | None] = []
    for place, part in enumerate(text.split(mark)):
        pieces += [None] if place else []
        pieces += [part] if part else []
    return Word(tuple(pieces), word.many)
