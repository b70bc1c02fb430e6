"""What a rule such as ``Bash(git diff:*)`` says of a command.

A rule is about one command: ``*`` stands for any words or letters, and at the end, after a
blank or a colon, for any further words or none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from skilleval.harness.permissions.wildcard import Piece, Wildcard
from skilleval.harness.permissions.words import Word, pieces_of

__all__ = ["CommandPattern", "folded"]

_TOKEN = re.compile(r"[\w.+-]+")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_OPERATORS = frozenset("|&;<>\n")


def folded(text: str) -> str:
    """A text without what only looks different: case, width, and the like."""
    return unicodedata.normalize("NFKC", text).casefold()


class CommandPattern:
    """The pattern of one command.

    Attributes:
        program: the word that names the program, where it has no wildcard.
        fixed: how many of its first words have none.
        assigned: the variables that it sets, as they are written.

    Raises:
        ValueError: it can't be followed; the message says why.
    """

    def __init__(self, text: str) -> None:
        body = text.strip()
        tail = body.endswith((":*", " *"))
        body = body[:-2].rstrip() if tail else body
        words = [word for word in _split(body) if word]
        plain = ["".join(letter or "*" for letter in word) for word in words]
        starts = (i for i, each in enumerate(plain) if not _ASSIGNMENT.match(each))
        count = next(starts, len(plain))
        self.assigned = frozenset(plain[:count])
        words, plain = words[count:], plain[count:]
        if not words:
            raise ValueError("it names no command")
        stars = [None in word for word in words]
        self.fixed = stars.index(True) if any(stars) else len(words)
        self.program = plain[0] if self.fixed else ""
        self._literal = plain[: self.fixed]
        self._words = len(words)
        symbols: list[str | None] = []
        for word in words:
            symbols += [*word, "\0"]
        if tail:
            symbols.append(None)
        elif stars[-1] and words[-1][-1] is None:
            symbols.pop()  # a star at the very end takes further words as well
        self._exact = Wildcard(symbols)
        loose = [None if each is None else folded(each) for each in symbols]
        self._loose = Wildcard([c for each in loose for c in ([None] if each is None else each)])

    def surely(self, words: Iterable[Word], name: str) -> bool:
        """Whether it fits a command, whatever its unknown parts are.

        ``name`` is the program's, which may be written in another way.
        """
        return self._exact.surely(_named(words, name))

    def possibly(self, words: Iterable[Word], name: str) -> bool:
        """Whether it may fit a command."""
        pieces = _named(words, name)
        return self._loose.possibly(None if each is None else folded(each) for each in pieces)

    def options_fit(self, words: list[Word]) -> bool:
        """Whether a command has the options that it names, in whichever way they are written.

        ``rm -fr x``, ``rm -r x --force`` and ``rm x -rf`` are all ``rm -rf``.
        """
        wanted = [word for word in self._literal[1:] if word.startswith("-")]
        if not wanted or self.fixed != self._words:
            return False
        texts = [word.literal or "" for word in words[1:]]
        plain = [folded(text) for text in texts if not text.startswith("-")]
        others = [folded(word) for word in self._literal[1:] if not word.startswith("-")]
        return _letters(wanted) <= _letters(texts) and plain[: len(others)] == others

    def mentioned(self, text: str) -> bool:
        """Whether the words it begins with stand in a text, one after the other."""
        wanted = [folded(word.rpartition("/")[2]) for word in self._literal]
        tokens = iter(folded(match[0]) for match in _TOKEN.finditer(text))
        return bool(wanted) and all(word in tokens for word in wanted)


def _letters(texts: Iterable[str]) -> set[str]:
    """The letters of options; a long one counts by its first letter and by its name."""
    found: set[str] = set()
    for text in texts:
        if text.startswith("--"):
            name = folded(text[2:].partition("=")[0])
            found |= {name, name[:1]}
        elif text.startswith("-"):
            found |= set(folded(text[1:]))
    return found


def _named(words: Iterable[Word], name: str) -> Iterator[Piece]:
    """The pieces of a command whose program goes by another name."""
    pieces = list(words)
    if not name:
        return pieces_of(pieces)
    return pieces_of([Word((name,)), *pieces[1:]])


def _split(text: str) -> list[list[str | None]]:
    """The words of a rule; a star that is not in quotes is None."""
    words: list[list[str | None]] = [[]]
    quote = ""
    at = 0
    while at < len(text):
        letter = text[at]
        at += 1
        if quote:
            if letter == quote:
                quote = ""
            elif letter == "\\" and quote == '"' and text[at : at + 1] in ('"', "\\", "$", "`"):
                words[-1].append(text[at])
                at += 1
            else:
                words[-1].append(letter)
        elif letter in "'\"":
            quote = letter
        elif letter == "\\" and at < len(text):
            words[-1].append(text[at])
            at += 1
        elif letter in _OPERATORS:
            raise ValueError(f"a rule is about one command, and {letter!r} joins several")
        elif letter == ":" and text[at : at + 1] == "*":
            raise ValueError("':*' stands at the end only")
        elif letter.isspace():
            words.append([])
        else:
            words[-1].append(None if letter == "*" else letter)
    if quote:
        raise ValueError("a quote is never closed")
    return words
