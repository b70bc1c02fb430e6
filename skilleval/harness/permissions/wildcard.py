"""Patterns in which ``*`` stands for any text, against texts that are known only in part.

Both directions are needed: an allow rule counts only if it fits whatever the unknown parts
turn out to be, a deny rule counts as soon as it may fit. Time is linear in the text: the
positions in the pattern that can be reached are the bits of one number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["Piece", "Wildcard"]

Piece = str | None
"""A text, or something that is known only when it runs, which may be empty."""


class Wildcard:
    """A pattern of characters and of ``None``, which stands for any text."""

    def __init__(self, symbols: Sequence[str | None]) -> None:
        self._stars = 0
        self._at: dict[str, int] = {}
        size = 0
        for symbol in symbols:
            if symbol is not None:
                self._at[symbol] = self._at.get(symbol, 0) | (1 << size)
            elif size and self._stars >> (size - 1) & 1:
                continue  # two stars in a row are one
            else:
                self._stars |= 1 << size
            size += 1
        self._end = 1 << size
        self._all = (1 << (size + 1)) - 1
        self._open = bool(size and self._stars >> (size - 1) & 1)

    def surely(self, pieces: Iterable[Piece]) -> bool:
        """Whether it fits whatever the unknown pieces are."""
        return self._run(pieces, sure=True)

    def possibly(self, pieces: Iterable[Piece]) -> bool:
        """Whether there is something for the unknown pieces with which it fits."""
        return self._run(pieces, sure=False)

    def _run(self, pieces: Iterable[Piece], *, sure: bool) -> bool:
        at, stars = self._at, self._stars
        state = 1 | ((stars & 1) << 1)
        for piece in pieces:
            if piece is None:
                if sure:
                    state &= stars
                else:
                    state = self._all & -(state & -state)
                state |= (state & stars) << 1
            else:
                for character in piece:
                    state = ((state & at.get(character, 0)) << 1) | (state & stars)
                    state |= (state & stars) << 1
                    if not state:
                        return False
            if not state:
                return False
            if self._open and state & self._end:
                return True  # what follows is left to the last star
        return bool(state & self._end)
