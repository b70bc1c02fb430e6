"""Taking the quotes off a piece of a shell command, a character at a time, as bash does it.

The parser's tree tells where expansions are and nothing else is taken from it. Where an
expansion stands that the parser has not found, the two disagree on what the command is, and
that is said rather than passed over.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping
from typing import NamedTuple

__all__ = ["Atom", "Hole", "Unclear", "atoms_of", "body_of"]

_PLAIN = re.compile(rb"[^\\'\"$`\s;|&<>()]+")
_QUOTED = re.compile(rb'[^\\"$`]+')
_SPECIAL = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@*#?-$!{([")
_PARAMETERS = frozenset([b"$", b"?", b"!", b"#", b"-"])
_SIMPLE = {
    "a": 7, "b": 8, "e": 27, "E": 27, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11,
    "\\": 92, "'": 39, '"': 34, "?": 63,
}  # fmt: skip
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|c(.)|(.))",
    re.DOTALL,
)


class Unclear(Exception):
    """A word, or a command, can't be understood; the message says why."""


class Hole(NamedTuple):
    """Where the parser has found an expansion.

    Attributes:
        end: the offset after it.
        name: of the variable, where it is one and nothing else.
        many: even within quotes it may become several words.
    """

    end: int
    name: str = ""
    many: bool = False


Atom = tuple[str | Hole, bool]
"""A character or an expansion, and whether it is quoted."""
_Steps = Generator[Atom, None, int]
"""Ends with the offset that was reached."""


def atoms_of(source: bytes, at: int, end: int, holes: Mapping[int, Hole]) -> Iterator[Atom]:
    while at < end:
        if hole := holes.get(at):
            yield hole, False
            at = hole.end
            continue
        byte = source[at : at + 1]
        if byte == b"\\":
            if at + 1 < end and source[at + 1 : at + 2] != b"\n":
                at, text = _character(source, at + 1)
                yield text, True
            else:
                at += 2
        elif byte == b"'":
            close = source.find(b"'", at + 1, end)
            yield from _characters(source[at + 1 : _closed(close)], True)
            at = close + 1
        elif byte == b'"':
            at = yield from body_of(source, at + 1, end, holes)
        elif byte == b"$" and source[at + 1 : at + 2] == b"'":
            at = yield from _ansi(source, at + 2, end)
        elif byte == b"$" and source[at + 1 : at + 2] == b'"':
            at = yield from body_of(source, at + 2, end, holes)
        elif byte == b"$" and source[at + 1 : min(at + 2, end)] in _PARAMETERS:
            yield Hole(at + 2), True  # the parser takes these for letters at times
            at += 2
        elif byte == b"$" and not _expands(source, at):
            yield "$", False
            at += 1
        elif plain := _PLAIN.match(source, at, end):
            yield from _characters(plain[0], False)
            at = plain.end()
        else:
            raise Unclear(f"{byte.decode('utf-8', 'replace')!r} is not where it can be understood")


def _expands(source: bytes, at: int) -> bool:
    """Whether a dollar sign begins an expansion."""
    return source[at : at + 1] == b"$" and at + 1 < len(source) and source[at + 1] in _SPECIAL


def body_of(
    source: bytes, at: int, end: int, holes: Mapping[int, Hole], close: bytes = b'"'
) -> _Steps:
    yield "", True  # that it is quoted counts even if it is empty
    while at < end:
        if hole := holes.get(at):
            yield hole, True
            at = hole.end
            continue
        byte, two = source[at : at + 1], source[at + 1 : at + 2]
        if byte == close:
            return at + 1
        if byte == b"\\" and two and two in b'$`\\\n"'[: 5 if close else 4]:
            if two != b"\n":
                yield two.decode(), True
            at += 2
        elif byte == b"$" and two in _PARAMETERS:
            yield Hole(at + 2), True
            at += 2
        elif byte in (b"\\", b'"') or (byte == b"$" and not _expands(source, at)):
            yield byte.decode(), True
            at += 1
        elif text := _QUOTED.match(source, at, end):
            yield from _characters(text[0], True)
            at = text.end()
        else:
            raise Unclear("an expansion in quotes is not where it can be understood")
    if close:
        raise Unclear("a quote is never closed")
    return at


def _ansi(source: bytes, at: int, end: int) -> _Steps:
    close = at
    while close < end and source[close : close + 1] != b"'":
        close += 2 if source[close : close + 1] == b"\\" else 1
    text = source[at : _closed(close if close < end else -1)].decode("utf-8", "surrogateescape")
    yield "", True
    raw = bytearray()
    last = 0
    for match in _ESCAPE.finditer(text):
        raw += text[last : match.start()].encode("utf-8", "surrogateescape")
        raw += _escaped(match)
        last = match.end()
    raw += text[last:].encode("utf-8", "surrogateescape")
    if b"\0" in raw:
        raise Unclear("a zero byte ends the word early")
    yield from _characters(bytes(raw), True)
    return close + 1


def _escaped(match: re.Match[str]) -> bytes:
    two, octal, four, eight, control, simple = match.groups()
    if two or octal:
        return bytes([int(two, 16) if two else int(octal, 8) & 255])
    if four or eight:
        number = int(four or eight, 16)
        if number > 0x10FFFF or 0xD800 <= number < 0xE000:
            raise Unclear("there is no such character")
        return chr(number).encode()
    if control:
        return bytes([ord(control.upper()) & 31]) if control.isascii() else b"\0"
    if simple in _SIMPLE:
        return bytes([_SIMPLE[simple]])
    return match[0].encode("utf-8", "surrogateescape")


def _closed(close: int) -> int:
    if close < 0:
        raise Unclear("a quote is never closed")
    return close


def _character(source: bytes, at: int) -> tuple[int, str]:
    """The character at an offset, and the offset after it."""
    end = at + 1
    while end < len(source) and source[end] & 0xC0 == 0x80:
        end += 1
    return end, source[at:end].decode("utf-8", "surrogateescape")


def _characters(raw: bytes, quoted: bool) -> Iterator[Atom]:
    if quoted and not raw:
        yield "", True
    for character in raw.decode("utf-8", "surrogateescape"):
        yield character, quoted
