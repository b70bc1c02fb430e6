"""An offline model: a policy behind what the API does around any model.

It checks requests as the API does, counts tokens (an estimate), simulates the prompt cache,
makes messages with ids, and lets answers be late, refused or broken off where the turn says so.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

from skilleval.errors import Failure, ModelError
from skilleval.models.failures import failure_of_status
from skilleval.models.messages import Block, Event, OnEvent, Request
from skilleval.models.offline.cache import PromptCache
from skilleval.models.offline.checks import problem_of, too_long
from skilleval.models.offline.tokens import Piece, canonical, estimate, pieces_of, tokens
from skilleval.models.offline.turns import ApiError, Policy, Turn
from skilleval.models.streams import events_of
from skilleval.models.tiers import find_tier

__all__ = ["Answer", "OfflineModel"]

_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


@dataclass(frozen=True)
class Answer:
    """What becomes of a request.

    Attributes:
        request_id: what the endpoint calls it.
        message: as the API returns it; None where the request is refused.
        error: what comes in place of the message, or breaks its stream off.
        drop_after: events after which the connection drops; 0 before anything, None never.
        delay: seconds before anything comes.
    """

    request_id: str
    message: dict[str, Any] | None = None
    error: ApiError | None = None
    drop_after: int | None = None
    delay: float = 0.0

    @property
    def is_refused(self) -> bool:
        """Whether the error takes the place of the answer."""
        return self.error is not None and (not self.error.after or self.message is None)

    def events(self) -> Iterator[Event]:
        """The events of its stream, up to where it breaks off; no error event is among them."""
        if self.message is None:
            return
        end = self.drop_after
        if self.error is not None:
            end = self.error.after
        for number, event in enumerate(events_of(self.message)):
            if end is not None and number >= end:
                return
            yield event


class OfflineModel:
    """Answers requests by a policy, without a network, as an endpoint would.

    The same request gets the same message, ids included.

    Args:
        policy: thinks up the answers.
        context_window: tokens that a request may have; None for what the model that a request
            names has, or 200,000.
        clock: seconds, for the life of cache entries.
        sleep: waits as long as a turn says.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        context_window: int | None = 200_000,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.policy = policy
        self.context_window = context_window
        self._cache = PromptCache(clock)
        self._sleep = sleep

    async def send(
        self, request: Request, on_event: OnEvent | None = None
    ) -> tuple[dict[str, Any], str]:
        """Answer a request.

        Args:
            request: the body.
            on_event: gets the events of the stream.

        Returns:
            The message as the API would return it, and what it calls the request.

        Raises:
            ModelError: it is refused, or the turn says that it fails.
        """
        answer = self.answer(request)
        if answer.delay:
            await self._sleep(answer.delay)
        if answer.is_refused and answer.error:
            raise self._error(request, answer, answer.error, answer.error.status)
        if answer.drop_after == 0:
            said = f"{self.policy.name}: the connection dropped before an answer came"
            raise ModelError(Failure.UNREACHABLE, said, request_id=answer.request_id)
        if on_event is not None:
            for event in answer.events():
                on_event(event)
        if answer.error:
            raise self._error(request, answer, answer.error, None)
        if answer.message is None or answer.drop_after is not None:
            said = f"{self.policy.name}: the connection dropped within the answer"
            raise ModelError(Failure.CUT, said, request_id=answer.request_id)
        return answer.message, answer.request_id

    def _error(
        self, request: Request, answer: Answer, error: ApiError, status: int | None
    ) -> ModelError:
        return failure_of_status(
            status,
            error.type,
            error.message,
            model=str(request.get("model") or self.policy.name),
            request_id=answer.request_id,
            retry_after=error.retry_after,
        )

    async def count_tokens(self, request: Request) -> int:
        """About how many tokens a request would send.

        Raises:
            ModelError: the API would refuse to count it.
        """
        problem = problem_of(request, counting=True)
        if problem:
            answer = Answer(_Ids(request).request, error=problem)
            raise self._error(request, answer, problem, problem.status)
        return estimate(request)

    def answer(self, request: Request) -> Answer:
        """What becomes of a request, all at once; never raises."""
        ids = _Ids(request)
        problem = problem_of(request)
        if problem:
            return Answer(ids.request, error=problem)
        pieces = pieces_of(request)
        size = tokens(sum(piece.size for piece in pieces))
        window = self.context_window or _window_of(request["model"])
        if size > window:
            return Answer(ids.request, error=too_long(size, window))
        turn = self.policy.answer(request)
        if turn.error and not turn.error.after:
            return Answer(ids.request, error=turn.error, delay=turn.delay)
        message = self._message(request, turn, pieces, ids)
        return Answer(ids.request, message, turn.error, turn.drop_after, turn.delay)

    def _message(
        self, request: Request, turn: Turn, pieces: list[Piece], ids: _Ids
    ) -> dict[str, Any]:
        limit = int(request["max_tokens"])
        content, cut = _within(limit, _finished(turn.content, ids))
        calls = any(block["type"] == "tool_use" for block in content)
        reason = turn.stop_reason or ("max_tokens" if cut else "tool_use" if calls else "end_turn")
        details = None
        if reason == "refusal":
            said = turn.explanation or None
            details = {"type": "refusal", "category": None, "explanation": said}
        message = {
            "id": ids.message,
            "type": "message",
            "role": "assistant",
            "model": request["model"],
            "content": content,
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": self._usage(request, turn, pieces, content),
        }
        if details:
            message["stop_details"] = details
        return message

    def _usage(
        self, request: Request, turn: Turn, pieces: list[Piece], content: list[Block]
    ) -> dict[str, Any]:
        used = self._cache.use(request["model"], pieces)
        thought = sum(len(b["thinking"].encode()) for b in content if b["type"] == "thinking")
        usage: dict[str, Any] = {
            "input_tokens": used.input,
            "cache_creation_input_tokens": used.written,
            "cache_read_input_tokens": used.read,
            "output_tokens": max(sum(map(_output, content)), 1),
        }
        usage |= turn.usage
        thinking = usage.pop("thinking_tokens", tokens(thought))
        if thinking:
            usage["output_tokens_details"] = {"thinking_tokens": thinking}
        return usage


