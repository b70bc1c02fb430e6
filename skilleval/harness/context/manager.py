"""When a conversation is made smaller, and by what."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from skilleval.errors import Failure, InputError, ModelError
from skilleval.harness.context.history import History, Message
from skilleval.harness.context.shapers import SHAPERS
from skilleval.harness.context.summary import (
    RecentFile,
    after_summary,
    read_summary,
    summary_request,
)

__all__ = ["EDITS", "Context", "Shaped", "Thresholds", "server_side"]

_CLEAR_THINKING = "clear_thinking_20251015"
_CLEAR_TOOLS = "clear_tool_uses_20250919"
_COMPACT = "compact_20260112"
EDITS = (_CLEAR_THINKING, _CLEAR_TOOLS, _COMPACT)
"""What the API can do by itself to make room, in the order that it wants them in."""
_KEPT_TOOLS = 5
"""The latest tool results, which it leaves alone."""
_LEAST_TO_COMPACT = 50_000
"""Input tokens below which it does not sum up."""
_LEAST_GAIN = 0.05
"""The share of the window that a shaper has to save to be worth a broken cache."""
Summarise = Callable[[list[Message]], Awaitable[str]]
"""Asks a model with messages; its text."""


@dataclass(frozen=True)
class Thresholds:
    """At which share of the window each shaper sets in, and when a warning is due.

    They are settings of ours: no numbers of another harness are known for sure.

    Attributes:
        results: long results of tools are cut.
        snip: what later messages have made void is taken out.
        microcompact: all results but the last few are cleared.
        collapse: all but the last messages are shown in a few lines.
        summary: the conversation is summed up by the model.
        warn: the model is told how full its window is, once at each of these.
    """

    results: float = 0.5
    snip: float = 0.6
    microcompact: float = 0.7
    collapse: float = 0.8
    summary: float = 0.9
    warn: tuple[float, ...] = (0.6, 0.75, 0.9)

    def __post_init__(self) -> None:
        shares = [getattr(self, field.name) for field in fields(self) if field.name != "warn"]
        if not all(0 < share <= 1 for share in [*shares, *self.warn]):
            raise InputError("a threshold of the context is no share between 0 and 1")


class Shaped(NamedTuple):
    """That a shaper did something: its name, and the tokens before and after."""

    shaper: str
    before: int
    after: int


class Context:
    """Keeps the conversation of one agent within the window of its model."""

    def __init__(
        self,
        window: int,
        reserve: int,
        summarise: Summarise,
        recent_files: Callable[[], Sequence[RecentFile]],
        thresholds: Thresholds | None = None,
    ) -> None:
        """Set it up.

        Args:
            window: tokens that the model can take in.
            reserve: of these, how many are kept free for its answer.
            summarise: asks a model for a summary.
            recent_files: the files that were read last, the latest first.
            thresholds: when what sets in.
        """
        self.room = max(1, window - min(reserve, window // 2))
        self._summarise = summarise
        self._recent_files = recent_files
        self._thresholds = thresholds or Thresholds()
        self._summarising = False
        self._rescued = False
        self._warned = 0.0

    async def prepare(self, history: History) -> tuple[History, list[Shaped]]:
        """The conversation as it can be sent, and what was done to it."""
        done: list[Shaped] = []
        if self._summarising:  # a summary is never summed up
            return history, done
        for name, shape in SHAPERS.items():
            if history.tokens >= getattr(self._thresholds, name) * self.room:
                shaped = shape(history)
                if history.tokens - shaped.tokens >= _LEAST_GAIN * self.room:
                    history = _apply(name, shaped, history, done)
        if history.tokens >= self._thresholds.summary * self.room:
            history = await self._sum_up(history, done)
        return history, done

    async def rescue(self, history: History) -> tuple[History, list[Shaped]] | None:
        """After the API said that the prompt is too long: everything at once, one time only."""
        if self._rescued or self._summarising:
            return None
        self._rescued = True
        done: list[Shaped] = []
        for name, shape in SHAPERS.items():
            history = _apply(name, shape(history), history, done)
        history = await self._sum_up(history, done)
        return (history, done) if done else None

    def warning(self, history: History) -> str:
        """What to tell the model when a mark is passed for the first time; else nothing."""
        share = history.tokens / self.room
        passed = max((mark for mark in self._thresholds.warn if share >= mark), default=0.0)
        if passed <= self._warned:
            self._warned = min(self._warned, passed)
            return ""
        self._warned = passed
        return (
            f"{share:.0%} of the context window is used. Keep what you read and write short: "
            "older results will be cleared, and the conversation summed up, when it is full."
        )

    async def _sum_up(self, history: History, done: list[Shaped]) -> History:
        self._summarising = True
        try:
            messages = [*history.view(), summary_request()]
            try:
                text = await self._summarise(messages)
            except ModelError as error:
                if error.failure is not Failure.TOO_LONG:
                    raise
                half = len(messages) // 2
                text = await self._summarise(_valid_from(messages, half))
        finally:
            self._summarising = False
        summary = read_summary(text)
        if not summary:
            return history
        return _apply(
            "summary", after_summary(history, summary, self._recent_files()), history, done
        )


def _apply(name: str, shaped: History, history: History, done: list[Shaped]) -> History:
    if shaped == history:
        return history
    done.append(Shaped(name, history.tokens, shaped.tokens))
    return shaped


def _valid_from(messages: list[Message], start: int) -> list[Message]:
    """The messages from the first one on that can begin a conversation."""
    for at in range(start, len(messages)):
        content = messages[at]["content"]
        results = not isinstance(content, str) and any(
            block.get("type") == "tool_result" for block in content
        )
        if messages[at]["role"] == "user" and not results:
            return messages[at:]
    return messages[-1:]


def server_side(
    edits: Collection[str], window: int, thresholds: Thresholds, *, thinking: bool
) -> dict[str, Any]:
    """The parameters that have the API itself make room, in place of our shapers.

    Args:
        edits: what it is to do, of ``EDITS``.
        window: tokens that the model can take in.
        thresholds: tool results go from ``results`` on, and it sums up from ``summary`` on.
        thinking: whether the model thinks; the API refuses to clear thinking where it does not.
    """
    made: list[dict[str, Any]] = []
    if _CLEAR_THINKING in edits and thinking:
        made.append({"type": _CLEAR_THINKING})
    if _CLEAR_TOOLS in edits:
        tokens = max(1, int(thresholds.results * window))
        keep = {"type": "tool_uses", "value": _KEPT_TOOLS}
        made.append({"type": _CLEAR_TOOLS, "trigger": _tokens(tokens), "keep": keep})
    betas = ["context-management-2025-06-27"] if made else []
    if _COMPACT in edits:
        tokens = max(_LEAST_TO_COMPACT, int(thresholds.summary * window))
        made.append({"type": _COMPACT, "trigger": _tokens(tokens)})
        betas.append("compact-2026-01-12")
    return {"context_management": {"edits": made}, "betas": betas} if made else {}


def _tokens(count: int) -> dict[str, Any]:
    return {"type": "input_tokens", "value": count}
