"""What an offline model answers: a turn, and the policy that thinks it up.

A turn says more than a message does: it may take its time, be refused, or break off, so that
whoever builds on a model can be tried against everything that an endpoint does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from skilleval.models.messages import Block, Request

__all__ = ["ApiError", "Policy", "Turn", "text_block", "tool_block"]


@dataclass(frozen=True)
class ApiError:
    """An error of the Messages API.

    Attributes:
        status: of the HTTP response.
        type: the API's word, such as ``overloaded_error``.
        message: the API's sentence.
        retry_after: seconds that a client should wait; None where the API does not say.
        after: events of a stream that come before the error; 0 refuses the request.
    """

    status: int
    type: str
    message: str
    retry_after: float | None = None
    after: int = 0


@dataclass(frozen=True)
class Turn:
    """One answer.

    Attributes:
        content: the blocks; a ``tool_use`` without an id and a ``thinking`` without a
            signature get one when the message is made.
        stop_reason: empty for what follows from the content.
        explanation: why a refusal refuses.
        usage: counts that replace the estimates, by their names in the API.
        delay: seconds before the answer begins.
        error: what comes in place of the answer.
        drop_after: events after which the connection drops; 0 before anything, None never.
    """

    content: tuple[Block, ...] = ()
    stop_reason: str = ""
    explanation: str = ""
    usage: Mapping[str, int] = field(default_factory=dict)
    delay: float = 0.0
    error: ApiError | None = None
    drop_after: int | None = None


class Policy(Protocol):
    """How an offline model finds its answer.

    The whole conversation is in the request, so a policy keeps no state of its own, except
    where the same request has to be answered differently the second time. It must not raise,
    whatever the request holds.
    """

    @property
    def name(self) -> str:
        """What the model is called, such as ``offline/literal``."""
        ...

    def answer(self, request: Request) -> Turn:
        """The next turn of a conversation."""
        ...


def text_block(text: str) -> Block:
    """A block of text."""
    return {"type": "text", "text": text}


def tool_block(name: str, input: Mapping[str, Any]) -> Block:
    """A tool that the model wants carried out; it gets its id with the message."""
    return {"type": "tool_use", "name": name, "input": dict(input)}
