"""What one agent works with: its model, tools, rules, hooks, limits and trace."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from skilleval.errors import ExitCode, InputError, ModelError
from skilleval.harness.account import Account
from skilleval.harness.context.manager import Thresholds
from skilleval.harness.permissions import (
    Callback,
    Classifier,
    Denials,
    Grants,
    PermissionPolicy,
)
from skilleval.models.endpoint import Answers
from skilleval.models.messages import OnEvent
from skilleval.prompt.system import Prompt
from skilleval.trace.events import Event, EventType
from skilleval.trace.writer import TraceWriter

if TYPE_CHECKING:
    from skilleval.harness.hooks.hooks import Hooks
    from skilleval.harness.tools.base import Tool, ToolContext
    from skilleval.harness.watching import Watched

__all__ = ["CALL", "Ended", "Outcome", "Purse", "Session", "SessionLimits"]

CALL: ContextVar[str] = ContextVar("call", default="")
"""The id of the tool call that is carried out, for what it starts."""


class Outcome(StrEnum):
    """How a session's work on a prompt ended."""

    COMPLETED = "completed"
    MAX_TURNS = "max turns"
    BUDGET = "budget"
    DEADLINE = "deadline"
    REFUSED = "refused"
    ERROR = "error"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Ended:
    """That it ended, why, and the model's last words.

    ``error`` is what the model could not be had for, where that ended it.
    """

    outcome: Outcome
    reason: str = ""
    text: str = ""
    error: ModelError | None = None

    @property
    def exit_code(self) -> ExitCode:
        """What a command says with its exit code."""
        if self.error is not None:
            return self.error.exit_code
        done = {Outcome.COMPLETED: ExitCode.OK, Outcome.INTERRUPTED: ExitCode.INTERRUPTED}
        return done.get(self.outcome, ExitCode.UNMEASURED)


@dataclass(frozen=True)
class SessionLimits:
    """What an agent has to keep within.

    Attributes:
        turns: requests to the model for one prompt.
        dollars: for the session with its subagents; None for no limit.
        seconds: for one prompt; None for no limit.
        output_tokens: of one answer; None for what the model can.
        agents: subagents of a session, theirs included; at_once: of one agent, at the same time;
            depth: of subagents of subagents.
        stop_blocks: how often hooks may keep a turn from ending.
        continuations: how often an answer that hit its length limit is gone on with.
    """

    turns: int = 50
    dollars: float | None = None
    seconds: float | None = None
    output_tokens: int | None = 32_000
    agents: int = 20
    at_once: int = 4
    depth: int = 1
    stop_blocks: int = 3
    continuations: int = 3

    def told(self) -> dict[str, str]:
        """What the model is told of it."""
        told = {"Answers in this task": f"{self.turns} at most"}
        if self.seconds is not None:
            told["Time"] = f"{self.seconds:g} seconds"
        return told


@dataclass
class Purse:
    """What a session may spend, together with its subagents, and what it has spent.

    ``spent`` is None once a price is not known; ``agents`` were started so far.
    """

    limit: float | None = None
    spent: float | None = 0.0
    agents: int = 0

    def pay(self, cost: float | None) -> None:
        """Count what a request cost."""
        self.spent = None if cost is None or self.spent is None else self.spent + cost

    @property
    def empty(self) -> bool:
        """Whether the limit is reached; what can't be known counts as reached."""
        return self.limit is not None and (self.spent is None or self.spent >= self.limit)

    @property
    def why_empty(self) -> str:
        """In words, for an empty purse."""
        if self.spent is None:
            return f"what was spent of the budget of ${self.limit:g} is not known"
        return f"the budget of ${self.limit:g} is spent"


@dataclass
class Session:
    """An agent at work.

    Attributes:
        id: of the session.
        model: who answers.
        prompt: what every request begins with.
        tools: those that it can call, by name.
        context: what tools share.
        policy: which calls are allowed.
        hooks: what is called at which event.
        trace: where events are written.
        limits: what it has to keep within.
        purse: what it may spend.
        callback: who decides on calls that are left open; None for nobody.
        classifier: decides in the mode ``auto``.
        thresholds: when the context is made smaller.
        context_management: what the API itself does to make room, in place of our shapers.
        agent: the id of a subagent; empty for the main agent.
        agent_type: its kind.
        parent: the tool call that started it.
        depth: how many agents are above it.
        watch: gets each event as it is written.
        stream: gets the events of the model's stream.
        waiting: events that the loop has not passed on yet.
        prompt_id: of the prompt that is worked on.
        notes: what the model is told with the next prompt.
        grants: what was allowed until the session ends; never written down.
        denials: how often something was refused.
        account: what was asked for and done so far, for the classifier.
        watched: the files whose changes matter; shared with subagents.
    """

    id: str
    model: Answers
    prompt: Prompt
    tools: Mapping[str, Tool]
    context: ToolContext
    policy: PermissionPolicy
    hooks: Hooks
    trace: TraceWriter
    limits: SessionLimits = field(default_factory=SessionLimits)
    purse: Purse = field(default_factory=Purse)
    callback: Callback | None = None
    classifier: Classifier | None = None
    thresholds: Thresholds = field(default_factory=Thresholds)
    context_management: Sequence[str] = ()
    agent: str = ""
    agent_type: str = ""
    parent: str = ""
    depth: int = 0
    watch: Callable[[Event], None] | None = None
    stream: OnEvent | None = None
    waiting: deque[Event] = field(default_factory=deque)
    prompt_id: str = ""
    notes: list[str] = field(default_factory=list)
    grants: Grants = field(default_factory=Grants)
    denials: Denials = field(default_factory=Denials)
    account: Account = field(default_factory=Account)
    watched: Watched | None = None

    def __post_init__(self) -> None:
        """Refuse a limit that can't be kept.

        Raises:
            InputError: there is a limit in dollars, and the model's price is not known.
        """
        if self.purse.limit is not None and self.model.model.tier.prices is None:
            raise InputError(
                f"the price of {self.model.model.name} is not known, so that a limit in dollars "
                "can't be kept",
                remedy="Add its prices to the settings, or leave the limit out.",
            )

    def emit(self, type: EventType, **fields: Any) -> Event:
        """Write an event to the trace, and hand it to who watches."""
        event = self.trace.write(
            type,
            prompt=self.prompt_id or None,
            agent=self.agent or None,
            parent=self.parent or None,
            **fields,
        )
        self.waiting.append(event)
        if self.watch is not None:
            self.watch(event)
        return event

    def drained(self) -> Iterator[Event]:
        """The events that were not passed on yet; they are then."""
        while self.waiting:
            yield self.waiting.popleft()

    def at_prompt(self, prompt_id: str) -> None:
        """Say which prompt is worked on from now."""
        self.prompt_id = prompt_id
        self.hooks.session = replace(self.hooks.session, prompt_id=prompt_id)

    def agent_fields(self) -> dict[str, str]:
        """What hooks are told of a subagent."""
        return {"agent_id": self.agent, "agent_type": self.agent_type} if self.agent else {}
