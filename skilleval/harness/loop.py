"""The loop: ask the model, carry out what it calls for, tell it what came of it, until it ends.

There is no phase of verification: a model verifies with the tools that it has, and a Stop hook
can send it back to work. The state of the loop is one value that each step replaces whole.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from skilleval.errors import Failure, ModelError
from skilleval.harness.calls import carry_out, fire, reminders
from skilleval.harness.context.history import Block, History, Message
from skilleval.harness.context.manager import Context, Shaped, server_side
from skilleval.harness.context.summary import RecentFile
from skilleval.harness.expansion import Blocked, expand
from skilleval.harness.hooks.events import HookEvent
from skilleval.harness.replies import kept
from skilleval.harness.session import Ended, Outcome, Session
from skilleval.harness.tools.files import read_file
from skilleval.models.messages import Outcome as ReplyOutcome
from skilleval.models.messages import Reply, Usage
from skilleval.prompt.system import mark_last
from skilleval.trace.events import Event, EventType

__all__ = ["State", "work"]

_WITHOUT_EDITS = ("offline", "local")
"""Providers that can't make room by themselves."""
_RECENT_FILE = 1_000_000
"""Bytes of the largest file that is attached again after a summary."""
_GO_ON = (
    "Your answer was cut off at its limit of {limit:,} tokens. Go on exactly where it stopped, "
    "in smaller steps; calls of tools in it were not carried out."
)


@dataclass(frozen=True)
class State:
    """Where the work on a prompt stands.

    Attributes:
        history: the conversation.
        turns: answers so far, for this prompt.
        usage, cost: of them; the cost is None where a part of it is not known.
        text: the last words of the model.
        continuations, stop_blocks: see SessionLimits.
        ended: how it ended, once it did.
    """

    history: History = field(default_factory=History)
    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    text: str = ""
    continuations: int = 0
    stop_blocks: int = 0
    ended: Ended | None = None

    def end(self, outcome: Outcome, reason: str = "", error: ModelError | None = None) -> State:
        """The same, ended."""
        return replace(self, ended=Ended(outcome, reason, self.text, error))


