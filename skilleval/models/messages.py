"""The Messages API as we use it: a request, a reply, how it ended, what it used.

Requests and content blocks are plain dictionaries in the API's own form, so that what one
model said can be sent to another as it is. A reply is read once, here, and checked: an
endpoint may be anything that claims to speak the API.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, NoReturn

from skilleval.errors import Failure, ModelError

__all__ = [
    "Block",
    "Event",
    "OnEvent",
    "Outcome",
    "Reply",
    "Request",
    "Usage",
    "read_json",
    "read_reply",
    "read_usage",
]

Request = Mapping[str, Any]
"""The body of ``POST /v1/messages``; ``betas`` in it travels as a header."""
Block = dict[str, Any]
"""A content block."""
Event = dict[str, Any]
"""An event of a stream, in the API's form; ``{"type": "restart"}`` where it begins anew."""
OnEvent = Callable[[Event], None]
"""What gets the events of a stream as they come."""
_DEEPEST = 100
"""Objects and lists within one another; what nests deeper is no answer but an attack."""
_MOST_TOKENS = 1_000_000_000
"""A count beyond is a mistake, and would make a budget or an allowance useless."""


class Outcome(StrEnum):
    """How a reply ended."""

    COMPLETED = "completed"
    TOOL_USE = "tool use"
    MAX_TOKENS = "max tokens"
    CONTEXT_FULL = "context window full"
    PAUSED = "paused"
    REFUSED = "refused"
    UNKNOWN = "unknown"


_OUTCOMES = {
    "end_turn": Outcome.COMPLETED,
    "stop_sequence": Outcome.COMPLETED,
    "tool_use": Outcome.TOOL_USE,
    "max_tokens": Outcome.MAX_TOKENS,
    "model_context_window_exceeded": Outcome.CONTEXT_FULL,
    "pause_turn": Outcome.PAUSED,
    "refusal": Outcome.REFUSED,
}


class Usage(NamedTuple):
    """Tokens of a request.

    ``input`` are those that no cache served or kept; ``thinking`` are part of ``output``.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    thinking: int = 0

    @property
    def prompt(self) -> int:
        """All that was sent."""
        return self.input + self.cache_read + self.cache_write

    def plus(self, other: Usage) -> Usage:
        """The sum of two."""
        return Usage(*(a + b for a, b in zip(self, other, strict=True)))


@dataclass(frozen=True)
class Reply:
    """What a model answered.

    Attributes:
        content: the blocks, to be sent back as they are.
        outcome: how it ended, and ``stop_reason`` in the endpoint's own word.
        usage: tokens.
        model: which model answered, as the endpoint says.
        id: of the message.
        explanation: the endpoint's reason for a refusal, where it gives one.
        request_id: what the endpoint calls the request.
        cost: in dollars; None where the price is not known.
        seconds: from the first attempt to the end, waiting included.
        attempts: how many requests it took.
        raw: the message as it came.
    """

    content: tuple[Block, ...]
    outcome: Outcome
    stop_reason: str
    usage: Usage
    model: str
    id: str
    explanation: str = ""
    request_id: str = ""
    cost: float | None = None
    seconds: float = 0.0
    attempts: int = 1
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def text(self) -> str:
        """The text blocks together."""
        return "".join(block["text"] for block in self.content if block["type"] == "text")

    @property
    def tool_calls(self) -> list[Block]:
        """The tools that the model wants carried out."""
        return [block for block in self.content if block["type"] == "tool_use"]


def read_reply(message: object, request_id: str = "") -> Reply:
    """Read the body of an answer.

    Raises:
        ModelError: it is no message of the Messages API.
    """
    if not isinstance(message, dict) or message.get("type") != "message":
        raise _malformed("no message", request_id)
    content = message.get("content")
    if not isinstance(content, list):
        raise _malformed("a message without content", request_id)
    for block in content:
        if not _is_block(block):
            raise _malformed("a content block that makes no sense", request_id)
    usage, reason = message.get("usage"), message.get("stop_reason")
    stop_reason = _text(reason)
    details = message.get("stop_details")
    explanation = details.get("explanation") if isinstance(details, dict) else None
    return Reply(
        content=tuple(content),
        outcome=_OUTCOMES.get(stop_reason, Outcome.UNKNOWN),
        stop_reason=stop_reason,
        usage=read_usage(usage if isinstance(usage, dict) else {}),
        model=_text(message.get("model")),
        id=_text(message.get("id")),
        explanation=_text(explanation),
        request_id=request_id,
        raw=message,
    )


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """The ``usage`` of a message; what is missing counts as nothing."""
    details = usage.get("output_tokens_details")
    thinking = details.get("thinking_tokens") if isinstance(details, dict) else 0
    return Usage(
        _count(usage.get("input_tokens")),
        _count(usage.get("output_tokens")),
        _count(usage.get("cache_read_input_tokens")),
        _count(usage.get("cache_creation_input_tokens")),
        _count(thinking),
    )


def read_json(data: bytes | str, deepest: int = _DEEPEST) -> Any:
    """JSON that is fit to be sent and written again.

    Raises:
        ValueError: it is no JSON, holds a number that JSON has no way to write, or nests so
            deeply that working on it would exhaust the stack.
    """
    try:
        value = json.loads(data, parse_constant=_no_number, parse_float=_finite)
    except RecursionError:
        raise ValueError("it nests too deeply") from None
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(deepest + 1):
        if not level:
            return value
        nodes = (child for node in level for child in _children(node))
        level = [child for child in nodes if isinstance(child, dict | list)]
    raise ValueError("it nests too deeply")


def _children(node: Any) -> Any:
    return node.values() if isinstance(node, dict) else node


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if abs(number) != float("inf") else _no_number(digits[:20])


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        return 0
    return value if 0 < value <= _MOST_TOKENS else 0


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _is_block(block: object) -> bool:
    if not isinstance(block, dict):
        return False
    kind = block.get("type")
    if kind == "text":
        return isinstance(block.get("text"), str)
    if kind == "thinking":
        return isinstance(block.get("thinking"), str)
    if kind == "tool_use":
        names = isinstance(block.get("id"), str) and isinstance(block.get("name"), str)
        return names and isinstance(block.get("input"), dict)
    return isinstance(kind, str)


def _malformed(what: str, request_id: str) -> ModelError:
    return ModelError(
        Failure.MALFORMED,
        f"the endpoint answered with {what}",
        remedy="Is it an endpoint of the Anthropic Messages API? Check the base URL.",
        request_id=request_id,
    )
