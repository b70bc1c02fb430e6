"""A session rebuilt from its trace, after it ended or was killed at any point.

What a model said and what it was told come back as they were; grants do not: a session that
goes on earns them again. Calls that were under way when the session died are answered with the
fact that nobody knows how they ended.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from skilleval.errors import InputError
from skilleval.harness.context.history import Block, History, Message
from skilleval.models.messages import Usage
from skilleval.trace.reader import read_events

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
        events: how many the trace holds.
        prompts, turns: how many there were.
        usage, cost: of it all; the cost is None where a part of it is not known.
        loaded: names of the skills that were loaded.
        lost: ids of tool calls that were under way.
        outcome: how it ended; empty where it did not.
    """

    session: str
    start: dict[str, Any]
    history: History = field(default_factory=History)
    events: int = 0
    prompts: int = 0
    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    loaded: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    outcome: str = ""


def resume(path: str) -> Resumed:
    """Rebuild a session from its trace.

    Raises:
        InputError: it is no trace of a session of ours.
        OSError: it can't be read.
    """
    found: Resumed | None = None
    open_calls: dict[str, Block] = {}
    results: list[Block] = []
    for event in read_events(path):
        if found is None:
            if event["type"] != "start" or event.get("driver") != "native":
                raise InputError(
                    f"{path} is not the trace of a session that can go on",
                    remedy="Name the trace of a session of skilleval chat.",
                )
            found = Resumed(str(event.get("session", "")), event)
        found.events = int(event.get("n", found.events)) + 1
        if not event.get("agent"):
            _take(found, event, open_calls, results)
    if found is None:
        raise InputError(f"{path} is empty: there is no session in it")
    if open_calls:
        found.lost = list(open_calls)
        results += [_lost(identity) for identity in open_calls]
    if results:
        found.history = found.history.plus({"role": "user", "content": list(results)})
    return found


def _take(
    found: Resumed, event: dict[str, Any], open_calls: dict[str, Block], results: list[Block]
) -> None:
    kind, history = event["type"], found.history
    if kind == "prompt":
        if results:
            history = history.plus({"role": "user", "content": list(results)})
            results.clear()
        found.history = history.plus({"role": "user", "content": event["content"]})
        found.prompts += not event.get("internal", False)
        found.outcome = ""
    elif kind == "reply":
        _reply(found, event, open_calls, results)
    elif kind == "result":
        identity = event.get("tool_use", "")
        if open_calls.pop(identity, None) is not None:
            results.append(_result(identity, event))
            results.extend(event.get("after") or [])
    elif kind == "reminder":
        results.extend(event["content"])
    elif kind == "shaped" and "messages" in event:
        messages: tuple[Message, ...] = tuple(event["messages"])
        fold = (int(event.get("folded", 0)), str(event.get("fold", "")))
        found.history = History(messages, int(event.get("counted", 0)), len(messages), *fold)
    elif kind == "activation":
        found.loaded.append(str(event.get("skill", "")))
    elif kind == "end":
        found.outcome = str(event.get("outcome", ""))


def _reply(
    found: Resumed, event: dict[str, Any], open_calls: dict[str, Block], results: list[Block]
) -> None:
    history = found.history
    if results:
        history = history.plus({"role": "user", "content": list(results)})
        results.clear()
    usage = Usage(*event.get("usage", ()))
    message = {"role": "assistant", "content": event["content"]}
    found.history = history.after_reply(message, usage.prompt + usage.output)
    for block in event["content"]:
        if block.get("type") == "tool_use":
            open_calls[block["id"]] = block
    found.turns += 1
    found.usage = found.usage.plus(usage)
    cost = event.get("cost")
    found.cost = None if cost is None or found.cost is None else found.cost + cost


def _result(identity: str, event: dict[str, Any]) -> Block:
    block: Block = {
        "type": "tool_result",
        "tool_use_id": identity,
        "content": event.get("content", ""),
    }
    return {**block, "is_error": True} if event.get("is_error") else block


def _lost(identity: str) -> Block:
    return {"type": "tool_result", "tool_use_id": identity, "content": _LOST, "is_error": True}
