"""The prompt cache, simulated: what of a request would have been read, what written.

After https://platform.claude.com/docs/en/build-with-claude/prompt-caching (as of autumn 2026):

- The prompt is read as tools, system, messages. Each ``cache_control`` (at most four, a
  top-level one included) writes one entry: the prefix that ends there.
- A read looks for an entry at the breakpoint and at the 19 positions before it, a run of
  tool calls or of tool results being one position; then at the next breakpoint.
- An entry lives five minutes (or an hour) from its last use.
- A prefix below the minimum is not cached and gives no error: 512 tokens on Opus 5, Fable and
  Mythos 5, 1,024 on Sonnet and Opus 4.8, 2,048 on Opus 4.7 and Haiku 3, 4,096 on Opus 4.5 and
  4.6 and on Haiku 4.5. Where the page names no number for a later model of a family, its
  forerunner's is taken; 1,024 for names that nobody knows.

Not simulated: that a changed ``tool_choice`` or thinking setting makes the messages anew.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

from skilleval.models.offline.tokens import Piece, tokens

__all__ = ["CacheUse", "PromptCache", "minimum"]

_LOOKBACK = 20
_CAPACITY = 4_096
_MINIMA = (
    ("claude-opus-4-5", 4_096),
    ("claude-opus-4-6", 4_096),
    ("claude-opus-4-7", 2_048),
    ("claude-haiku-4", 4_096),
    ("claude-haiku-5", 4_096),
    ("claude-3-5-haiku", 2_048),
    ("claude-3-haiku", 2_048),
    ("claude-opus-5", 512),
    ("claude-fable-5", 512),
    ("claude-mythos-5", 512),
)
_RUNS = ("tool_use", "tool_result")


class CacheUse(NamedTuple):
    """Where the tokens of a prompt came from; the three together are the prompt."""

    input: int
    read: int
    written: int


class _Entry(NamedTuple):
    expires: float
    lifetime: float


def minimum(model: str) -> int:
    """Tokens that a prefix must have to be cached on a model."""
    return next((size for start, size in _MINIMA if model.startswith(start)), 1_024)


class PromptCache:
    """The entries of one endpoint; the oldest go when there are more than ``capacity``.

    Args:
        clock: seconds, for what has expired.
        capacity: how many entries are kept.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, capacity: int = _CAPACITY
    ) -> None:
        self._clock = clock
        self._capacity = capacity
        self._entries: OrderedDict[bytes, _Entry] = OrderedDict()

    def use(self, model: str, pieces: Sequence[Piece]) -> CacheUse:
        """Read and write the cache for a request; how its tokens divide."""
        sizes = [tokens(size) for size in accumulate(piece.size for piece in pieces)]
        whole = sizes[-1] if sizes else 0
        floor = minimum(model)
        marks = [i for i, p in enumerate(pieces) if p.lifetime is not None and sizes[i] >= floor]
        if not marks:
            return CacheUse(whole, 0, 0)
        keys = _prefixes(model, pieces)
        hit = self._find(marks, keys, pieces)
        read = sizes[hit] if hit is not None else 0
        now = self._clock()
        for mark in marks:
            self._write(keys[mark], now, pieces[mark].lifetime or 0.0)
        written = max(sizes[marks[-1]] - read, 0)
        return CacheUse(whole - read - written, read, written)

    def _find(
        self, marks: Sequence[int], keys: Sequence[bytes], pieces: Sequence[Piece]
    ) -> int | None:
        """The end of the longest prefix that the cache holds, refreshed."""
        now = self._clock()
        for mark in reversed(marks):
            for at in _positions(mark, pieces):
                entry = self._entries.get(keys[at])
                if entry is not None and entry.expires > now:
                    self._write(keys[at], now, entry.lifetime)
                    return at
        return None

    def _write(self, key: bytes, now: float, lifetime: float) -> None:
        self._entries[key] = _Entry(now + lifetime, lifetime)
        self._entries.move_to_end(key)
        while len(self._entries) > self._capacity:
            self._entries.popitem(last=False)


def _prefixes(model: str, pieces: Sequence[Piece]) -> list[bytes]:
    """A key for the prefix that ends with each piece."""
    running = hashlib.sha256(model.encode("utf-8", "surrogatepass"))
    keys = []
    for piece in pieces:
        running.update(len(piece.data).to_bytes(8, "big") + piece.data)
        keys.append(running.digest())
    return keys


def _positions(mark: int, pieces: Sequence[Piece]) -> list[int]:
    """The pieces that a breakpoint looks at, from itself backwards."""
    found: list[int] = []
    positions, above = 0, ""
    for at in range(mark, -1, -1):
        kind = pieces[at].kind
        if kind not in _RUNS or kind != above:
            positions += 1
        if positions > _LOOKBACK:
            break
        found.append(at)
        above = kind
    return found
