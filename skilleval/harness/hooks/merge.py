"""One verdict out of what several hooks have said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from skilleval.harness.hooks.answer import RANKS, Answer
from skilleval.harness.hooks.hook import Kind

__all__ = ["Behavior", "HookOutcome", "Status", "Verdict", "merge"]

Behavior = Literal["allow", "ask", "defer", "deny"]

Status = Literal["silent", "answered", "crashed", "timed out", "rubbish"]


@dataclass(frozen=True)
class HookOutcome:
    """What became of one hook, for the trace.

    Attributes:
        ms: how long it took.
        exit_code: of a command that has ended by itself, negative for a signal.
        answer: the object or the text that it said.
        error: how it failed, if it did.
        notes: what of its answer was not heeded, and why.
        stderr: the beginning of what a command wrote to standard error.
        cut: bytes of output that were not kept.
    """

    name: str
    kind: Kind
    source: str
    status: Status
    ms: int
    exit_code: int | None = None
    answer: Any = None
    error: str = ""
    notes: tuple[str, ...] = ()
    stderr: str = ""
    cut: int = 0


@dataclass(frozen=True)
class Verdict:
    """What all hooks of an event together want. Everything empty means that nothing was said.

    What a denial is depends on the event: its contract says so. ``stop`` is stronger than any
    behaviour: the turn ends. ``updated_input`` comes from a hook, so that whoever takes it
    over validates it against the tool's schema, and asks the permission rules, once more.

    Attributes:
        reason: of all hooks that wanted this behaviour.
        decided_by: the first of them.
        updated_output: takes the place of a tool's result.
        retry: the model may try again what was denied.
        outcomes: of every hook that was called, in the order in which they are registered.
    """

    behavior: Behavior | None = None
    reason: str = ""
    decided_by: str = ""
    updated_input: Mapping[str, Any] | None = None
    additional_context: tuple[str, ...] = ()
    stop: bool = False
    stop_reason: str = ""
    system_messages: tuple[str, ...] = ()
    updated_output: Any = None
    retry: bool = False
    outcomes: tuple[HookOutcome, ...] = ()


def merge(pairs: Sequence[tuple[HookOutcome, Answer]]) -> Verdict:
    """Weigh answers, given in the order of registration: deny, defer, ask, allow, silence.

    A denied or deferred call has no updated input. Elsewhere the last one counts, among the
    hooks that wanted what has won and those that did not care.
    """
    answers = [answer for _, answer in pairs]
    names = [outcome.name for outcome, _ in pairs]
    notes = [list(answer.notes) for answer in answers]
    behavior = max((a.behavior for a in answers if a.behavior), key=RANKS.__getitem__, default=None)
    winners = [i for i, answer in enumerate(answers) if behavior and answer.behavior == behavior]
    inputs: list[Any] = []
    for answer, own in zip(answers, notes, strict=True):
        loses = behavior in ("deny", "defer") or answer.behavior not in (None, behavior)
        if loses and answer.updated_input is not None:
            own.append(f"its `updatedInput` is dropped, because the verdict is {behavior}")
        inputs.append(None if loses else answer.updated_input)
    outputs = [answer.updated_output for answer in answers]
    return Verdict(
        behavior=behavior,  # type: ignore[arg-type]  # answers hold no others
        reason="\n".join(_distinct(answers[i].reason for i in winners)),
        decided_by=names[winners[0]] if winners else "",
        updated_input=_last(inputs, "updatedInput", names, notes),
        additional_context=tuple(a.context for a in answers if a.context),
        stop=any(a.stop for a in answers),
        stop_reason="\n".join(_distinct(a.stop_reason for a in answers if a.stop)),
        system_messages=tuple(a.message for a in answers if a.message),
        updated_output=_last(outputs, "updatedToolOutput", names, notes),
        retry=any(a.retry for a in answers),
        outcomes=tuple(
            replace(outcome, notes=tuple(own))
            for (outcome, _), own in zip(pairs, notes, strict=True)
        ),
    )


def _last(values: Sequence[Any], what: str, names: Sequence[str], notes: list[list[str]]) -> Any:
    """The last of some values; the hooks whose differing values give way get a note of it."""
    chosen = max((i for i, value in enumerate(values) if value is not None), default=None)
    if chosen is None:
        return None
    for i, value in enumerate(values):
        if value is not None and value != values[chosen]:
            notes[i].append(f"its `{what}` gave way to that of {names[chosen]}")
    return values[chosen]


def _distinct(texts: Iterable[str]) -> list[str]:
    return [text for text in dict.fromkeys(texts) if text]
