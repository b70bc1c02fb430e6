"""What a hook has said, taken apart by the contract of the event."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from skilleval.harness.hooks.events import Contract, HookEvent, Power

__all__ = ["MOST", "RANKS", "Answer", "Rubbish", "clip", "from_mapping", "from_text"]

RANKS = {"allow": 1, "ask": 2, "defer": 3, "deny": 4}
"""Of two behaviours the one with the higher rank wins."""

MOST = 10_000
"""Characters of a reason, a context or a message that are passed on."""

_WORDS: dict[type, str] = {str: "text", bool: "true or false", dict: "an object"}

T = TypeVar("T", str, bool, dict[str, Any])


class Rubbish(Exception):
    """A hook has said something that can't be understood; none of it is heeded."""


@dataclass
class Answer:
    """What one hook wants. Everything empty is silence.

    Attributes:
        said: the object or text that it was read from.
        notes: what of it was not heeded, and why.
    """

    behavior: str | None = None
    reason: str = ""
    updated_input: dict[str, Any] | None = None
    updated_output: Any = None
    context: str = ""
    stop: bool = False
    stop_reason: str = ""
    message: str = ""
    retry: bool = False
    said: Any = None
    notes: list[str] = field(default_factory=list)

    def wish(self, behavior: str, reason: str) -> None:
        """Take over a behaviour unless there is a stronger one already."""
        if self.behavior is None or RANKS[behavior] > RANKS[self.behavior]:
            self.behavior, self.reason = behavior, reason


def clip(text: str, most: int = MOST) -> str:
    """The text, cut where it is too long, and saying so."""
    if len(text) <= most:
        return text
    return f"{text[:most]}\n[cut: {len(text) - most} more characters]"


def from_text(text: str, event: HookEvent, contract: Contract, tool: str = "") -> Answer:
    """Read what a hook has printed.

    Raises:
        Rubbish: it is neither empty nor an answer that the event knows.
    """
    text = text.strip()
    if not text:
        return Answer()
    if not contract.powers:
        return Answer(said=clip(text), notes=[f"{event} heeds no answers"])
    if not text.startswith("{"):
        if contract.text_is_context:
            return Answer(context=clip(text), said=clip(text))
        start = clip(text.splitlines()[0], 80)
        raise Rubbish(f"plain text, which means nothing at {event}: {start!r}")
    try:
        said = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Rubbish(f"it begins like a JSON object, but can't be read: {error}") from None
    return from_mapping(said, event, contract, tool)


def from_mapping(
    said: Mapping[str, Any], event: HookEvent, contract: Contract, tool: str = ""
) -> Answer:
    """Read an answer that is an object already.

    Raises:
        Rubbish: something in it that the event heeds has the wrong type or an unknown value.
    """
    if not contract.powers:
        return Answer(said=said, notes=[f"{event} heeds no answers"])
    reader = _Reader(event, contract)
    return reader.read(said, tool)