def _window_of(name: str) -> int:
    tier = find_tier(name)
    return tier.context_window if tier else 200_000


class _Ids:
    """The ids of an answer, made of its request: equal requests have equal ids."""

    def __init__(self, request: Request) -> None:
        parts = [canonical(request.get(key)) for key in ("model", "system", "tools", "messages")]
        self._seed = hashlib.sha256(b"\0".join(parts)).digest()

    @property
    def request(self) -> str:
        return "req_" + self.letters("request", 22)

    @property
    def message(self) -> str:
        return "msg_" + self.letters("message", 22)

    def letters(self, what: str, length: int) -> str:
        """Letters and digits as the API's ids are made of."""
        number = int.from_bytes(hashlib.sha512(self._seed + what.encode()).digest(), "big")
        found = []
        for _ in range(length):
            number, digit = divmod(number, len(_ALPHABET))
            found.append(_ALPHABET[digit])
        return "01" + "".join(found)


def _finished(content: tuple[Block, ...], ids: _Ids) -> list[Block]:
    """The blocks with all that the API gives them: ids, signatures, text that is Unicode."""
    done = []
    for number, block in enumerate(content):
        if block["type"] == "tool_use" and "id" not in block:
            block = {"type": "tool_use", "id": "toolu_" + ids.letters(f"tool {number}", 22)} | block
        elif block["type"] == "thinking" and "signature" not in block:
            block = block | {"signature": ids.letters(f"thinking {number}", 40)}
        done.append({key: _unicode(value) for key, value in block.items()})
    return done


def _unicode(value: Any) -> Any:
    """A value without halves of characters, which a request may hold and no answer can."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {_unicode(key): _unicode(inner) for key, inner in value.items()}
    return [_unicode(inner) for inner in value] if isinstance(value, list) else value


def _within(limit: int, content: list[Block]) -> tuple[list[Block], bool]:
    """The blocks that an answer has room for, the last text cut; and whether any was cut.

    Only text is cut: a tool is called whole or not at all.
    """
    kept, left = [], limit
    for block in content:
        need = _output(block)
        if need > left:
            if block["type"] == "text" and left > 0:
                text = block["text"].encode()[: left * 4]
                kept.append(block | {"text": text.decode("utf-8", "ignore")})
            return kept, True
        left -= need
        kept.append(block)
    return kept, False


def _output(block: Block) -> int:
    """About how many tokens a block of an answer is."""
    if block["type"] == "text":
        return tokens(len(block["text"].encode()))
    plain = {key: value for key, value in block.items() if key not in ("id", "signature")}
    return tokens(len(canonical(plain)))