class _Loop:
    """The steps of the work on one prompt."""

    def __init__(self, session: Session, deadline: float | None) -> None:
        tier = session.model.model.tier
        self.session = session
        self.deadline = deadline
        self.latest: State | None = None
        self.parameters = tier.parameters(session.limits.output_tokens)
        elsewhere = session.model.model.provider not in _WITHOUT_EDITS
        self.server_side = server_side(
            session.context_management if elsewhere else (),
            tier.context_window,
            session.thresholds,
            thinking="thinking" in self.parameters,
        )
        self.context = Context(
            tier.context_window,
            self.parameters["max_tokens"],
            self._summarise,
            self._recent_files,
            session.thresholds,
        )

    async def in_time(self, step: Awaitable[State], state: State) -> State:
        """What a step makes of a state; its end where the time is up before.

        The clock is stopped between steps: whoever follows the events may be slow, and must
        not be what is cancelled.
        """
        clock = asyncio.timeout_at(self.deadline)
        try:
            async with clock:
                return await step
        except TimeoutError:
            if not clock.expired():
                raise
        seconds = self.session.limits.seconds
        return self.reached(state).end(Outcome.DEADLINE, f"{seconds:g} s were not enough")

    def reached(self, state: State) -> State:
        """A state before a step that was broken off, with what the step has cost.

        The answer of which the calls were not all carried out is no part of the conversation.
        """
        return replace(self.latest or state, history=state.history)

    async def step(self, state: State) -> State:
        """Ask once, and do what is asked for."""
        session = self.session
        if state.turns >= session.limits.turns:
            return state.end(Outcome.MAX_TURNS, f"{session.limits.turns} answers were not enough")
        if session.purse.empty:
            return state.end(Outcome.BUDGET, session.purse.why_empty)
        try:
            state = replace(state, history=await self._shaped(state.history))
            reply = await self._ask(state.history)
        except ModelError as error:
            return await self._failed(state, error)
        content = kept(reply, state.history.calls())
        state = self.latest = self._took_in(state, reply, content)
        if reply.outcome is ReplyOutcome.CONTEXT_FULL:
            return await self._rescued(state, "the context window is full")
        if reply.outcome is ReplyOutcome.REFUSED:
            return state.end(Outcome.REFUSED, reply.explanation or "the model refused")
        calls = [block for block in content if block["type"] == "tool_use"]
        if reply.outcome is ReplyOutcome.PAUSED and not calls:
            return state
        if reply.outcome is ReplyOutcome.MAX_TOKENS:
            return self._went_on(state)
        if reply.outcome is ReplyOutcome.UNKNOWN:
            said = reply.stop_reason or "no reason at all"
            return state.end(Outcome.ERROR, f"the model stopped for {said}, which is not known")
        if calls:
            return await self._acted(state, calls)
        return await self._stopped(state)

    async def _shaped(self, history: History) -> History:
        if self.server_side:
            return history
        shaped, done = await self.context.prepare(history)
        self._note(shaped, done)
        warning = self.context.warning(shaped)
        if warning and shaped.messages and shaped.messages[-1]["role"] == "user":
            return shaped.with_more(reminders(self.session, [warning]))
        return shaped

    def _note(self, shaped: History, done: Sequence[Shaped]) -> None:
        """Write down what was shaped; the last of it with the messages as they are now."""
        for number, entry in enumerate(done, 1):
            fields: dict[str, Any] = entry._asdict()
            if number == len(done):
                fields |= {
                    "messages": list(shaped.messages),
                    "counted": shaped.tokens,
                    "folded": shaped.folded or None,
                    "fold": shaped.fold or None,
                }
            self.session.emit(EventType.SHAPED, **fields)

    async def _ask(self, history: History) -> Reply:
        session = self.session
        messages = mark_last(history.view())
        request = {
            **self.parameters,
            **self.server_side,
            "system": session.prompt.system,
            "messages": messages,
        }
        if session.prompt.tools:
            request["tools"] = list(session.prompt.tools)
        session.emit(EventType.REQUEST, messages=len(messages), tokens=history.tokens)
        return await session.model.answer(request, deadline=self.deadline, on_event=session.stream)

    def _took_in(self, state: State, reply: Reply, content: list[Block]) -> State:
        session = self.session
        session.purse.pay(reply.cost)
        session.emit(
            EventType.REPLY,
            content=content,
            outcome=str(reply.outcome),
            stop_reason=reply.stop_reason,
            usage=list(reply.usage),
            cost=reply.cost,
            seconds=round(reply.seconds, 3),
            attempts=reply.attempts,
            model=reply.model,
            request_id=reply.request_id or None,
        )
        message: Message = {"role": "assistant", "content": content}
        total = reply.usage.prompt + reply.usage.output
        known = state.cost is not None and reply.cost is not None
        return replace(
            state,
            history=state.history.after_reply(message, total),
            turns=state.turns + 1,
            usage=state.usage.plus(reply.usage),
            cost=(state.cost or 0.0) + (reply.cost or 0.0) if known else None,
            text=reply.text or state.text,
        )

    async def _acted(self, state: State, calls: Sequence[Block]) -> State:
        batch = await carry_out(self.session, calls)
        history = state.history.plus({"role": "user", "content": batch.content})
        state = replace(state, history=history, continuations=0)
        return state.end(Outcome.COMPLETED, batch.stop) if batch.stop else state

    async def _stopped(self, state: State) -> State:
        session = self.session
        told: dict[str, Any] = {
            "stop_hook_active": state.stop_blocks > 0,
            "last_assistant_message": state.text,
        }
        event = HookEvent.STOP
        if session.agent:
            event = HookEvent.SUBAGENT_STOP
            told |= {
                "agent_id": session.agent,
                "agent_type": session.agent_type,
                "agent_transcript_path": session.trace.path,
            }
        verdict = await fire(session, event, **told)
        if verdict.behavior != "deny" or verdict.stop:
            return state.end(Outcome.COMPLETED, verdict.stop_reason)
        if state.stop_blocks >= session.limits.stop_blocks:
            reason = f"hooks kept it from ending {state.stop_blocks} times: {verdict.reason}"
            return state.end(Outcome.COMPLETED, reason)
        said = self._say([verdict.reason or "A hook wants you to go on."], internal=True)
        return replace(state, history=state.history.plus(said), stop_blocks=state.stop_blocks + 1)

    def _went_on(self, state: State) -> State:
        limit = self.parameters["max_tokens"]
        if state.continuations >= self.session.limits.continuations:
            return state.end(Outcome.ERROR, f"its answers are longer than {limit:,} tokens")
        said = self._say([_GO_ON.format(limit=limit)], internal=True)
        history = state.history.plus(said)
        return replace(state, history=history, continuations=state.continuations + 1)

    def _say(self, texts: Sequence[str], *, internal: bool) -> Message:
        content: list[Block] = [{"type": "text", "text": text} for text in texts]
        self.session.emit(EventType.PROMPT, content=content, internal=internal or None)
        return {"role": "user", "content": content}

    async def _failed(self, state: State, error: ModelError) -> State:
        if error.failure is Failure.TOO_LONG:
            return await self._rescued(state, error.message)
        if error.failure is Failure.DEADLINE:
            return state.end(Outcome.DEADLINE, error.message)
        await fire(
            self.session,
            HookEvent.STOP_FAILURE,
            error=str(error.failure).replace(" ", "_"),
            error_details=error.message,
            last_assistant_message=state.text,
        )
        return state.end(Outcome.ERROR, error.message, error)

    async def _rescued(self, state: State, reason: str) -> State:
        """Make room at all costs, once; a reply that hit the window is asked for again."""
        history = state.history
        if history.messages and history.messages[-1]["role"] == "assistant":
            history = History(history.messages[:-1], 0, 0, history.folded, history.fold)
        try:
            rescued = await self.context.rescue(history)
        except ModelError as error:
            return state.end(Outcome.ERROR, f"{reason}; no summary could be had: {error.message}")
        if rescued is None:
            return state.end(Outcome.ERROR, reason)
        self._note(*rescued)
        return replace(state, history=rescued[0])

    async def _summarise(self, messages: list[Message]) -> str:
        session = self.session
        verdict = await fire(
            session, HookEvent.PRE_COMPACT, trigger="auto", custom_instructions=None
        )
        if verdict.behavior == "deny":
            return ""
        request = {
            **self.parameters,
            "system": session.prompt.system,
            "messages": messages,
        }
        if session.prompt.tools:
            request |= {"tools": list(session.prompt.tools), "tool_choice": {"type": "none"}}
        reply = await session.model.answer(request, deadline=self.deadline)
        session.purse.pay(reply.cost)
        session.emit(
            EventType.WARNING,
            about="summary",
            message="the conversation was summed up",
            usage=list(reply.usage),
            cost=reply.cost,
        )
        await fire(session, HookEvent.POST_COMPACT, trigger="auto", compact_summary=reply.text)
        return reply.text

    def _recent_files(self) -> list[RecentFile]:
        context, found = self.session.context, []
        for path in context.files.recent(5):
            with contextlib.suppress(OSError):
                data = read_file(context.tree, path, _RECENT_FILE).data
                found.append(RecentFile(path, data.decode("utf-8", "replace")))
        return found


