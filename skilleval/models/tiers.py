"""Models as tiers: what they cost, how much they take in and give out, how they think.

Prices are US dollars per million tokens, windows and limits in tokens, as the Claude Code CLI
2.1.332 reckons with them; thinking and effort are what it asks for (measured on 2026-11-30).
"""

from __future__ import annotations

import difflib
from typing import Any, Literal, NamedTuple

from skilleval.models.messages import Usage

__all__ = ["ALIASES", "TIERS", "Effort", "Prices", "Thinking", "Tier", "find_tier", "nearest"]

Thinking = Literal["adaptive", "budget", "none"]
"""``adaptive``: the model decides how much. ``budget``: up to a number of tokens."""
Effort = Literal["low", "medium", "high", "xhigh", "max"]
_LONG = 200_000
"""Tokens from which on a request costs the long-context price, where there is one."""


class Prices(NamedTuple):
    """Dollars per million tokens.

    ``long_input`` holds for the input of requests over 200,000 tokens, where these cost more.
    """

    input: float
    output: float
    cache_read: float
    cache_write: float
    long_input: float | None = None

    def cost(self, usage: Usage) -> float:
        """What a request cost, in dollars."""
        long = self.long_input is not None and usage.prompt > _LONG
        price = self.long_input if long and self.long_input is not None else self.input
        return (
            usage.input * price
            + usage.output * self.output
            + usage.cache_read * self.cache_read
            + usage.cache_write * self.cache_write
        ) / 1_000_000


class Tier(NamedTuple):
    """A model.

    Attributes:
        id: as requests name it.
        context_window, max_output: in tokens.
        prices: None where they are not known.
        thinking: how it is asked to think.
        effort: how hard it is asked to try; None where it knows no such setting.
        characters_per_token: what the client reckons with when it sizes the skill listing.
    """

    id: str
    context_window: int
    max_output: int
    prices: Prices | None
    thinking: Thinking = "none"
    effort: Effort | None = None
    characters_per_token: int = 4

    def cost(self, usage: Usage) -> float | None:
        """What a request cost, in dollars; None where the prices are not known."""
        return None if self.prices is None else self.prices.cost(usage)

    def parameters(self, max_tokens: int | None = None) -> dict[str, Any]:
        """What a request to this model starts from: its name, limits, thinking and effort."""
        tokens = min(max_tokens or self.max_output, self.max_output)
        request: dict[str, Any] = {"model": self.id, "max_tokens": tokens}
        if self.thinking == "adaptive":
            request["thinking"] = {"type": "adaptive"}
        elif self.thinking == "budget" and tokens > 1_024:
            budget = max(1_024, tokens // 2)
            request["thinking"] = {"type": "enabled", "budget_tokens": budget}
        if self.effort:
            request["output_config"] = {"effort": self.effort}
        return request


def _fifth(id: str, max_output: int, effort: Effort, *prices: float) -> Tier:
    """A model with a window of a million tokens by itself."""
    return Tier(id, 1_000_000, max_output, Prices(*prices), "adaptive", effort, 3)


def _fourth(
    id: str, max_output: int, thinking: Thinking, effort: Effort | None, *prices: float
) -> Tier:
    return Tier(id, 200_000, max_output, Prices(*prices), thinking, effort)


TIERS: tuple[Tier, ...] = (
    _fifth("claude-haiku-5-5", 128_000, "medium", 0.10, 0.50, 0.01, 0.125, 0.50),
    _fifth("claude-sonnet-5-5", 128_000, "medium", 2, 10, 0.10, 2.50),
    _fifth("claude-opus-5-5", 128_000, "medium", 4, 20, 0.20, 5),
    _fifth("claude-fable-5-2", 128_000, "medium", 8, 40, 0.20, 10),
    _fifth("claude-mythos-5-2", 128_000, "medium", 8, 40, 0.20, 10),
    _fifth("claude-sonnet-5", 64_000, "high", 2, 10, 0.20, 2.50),
    _fifth("claude-opus-5", 64_000, "high", 5, 25, 0.50, 6.25),
    _fifth("claude-fable-5", 64_000, "high", 10, 50, 1, 12.50),
    _fifth("claude-opus-4-8", 64_000, "high", 5, 25, 0.50, 6.25),
    _fifth("claude-opus-4-7", 64_000, "xhigh", 5, 25, 0.50, 6.25),
    _fourth("claude-opus-4-6", 64_000, "adaptive", "high", 5, 25, 0.50, 6.25),
    _fourth("claude-sonnet-4-6", 32_000, "adaptive", "high", 3, 15, 0.30, 3.75),
    _fourth("claude-sonnet-4-5", 32_000, "budget", None, 3, 15, 0.30, 3.75),
    _fourth("claude-haiku-4-5", 32_000, "budget", None, 1, 5, 0.10, 1.25),
    _fourth("claude-opus-4-5", 32_000, "budget", "high", 5, 25, 0.50, 6.25),
)
"""Every model that is known, the newest generation first and in it the cheapest."""

ALIASES = {
    "haiku": "claude-haiku-5-5",
    "sonnet": "claude-sonnet-5-5",
    "opus": "claude-opus-5-5",
    "fable": "claude-fable-5-2",
    "mythos": "claude-mythos-5-2",
}
"""The current model of each family."""


def find_tier(name: str) -> Tier | None:
    """A known model by its id (also dated), its id without ``claude-``, or its family."""
    by_id = {tier.id: tier for tier in TIERS}
    name = ALIASES.get(name, name)
    head, _, date = name.rpartition("-")
    if len(date) == 8 and date.isdecimal() and (tier := by_id.get(head)):
        return tier._replace(id=name)
    return by_id.get(name) or by_id.get(f"claude-{name}")


def nearest(name: str) -> str:
    """The known model whose name is most like this one; empty where none is."""
    close = difflib.get_close_matches(name, [tier.id for tier in TIERS], n=1)
    return close[0] if close else ""
