"""Models as tiers: what they cost, how much they take in and give out.

Prices are US dollars per million tokens, windows and limits in tokens, as the Claude Code CLI
2.1.332 reckons with them (measured on 2026-11-30).
"""

from __future__ import annotations

import difflib
from typing import NamedTuple

from skilleval.errors import InputError

__all__ = ["TIERS", "Tier", "find_tier"]


class Tier(NamedTuple):
    """A model.

    Attributes:
        id: as requests name it.
        context_window, max_output: in tokens.
        input, output, cache_read, cache_write: dollars per million tokens.
        long_input: dollars per million input tokens of requests over 200,000 tokens, where
            these cost more.
        characters_per_token: what the client reckons with when it sizes the skill listing.
    """

    id: str
    context_window: int
    max_output: int
    input: float
    output: float
    cache_read: float
    cache_write: float
    long_input: float | None = None
    characters_per_token: int = 4


def _million(
    id: str,
    max_output: int,
    input: float,
    output: float,
    cache_read: float,
    cache_write: float,
    long_input: float | None = None,
) -> Tier:
    """A model with a window of a million tokens by itself."""
    prices = (input, output, cache_read, cache_write, long_input)
    return Tier(id, 1_000_000, max_output, *prices, characters_per_token=3)


TIERS: tuple[Tier, ...] = (
    _million("claude-haiku-5-5", 128_000, 0.10, 0.50, 0.01, 0.125, 0.50),
    _million("claude-sonnet-5-5", 128_000, 2, 10, 0.10, 2.50),
    _million("claude-opus-5-5", 128_000, 4, 20, 0.20, 5),
    _million("claude-fable-5-2", 128_000, 8, 40, 0.20, 10),
    _million("claude-mythos-5-2", 128_000, 8, 40, 0.20, 10),
    _million("claude-sonnet-5", 64_000, 2, 10, 0.20, 2.50),
    _million("claude-opus-5", 64_000, 5, 25, 0.50, 6.25),
    _million("claude-fable-5", 64_000, 10, 50, 1, 12.50),
    _million("claude-opus-4-8", 64_000, 5, 25, 0.50, 6.25),
    _million("claude-opus-4-7", 64_000, 5, 25, 0.50, 6.25),
    Tier("claude-opus-4-6", 200_000, 64_000, 5, 25, 0.50, 6.25),
    Tier("claude-sonnet-4-6", 200_000, 32_000, 3, 15, 0.30, 3.75),
    Tier("claude-sonnet-4-5", 200_000, 32_000, 3, 15, 0.30, 3.75),
    Tier("claude-haiku-4-5", 200_000, 32_000, 1, 5, 0.10, 1.25),
    Tier("claude-opus-4-5", 200_000, 32_000, 5, 25, 0.50, 6.25),
)
"""Every model that is known, the newest generation first and in it the cheapest."""


def find_tier(name: str) -> Tier:
    """A model by its id, with or without ``claude-`` in front.

    Raises:
        InputError: it is none of the known ones.
    """
    by_id = {tier.id: tier for tier in TIERS}
    tier = by_id.get(name) or by_id.get(f"claude-{name}")
    if tier is None:
        close = difflib.get_close_matches(name, by_id, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise InputError(f"unknown model {name}{hint}", remedy=f"Known models: {', '.join(by_id)}.")
    return tier
