"""A session rebuilt from its trace, after it ended or was killed at any point.

What a model said and what it was told come back as they were; grants do not: a session that
goes on earns them again. Calls that were under way when the session died are answered with the
fact that nobody knows how they ended.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from skilleval.errors import InputError
from skilleval.harness.context.history import Block, History
from skilleval.models.messages import Usage
from skilleval.trace.events import Event
from skilleval.trace.reader import read_events, read_with_agents

__all__ = ["Resumed", "resume"]

_LOST = (
    "This call was under way when the session was interrupted. Whether it did anything is not "
    "known: look before you repeat it."
)


@dataclass
class Resumed:
    """A session as far as its trace tells.

    Attributes:
        session: its id.
        start: its first event.
        history: the conversation.
        events: how many the trace holds; size: in bytes.
        prompts, turns: how many there were.
        usage: of its answers.
        cost: of all that it and its subagents have asked for; None where a part of it is not
            known.
        loaded: names of the skills that were loaded.
        lost: ids of tool calls that were under way, since it was last resumed.
        outcome: how it ended; empty where it did not.
    """

    session: str
    start: dict[str, Any]
    history: History = field(default_factory=History)
    events: int = 0
    size: int = 0
    prompts: int = 0
    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    loaded: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    outcome: str = ""

    def pay(self, cost: float | None) -> None:
        """Add what something cost."""
        self.cost = None if cost is None or self.cost is None else self.cost + cost


def resume(path: str) -> Resumed:
    """Rebuild a session from its trace.

    Raises:
        InputError: it is no trace of a session of ours, or says what makes no sense.
        OSError: it can't be read.
    """
    size = os.stat(path).st_size
    events = read_events(path)
    start = next(events, None)
    if start is None:
        raise InputError(f"{path} is empty: there is no session in it")
    _check_start(path, start)
    session = _Rebuilt(Resumed(str(start.get("session", "")), start, events=1, size=size))
    for event in events:
        try:
            session.take(event)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            raise InputError(
                f"{path}: event {session.found.events} ({str(event['type'])[:40]}) makes no sense",
                remedy="Only traces can go on that are as skilleval wrote them.",
            ) from None
    session.settle(lost=True)
    for cost in _costs(path):
        session.found.pay(cost)
    return session.found


def _check_start(path: str, event: Event) -> None:
    if event["type"] != "start" or event.get("driver") != "native":
        raise InputError(
            f"{path} is not the trace of a session that can go on",
            remedy="Name the trace of a session of skilleval chat.",
        )
    if event.get("agent"):
        raise InputError(
            f"{path} is the trace of a subagent, which can't go on by itself",
            remedy="Name the trace of the session that it worked for.",
        )


class _Rebuilt:
    """A session while its events are read."""

    def __init__(self, found: Resumed) -> None:
        self.found = found
        self._calls: list[str] = []
        self._results: dict[str, Block] = {}
        self._after: dict[str, list[Block]] = {}
        self._reminders: list[Block] = []

    def take(self, event: Event) -> None:
        """Take in an event."""
        found, kind = self.found, event["type"]
        if kind == "prompt":
            self._prompt(event)
        elif kind == "reply":
            self._reply(event)
        elif kind == "result":
            self._result(event)
        elif kind == "reminder":
            self._reminders += _blocks(event["content"])
        elif kind == "shaped" and "messages" in event:
            self._shaped(event)
        elif kind == "activation":
            found.loaded.append(str(event.get("skill", "")))
        elif kind == "warning" and event.get("about") == "summary":
            found.pay(_number(event.get("cost")))
        elif kind == "end":
            self.settle(lost=True)
            found.outcome = str(event.get("outcome", ""))
        elif kind == "resume":
            self.settle(lost=True)
            found.lost, found.outcome = [], ""
        found.events = int(event.get("n", found.events)) + 1

    def settle(self, *, lost: bool = False) -> None:
        """Tell the model what came of its calls, those that are ``lost`` among them."""
        found = self.found
        content: list[Block] = []
        for identity in self._calls:
            if identity in self._results:
                content.append(self._results[identity])
            elif lost:
                found.lost.append(identity)
                content.append(_failed(identity, _LOST))
        content += [block for each in self._calls for block in self._after.get(each, ())]
        batch, content = bool(content), content + self._reminders
        messages = found.history.messages
        if content and not batch and messages and messages[-1]["role"] == "user":
            found.history = found.history.with_more(content)
        elif content:
            found.history = found.history.plus({"role": "user", "content": content})
        self._forget()

    def _forget(self) -> None:
        self._calls, self._results, self._after, self._reminders = [], {}, {}, []

    def _prompt(self, event: Event) -> None:
        content = _blocks(event["content"])
        if content[: len(self._reminders)] == self._reminders:
            self._reminders = []  # they are told with this prompt, which holds them
        self.settle(lost=True)
        self.found.history = self.found.history.plus({"role": "user", "content": content})
        self.found.prompts += not event.get("internal", False)
        self.found.outcome = ""

    def _reply(self, event: Event) -> None:
        self.settle(lost=True)
        found, content = self.found, _blocks(event["content"])
        usage = Usage(*map(int, event.get("usage", ())))
        message = {"role": "assistant", "content": content}
        found.history = found.history.after_reply(message, usage.prompt + usage.output)
        self._calls = [block["id"] for block in content if block["type"] == "tool_use"]
        found.turns += 1
        found.usage = found.usage.plus(usage)
        found.pay(_number(event.get("cost")))

    def _result(self, event: Event) -> None:
        identity = str(event.get("tool_use", ""))
        if identity not in self._calls:
            return
        content = event.get("content", "")
        content = content if isinstance(content, str) else _blocks(content)
        block: Block = {"type": "tool_result", "tool_use_id": identity, "content": content}
        self._results[identity] = {**block, "is_error": True} if event.get("is_error") else block
        self._after[identity] = _blocks(event.get("after") or [])

    def _shaped(self, event: Event) -> None:
        """The conversation as it was made: results that were just told are in it."""
        self._forget()
        messages = tuple(
            {"role": str(each["role"]), "content": _blocks(each["content"])}
            for each in event["messages"]
        )
        fold = (int(event.get("folded", 0)), str(event.get("fold", "")))
        counted = int(event.get("counted", 0))
        self.found.history = History(messages, counted, len(messages), *fold)


def _failed(identity: str, why: str) -> Block:
    return {"type": "tool_result", "tool_use_id": identity, "content": why, "is_error": True}


def _blocks(content: Any) -> list[Block]:
    """Content blocks, looked through; a content that was too long for the trace is a text.

    Raises:
        ValueError: they make no sense.
    """
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        raise ValueError("no content")
    for block in content:
        kind = block["type"]
        fields = {"text": ("text",), "tool_use": ("id", "name")}.get(kind, ())
        if not isinstance(kind, str) or any(not isinstance(block[name], str) for name in fields):
            raise ValueError("no content block")
        if kind == "tool_use" and not isinstance(block["input"], dict):
            raise ValueError("no input")
    return content


def _number(cost: Any) -> float | None:
    if cost is None:
        return None
    if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 <= cost < float("inf"):
        raise ValueError("no cost")
    return float(cost)


def _costs(path: str) -> Iterator[float | None]:
    """What the requests of subagents cost, as their traces say; as far as they can be read."""
    try:
        for event in read_with_agents(path, lambda _: None):
            summary = event["type"] == "warning" and event.get("about") == "summary"
            if event.get("agent") and (event["type"] == "reply" or summary):
                yield _number(event.get("cost"))
    except InputError:
        yield None