class _Reader:
    """Takes from an answer what the event heeds, and notes the rest."""

    def __init__(self, event: HookEvent, contract: Contract) -> None:
        self.event = event
        self.powers = contract.powers
        self.notes: list[str] = []

    def take(self, said: Mapping[str, Any], key: str, kind: type[T], power: Power) -> T | None:
        value = said.get(key)
        if value is None:
            return None
        if power not in self.powers:
            self.notes.append(f"`{key}` means nothing at {self.event}")
            return None
        if not isinstance(value, kind):
            raise Rubbish(f"`{key}` is not {_WORDS[kind]}")
        return value

    def read(self, said: Mapping[str, Any], tool: str) -> Answer:
        answer = Answer(said=said, notes=self.notes)
        answer.stop = self.take(said, "continue", bool, Power.STOP) is False
        answer.stop_reason = clip(self.take(said, "stopReason", str, Power.STOP) or "")
        answer.message = clip(self.take(said, "systemMessage", str, Power.MESSAGE) or "")
        self._decision(said, answer)
        specific = said.get("hookSpecificOutput")
        if specific is not None:
            if not isinstance(specific, dict):
                raise Rubbish("`hookSpecificOutput` is not an object")
            self._specific(specific, answer, tool)
        self._rest(said, _TOP, "")
        return answer

    def _decision(self, said: Mapping[str, Any], answer: Answer) -> None:
        """The older form, `decision` and `reason` at the top."""
        reason = self.take(said, "reason", str, Power.BLOCK) or ""
        decision = self.take(said, "decision", str, Power.BLOCK)
        if decision == "block":
            answer.wish("deny", clip(reason))
        elif decision == "approve":
            if Power.PERMISSION in self.powers:
                answer.wish("allow", clip(reason))
        elif decision is not None:
            raise Rubbish(f"`decision` is {clip(decision, 60)!r}, which is not `block`")

    def _specific(self, said: dict[str, Any], answer: Answer, tool: str) -> None:
        named = said.get("hookEventName")
        if named is not None and named != self.event:
            raise Rubbish(f"`hookEventName` is {clip(str(named), 60)!r}, but this is {self.event}")
        reason = self.take(said, "permissionDecisionReason", str, Power.PERMISSION) or ""
        decision = self.take(said, "permissionDecision", str, Power.PERMISSION)
        if decision is not None:
            if decision not in RANKS:
                raise Rubbish(f"`permissionDecision` is {clip(decision, 60)!r}")
            answer.wish(decision, clip(reason))
        request = self.take(said, "decision", dict, Power.REQUEST)
        if request is not None:
            self._request(request, answer)
        if Power.REQUEST not in self.powers:  # there it stands inside the decision
            answer.updated_input = self.take(said, "updatedInput", dict, Power.INPUT)
        answer.context = clip(self.take(said, "additionalContext", str, Power.CONTEXT) or "")
        answer.retry = self.take(said, "retry", bool, Power.RETRY) is True
        self._output(said, answer, tool)
        self._rest(said, _SPECIFIC, "hookSpecificOutput.")

    def _request(self, said: dict[str, Any], answer: Answer) -> None:
        behavior = said.get("behavior")
        if behavior not in ("allow", "deny"):
            raise Rubbish("`decision.behavior` is neither `allow` nor `deny`")
        message = self.take(said, "message", str, Power.REQUEST) or ""
        answer.wish(behavior, clip(message))
        answer.updated_input = self.take(said, "updatedInput", dict, Power.INPUT)
        if self.take(said, "interrupt", bool, Power.REQUEST):
            answer.stop, answer.stop_reason = True, answer.stop_reason or clip(message)
        self._rest(said, _REQUEST, "decision.")

    def _output(self, said: dict[str, Any], answer: Answer, tool: str) -> None:
        for key in ("updatedMCPToolOutput", "updatedToolOutput"):
            value = said.get(key)
            if value is None:
                continue
            if Power.OUTPUT not in self.powers:
                self.notes.append(f"`{key}` means nothing at {self.event}")
            elif key == "updatedMCPToolOutput" and not tool.startswith("mcp__"):
                self.notes.append(f"`{key}` means nothing for a tool that is of no MCP server")
            else:
                answer.updated_output = value

    def _rest(self, said: Mapping[str, Any], known: frozenset[str], where: str) -> None:
        for key in sorted(str(key) for key in said if key not in known)[:20]:
            self.notes.append(f"`{where}{clip(key, 60)}` is not known")


_TOP = frozenset(
    {
        "continue",
        "stopReason",
        "suppressOutput",
        "systemMessage",
        "decision",
        "reason",
        "hookSpecificOutput",
    }
)
_SPECIFIC = frozenset(
    {
        "hookEventName",
        "permissionDecision",
        "permissionDecisionReason",
        "decision",
        "updatedInput",
        "additionalContext",
        "retry",
        "updatedToolOutput",
        "updatedMCPToolOutput",
    }
)
_REQUEST = frozenset({"behavior", "message", "updatedInput", "interrupt"})