async def work(
    session: Session, prompt: str | Sequence[Block], state: State | None = None
) -> AsyncIterator[Event | State]:
    """Work on a prompt to its end; gives the events of the trace, and last the state.

    Args:
        session: who works.
        prompt: what the user says.
        state: where an earlier prompt of the session ended.
    """
    start = state or State()
    current = replace(
        start, turns=0, continuations=0, stop_blocks=0, ended=None, text="", usage=Usage(), cost=0.0
    )
    seconds = session.limits.seconds
    now = asyncio.get_running_loop().time()
    loop = _Loop(session, None if seconds is None else now + seconds)
    session.at_prompt(uuid.uuid4().hex[:12])
    began = time.monotonic()
    try:
        current = await loop.in_time(_begun(session, current, prompt), current)
        for event in session.drained():
            yield event
        while current.ended is None:
            current = await loop.in_time(loop.step(current), current)
            for event in session.drained():
                yield event
    except (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit):
        reached = loop.reached(current).end(Outcome.INTERRUPTED, "it was interrupted")
        with contextlib.suppress(OSError):  # the trace may be closed by now, or its disk full
            _end(session, reached, began)
        raise
    _end(session, current, began)
    for event in session.drained():
        yield event
    yield current


async def _begun(session: Session, state: State, prompt: str | Sequence[Block]) -> State:
    """Put the prompt to the conversation, unless a hook has something against it."""
    content: list[Block] = (
        [{"type": "text", "text": prompt}] if isinstance(prompt, str) else list(prompt)
    )
    words = "\n".join(block["text"] for block in content if block.get("type") == "text")
    if session.agent:
        verdict = await fire(
            session,
            HookEvent.SUBAGENT_START,
            agent_id=session.agent,
            agent_type=session.agent_type,
        )
    else:
        verdict = await fire(session, HookEvent.USER_PROMPT_SUBMIT, prompt=words)
    blocked = verdict.behavior == "deny" or verdict.stop
    if blocked:
        reason = verdict.reason or verdict.stop_reason or "a hook blocked the prompt"
        return state.end(Outcome.ERROR, reason)
    if not session.agent:
        session.account.said(words)
        try:
            content += await expand(session, words)
        except Blocked as reason:
            return state.end(Outcome.ERROR, str(reason))
    before = reminders(session, [*session.notes, *verdict.additional_context])
    session.notes = []
    session.emit(EventType.PROMPT, content=[*before, *content])
    message: Message = {"role": "user", "content": [*before, *content]}
    return replace(state, history=state.history.plus(message))


def _end(session: Session, state: State, began: float) -> None:
    ended = state.ended or Ended(Outcome.ERROR, "it ended without a reason")
    session.emit(
        EventType.END,
        outcome=str(ended.outcome),
        reason=ended.reason or None,
        text=ended.text,
        denials=session.denials.total or None,
        turns=state.turns,
        usage=list(state.usage),
        cost=state.cost,
        seconds=round(time.monotonic() - began, 3),
    )
