"""The few file commands that are taken for edits, where their arguments are plain enough.

Each of them can do more than it seems: ``sed`` runs commands, ``cp`` makes links. Only what is
listed here counts as an edit of the files that are named; everything else is just a command.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from skilleval.harness.permissions.words import Word

__all__ = ["EDITING", "edited", "is_plain_sed", "is_recursive"]

_FLAGS = {
    "mkdir": "pv",
    "touch": "acmh",
    "rm": "rRfvdiI",
    "rmdir": "pv",
    "mv": "fivnu",
    "cp": "rRfivnupa",
    "sed": "nErsuzi",
}
_LONG = frozenset(
    "--parents --verbose --force --recursive --no-clobber --update --archive --quiet --silent "
    "--regexp-extended --in-place --interactive --no-create --dir --preserve".split()
)
EDITING = frozenset(_FLAGS)
"""Commands that edit the files they name."""

_SED = re.compile(
    r"""\s*(?:(?:\d+|\$|/(?:[^/\\\n]|\\.)*/)(?:,\s*(?:\d+|\$|/(?:[^/\\\n]|\\.)*/))?\s*!?\s*)?
    (?:[dpDPgGhHxnNq=]
      |s([/|\#,:@!%+_~])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gIip0-9]*
      |y/(?:[^/\\\n]|\\.)*/(?:[^/\\\n]|\\.)*/)\s*""",
    re.VERBOSE,
)
_SUFFIX = re.compile(r"[\w.~-]*")


def edited(name: str, words: Sequence[Word]) -> list[Word] | None:
    """The files that an edit names; None where it is none that can be understood."""
    if name == "sed":
        return _sed(words)
    files: list[Word] = []
    ended = False
    for word in words[1:]:
        text = word.literal
        if text is None and word.pieces[:1] == (None,) and not (word.pattern or word.options):
            return None  # it might be an option
        if ended or text is None or text == "-" or not text.startswith("-"):
            files.append(word)
        elif text == "--":
            ended = True
        elif text.startswith("--"):
            if text not in _LONG:
                return None
        elif not set(text[1:]) <= set(_FLAGS[name]):
            return None
    return files or None


def is_recursive(name: str, words: Sequence[Word]) -> bool:
    """Whether folders are taken with all that is in them."""
    return name == "mv" or any(
        re.fullmatch(r"-[A-Za-z]*[rRa][A-Za-z]*|--recursive|--archive", word.literal or "")
        for word in words[1:]
    )


def is_plain_sed(words: Sequence[Word]) -> bool:
    """Whether a call of sed only changes text: its scripts can run commands and write files."""
    return _sed(words) is not None


def _sed(words: Sequence[Word]) -> list[Word] | None:
    files: list[Word] = []
    scripts: list[str] = []
    at = 1
    while at < len(words):
        text = words[at].literal
        if text is None and words[at].pieces[:1] == (None,):
            return None
        if text is None or not text.startswith("-") or text == "-":
            files.append(words[at])
        elif text in ("-e", "--expression"):
            at += 1
            scripts.append((words[at].literal or "w") if at < len(words) else "w")
        elif text.startswith(("-i", "--in-place=")):
            if not _SUFFIX.fullmatch(text[2:] if text[1] == "i" else text[11:]):
                return None
        elif text.startswith("--"):
            if text not in _LONG:
                return None
        elif not set(text[1:]) <= set(_FLAGS["sed"]):
            return None
        at += 1
    if not scripts:
        if not files or files[0].literal is None:
            return None
        scripts.append(str(files.pop(0).literal))
    return files if all(_is_plain(script) for script in scripts) else None


def _is_plain(script: str) -> bool:
    at = 0
    while at < len(script):
        match = _SED.match(script, at)
        if match is None or match.end() == at:
            return False
        at = match.end()
        if at < len(script):
            if script[at] not in ";\n":
                return False
            at += 1
    return True
