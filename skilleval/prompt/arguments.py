"""The arguments of a skill taken apart as a shell would, as Claude Code does it.

Facts measured on Claude Code 2.1.332.
"""

from __future__ import annotations

import re

from skilleval.prompt.listing import units

__all__ = ["SPACE", "SPACES", "split_arguments"]

SPACE = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""White space as JavaScript knows it."""
SPACES = re.compile(f"[{SPACE}]+")
_MAX_SHELL = 10_000
"""UTF-16 units of arguments that are split as a shell would; longer ones, at white space."""

_PART = re.compile(
    r"""(?P<blank>(?:[ \t\r]|\\(?:\n|\Z))+)
    |(?P<comment>(?<![^ \t\r\n;&|()<>])\#[^\n]*)
    |'(?P<single>[^']*)'|"(?P<double>(?:[^"\\]|\\.)*+)"
    |(?P<expansion>\$\{[^}]*\}|\$\(\([^()]*\)\))
    |(?P<open>['"])|(?P<stop>\$[({]|`)
    |(?P<end>[\n;&|])|(?P<redirect>[<>][<>&|]*)|(?P<paren>[()])
    |\\(?P<escaped>.)
    |(?P<plain>[^ \t\r\n\\'"`$;&|()<>]+|.)""",
    re.VERBOSE | re.DOTALL,
)
_RAW = re.compile(r"[^ \t\r\n;&|()<>]+")
_TEST = re.compile(r"(?P<test>\[\[?[ \t]*)")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=(?!=)", re.ASCII)
_DROPPED = re.compile(
    r"""=|\$(?:\w*|[-?!@*\#$]|\{[^}]*\}|\(\(.*\)\)|\[.*\]|'[^']*')|\{(?:\d+\.\.\d+|\w\.\.\w)\}""",
    re.ASCII | re.DOTALL | re.VERBOSE,
)
_OPENING = frozenset("if then else elif fi while until do done esac { } !".split())
_NAMING = frozenset(("for", "select", "function"))
_DECLARING = frozenset(("export", "declare", "local", "readonly", "typeset"))


def split_arguments(arguments: str) -> list[str]:
    """The single arguments of a call.

    The client reads them as a shell reads a line: they are the words of the first command in
    it, without expansions that stand alone. Where that gives no word, and in long arguments,
    white space parts them.
    """
    words = _Words(arguments).found() if units(arguments) <= _MAX_SHELL else []
    return words or [word for word in SPACES.split(arguments) if word]


class _Words:
    """Reads the words of the first command in a line."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.words: list[str] = []
        self.word: str | None = None
        self.start = 0
        self.passing = 0
        """Words to pass over before the command begins."""
        self.depth = 0
        """Brackets that are open behind its first word."""

    def found(self) -> list[str]:
        """The words; none where there is no command."""
        at, more = 0, True
        while more and at < len(self.line):
            pattern = _PART
            if self.word is None and not self.words:
                pattern = {"{": _RAW, "[": _TEST}.get(self.line[at], _PART)
            part = pattern.match(self.line, at)
            if part is None:
                break
            more, at = self._take(part), part.end()
        self._close(at)
        return self.words[:1] if self.words[:1] and self.words[0] in _DECLARING else self.words

    def _take(self, part: re.Match[str]) -> bool:
        """Take the next part in; False where the command ends."""
        kind = part.lastgroup
        if self.depth:
            self.depth += {"(": 1, ")": -1}.get(part[0], 0)
            return kind not in ("open", "stop")
        if kind in ("blank", "comment", "end", "redirect", "paren", "test"):
            return self._part(kind, part)
        if kind == "stop":
            self.word = None
            return False
        if self.word is None:
            self.word, self.start = "", part.start()
        self.word += self.line[part.start() :] if kind == "open" else part[kind or 0]
        return kind != "open"

    def _part(self, kind: str, part: re.Match[str]) -> bool:
        """Take in what parts two words."""
        digits = kind == "redirect" and self.line[self.start : part.start()].isdecimal()
        if digits or (part[0] == "(" and self.words):
            self.word = None
        self._close(part.start())
        if kind in ("blank", "comment"):
            return True
        self.passing = 1 if kind in ("redirect", "test") else 0
        self.depth = 1 if part[0] == "(" and self.words else 0
        return not self.words or self.depth > 0

    def _close(self, end: int) -> None:
        """Keep the word that ends here, if it is one of the command's."""
        word, self.word = self.word, None
        if word is None:
            return
        raw = self.line[self.start : end]
        if self.words:
            self.words += [] if _DROPPED.fullmatch(raw) else [word]
        elif self.passing:
            self.passing -= 1
        elif raw in _NAMING:
            self.passing = 1
        elif raw not in _OPENING and not _ASSIGNMENT.match(raw):
            self.words.append(word)
