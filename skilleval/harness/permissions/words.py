"""The words of a shell command, as far as they are known before it runs.

A variable or a substitution in a word is an unknown piece of it. Braces are expanded, and
wildcards kept as a pattern for whoever wants to look which files they name.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise, product
from typing import NamedTuple

from skilleval.harness.permissions.quotes import Atom, Hole, Unclear, atoms_of, body_of
from skilleval.harness.permissions.wildcard import Piece

__all__ = ["Word", "decode", "decode_body", "known", "pieces_of"]

MOST_WORDS = 256
"""That one word may become by its braces."""
_DEEPEST = 8
_MOST_BRACES = 64
_MOST_OPTIONS = 64


class Word(NamedTuple):
    """One word of a command.

    Attributes:
        pieces: its text, as far as it is known.
        many: it may become several words, or none.
        pattern: it names files by wildcards, as Python's glob writes them.
        options: all that it can be, where that is known: the variable of a loop over words.
    """

    pieces: tuple[Piece, ...]
    many: bool = False
    pattern: str = ""
    options: tuple[Word, ...] = ()

    @property
    def literal(self) -> str | None:
        """Its text where all of it is known."""
        if not self.pieces:
            return ""
        return self.pieces[0] if len(self.pieces) == 1 else None

    @property
    def shown(self) -> str:
        """For people: unknown pieces are dots."""
        return self.pattern or "".join("…" if piece is None else piece for piece in self.pieces)


def known(text: str) -> Word:
    """A word that is a text and nothing else."""
    return Word((text,) if text else ())


def pieces_of(words: Iterable[Word]) -> Iterator[Piece]:
    """A command as one text, for patterns: a zero byte ends each word."""
    for word in words:
        yield from word.pieces
        if not word.many:
            yield "\0"
        elif not word.pieces or word.pieces[-1] is not None:
            yield None  # how many words it is, and whether it is any, is not known


def decode(
    source: bytes,
    start: int,
    end: int,
    holes: Mapping[int, Hole],
    home: str,
    scope: Mapping[str, tuple[Word, ...]],
) -> list[Word]:
    """The words that a piece of a command stands for: several where there are braces.

    Raises:
        Unclear: its quotes or its expansions are not what the parser took them for.
    """
    atoms = list(atoms_of(source, start, end, holes))
    braces = atoms.count(("{", False))
    if braces > _MOST_BRACES:
        raise Unclear("there are too many braces in one word")
    each = _braces(atoms, 0) if braces else [atoms]
    return [_word(one, home, scope) for one in each]


def decode_body(source: bytes, start: int, end: int, holes: Mapping[int, Hole]) -> Word:
    """The text of a here-document whose delimiter is not quoted.

    Raises:
        Unclear: there is an expansion in it that the parser has not found.
    """
    return _word(list(body_of(source, start, end, holes, b"")), "", {})


def _braces(atoms: list[Atom], depth: int) -> list[list[Atom]]:
    """``a{b,c}`` as ``ab`` and ``ac``; a range such as ``{1..9}`` is unknown."""
    for start, atom in enumerate(atoms):
        if atom != ("{", False):
            continue
        found = _matching(atoms, start)
        if found is None:
            continue
        end, commas = found
        inner = atoms[start + 1 : end]
        if not commas:
            if not _has_range(inner):
                continue
            middles: list[list[Atom]] = [[(Hole(0), True)]]
        else:
            bounds = [start, *commas, end]
            middles = [atoms[a + 1 : b] for a, b in pairwise(bounds)]
        if depth == _DEEPEST:
            raise Unclear("braces lie too deep in each other")
        out: list[list[Atom]] = []
        for tail in _braces(atoms[end + 1 :], depth + 1):
            for middle in middles:
                out += [atoms[:start] + each + tail for each in _braces(middle, depth + 1)]
                if len(out) > MOST_WORDS:
                    raise Unclear(f"braces make more than {MOST_WORDS} words of it")
        return out
    return [atoms]


def _matching(atoms: list[Atom], start: int) -> tuple[int, list[int]] | None:
    """Where a brace ends, and its commas."""
    depth = 0
    commas: list[int] = []
    for at in range(start, len(atoms)):
        if atoms[at] == ("{", False):
            depth += 1
        elif atoms[at] == ("}", False):
            depth -= 1
            if depth == 0:
                return at, commas
        elif depth == 1 and atoms[at] == (",", False):
            commas.append(at)
    return None


def _has_range(atoms: list[Atom]) -> bool:
    dots = [atom == (".", False) for atom in atoms]
    return any(a and b for a, b in pairwise(dots))


def _word(atoms: list[Atom], home: str, scope: Mapping[str, tuple[Word, ...]]) -> Word:
    parts: list[str | Hole | None] = []  # text, an expansion, or a wildcard
    pattern: list[str] = []
    many = False
    at = _tilde(atoms, home, parts, pattern)
    while at < len(atoms):
        atom, quoted = atoms[at]
        at += 1
        if isinstance(atom, Hole):
            many = many or atom.many or not quoted
            parts.append(atom)
            continue
        close = _class(atoms, at) if atom == "[" and not quoted else 0
        if quoted or not (atom in ("*", "?") or close):
            parts.append(atom)
            pattern.append(glob.escape(atom))
            continue
        parts.append(None)
        pattern.append("".join(str(each) for each, _ in atoms[at - 1 : max(close, at)]))
        at = max(close, at)
    pieces = _joined(parts)
    globs = None in parts
    if globs and not any(isinstance(part, Hole) for part in parts):
        return Word(pieces, True, "".join(pattern))
    return Word(pieces, many or globs, options=() if globs else _options(parts, many, scope))


def _tilde(atoms: list[Atom], home: str, parts: list[str | Hole | None], out: list[str]) -> int:
    """Take ``~`` at the beginning for what it stands for; how many characters that takes."""
    if not atoms or atoms[0] != ("~", False):
        return 0
    end = 1
    while end < len(atoms) and atoms[end] != ("/", False):
        end += 1
    if end == 1 and home:
        parts.append(home)
        out.append(glob.escape(home))
    else:
        parts.append(Hole(0))
    return end


def _class(atoms: list[Atom], at: int) -> int:
    """The end of the character class that begins before; 0 where it is none."""
    for end in range(at + 1, min(len(atoms), at + 64)):
        if atoms[end] == ("]", False):
            return end + 1
    return 0


def _joined(parts: list[str | Hole | None]) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    text: list[str] = []
    for part in parts:
        if isinstance(part, str):
            text.append(part)
            continue
        if "".join(text):
            pieces.append("".join(text))
        text = []
        if not pieces or pieces[-1] is not None:
            pieces.append(None)
    if "".join(text):
        pieces.append("".join(text))
    return tuple(pieces)


def _options(
    parts: list[str | Hole | None], many: bool, scope: Mapping[str, tuple[Word, ...]]
) -> tuple[Word, ...]:
    """What a word with variables of loops can be, if there are no other expansions in it."""
    names = {part.name for part in parts if isinstance(part, Hole)}
    if not names or not names <= scope.keys():
        return ()
    if any(
        many and (word.literal is None or " " in word.shown) for n in names for word in scope[n]
    ):
        return ()
    found: list[Word] = []
    for values in product(*(scope[name] for name in names)):
        if len(found) == _MOST_OPTIONS:
            return ()
        chosen = dict(zip(names, values, strict=True))
        words = [part if isinstance(part, str) else chosen[part.name] for part in parts if part]
        if all(isinstance(word, str) or word.literal is not None for word in words):
            text = "".join(w if isinstance(w, str) else str(w.literal) for w in words)
            found.append(known(text))
        else:
            text = "".join(
                glob.escape(w) if isinstance(w, str) else w.pattern or glob.escape(w.shown)
                for w in words
            )
            found.append(Word((None,), True, text))
    return tuple(found)
