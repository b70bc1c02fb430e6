"""Calling the hooks of an event."""

from __future__ import annotations

import asyncio
import json
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from skilleval.errors import InputError
from skilleval.harness.hooks.answer import Answer, Rubbish, clip
from skilleval.harness.hooks.contract import EVENTS
from skilleval.harness.hooks.events import COMMON, Contract, HookEvent
from skilleval.harness.hooks.hook import Hook
from skilleval.harness.hooks.merge import HookOutcome, Status, Verdict, merge
from skilleval.harness.hooks.runners import RUNNERS, AskModel, Call, Failed, Reply

__all__ = ["Hooks", "RuleMatches", "SessionFacts"]

RuleMatches = Callable[[str, str, Mapping[str, Any]], bool]
"""Whether a permission rule fits a call: the rule, the tool's name, its input."""

_INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
_GIVEN = {"prompt_id", "agent_id", "agent_type"}
"""Common fields that whoever fires an event may give."""


@dataclass(frozen=True)
class SessionFacts:
    """What every payload says about the session.

    ``project`` is where the session started, the working directory if nothing is said;
    commands find it in ``CLAUDE_PROJECT_DIR``.
    """

    session_id: str
    transcript_path: str
    cwd: str
    permission_mode: str = "default"
    prompt_id: str = ""
    project: str = ""


class Hooks:
    """The hooks of a session.

    Args:
        hooks: in the order of their registration, which decides between equals.
        session: may be replaced later on, when the directory, the mode or the prompt changes.
        ask_model: gets a question and gives the answer, for hooks of the kind ``prompt``.
        environment: of commands and for headers; by default the few variables of ours that
            programs need to run, and none that may be secret.
        rule_matches: decides on the conditions of hooks. Without it every condition counts as
            met: a guard is called too often rather than too seldom.

    Raises:
        InputError: a hook needs a model, and there is none to ask.
    """

    def __init__(
        self,
        hooks: Sequence[Hook],
        *,
        session: SessionFacts,
        ask_model: AskModel | None = None,
        environment: Mapping[str, str] | None = None,
        rule_matches: RuleMatches | None = None,
    ) -> None:
        self.hooks = tuple(hooks)
        self.session = session
        self._ask_model = ask_model
        if environment is None:
            environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        self._environment = dict(environment)
        self._rule_matches = rule_matches
        for hook in self.hooks:
            if hook.kind == "prompt" and ask_model is None:
                raise InputError(f"the hook {hook.name!r} asks a model, and none is there to ask")

    async def fire(self, event: HookEvent, subject: str = "", /, **fields: Any) -> Verdict:
        """Call all hooks that match an event, at the same time, and weigh what they say.

        Args:
            event: what happens.
            subject: what matchers are tried on, by default the field that the contract names.
            fields: those of the contract; and ``agent_id`` and ``agent_type`` inside a subagent.

        Raises:
            TypeError: a field is missing or is not in the contract, or JSON can't hold it.
        """
        contract = EVENTS[event]
        filled = _fill(event, contract, fields)
        hooks = self._matching(event, subject or _subject(event, contract, filled), filled)
        if not hooks:
            return Verdict()
        session = self.session
        environment = {**self._environment, "CLAUDE_PROJECT_DIR": session.project or session.cwd}
        call = Call(
            contract=contract,
            payload=_dump(_payload(event, contract, session, filled)),
            tool=str(filled.get("tool_name", "")),
            cwd=session.cwd,
            environment=environment,
            ask_model=self._ask_model,
        )
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_run(hook, call)) for hook in hooks]
        return merge([task.result() for task in tasks])

    def _matching(self, event: HookEvent, subject: str, fields: Mapping[str, Any]) -> list[Hook]:
        """The hooks to call: of several that would do the same, one, and the strictest way."""
        found: dict[tuple[object, ...], Hook] = {}
        for hook in self.hooks:
            if hook.event is not event or not hook.matches(subject):
                continue
            if hook.condition and not self._meets(hook.condition, fields):
                continue
            known = found.get(hook.work)
            if known is None:
                found[hook.work] = hook
            elif hook.on_failure == "block":
                found[hook.work] = replace(known, on_failure="block")
        return list(found.values())

    def _meets(self, condition: str, fields: Mapping[str, Any]) -> bool:
        tool, given = fields.get("tool_name"), fields.get("tool_input")
        if self._rule_matches is None or not isinstance(tool, str):
            return True
        return self._rule_matches(condition, tool, given if isinstance(given, Mapping) else {})


async def _run(hook: Hook, call: Call) -> tuple[HookOutcome, Answer]:
    """Call one hook within its time. Whatever it does ends in an outcome."""
    start = time.perf_counter()
    reply, error = Reply(), ""
    status: Status = "crashed"
    try:
        async with asyncio.timeout(hook.seconds):
            reply = await RUNNERS[hook.kind](hook, call)
        status = "silent" if reply.answer.said is None else "answered"
    except Failed as failed:
        status, error, reply = failed.status, str(failed), failed.reply
        reply.answer.message = failed.told
    except Rubbish as rubbish:
        status, error = "rubbish", str(rubbish)
    except TimeoutError:
        status, error = "timed out", f"it took longer than {hook.seconds:g} s"
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        error = "it cancelled itself"
    answer = reply.answer
    if error and hook.on_failure == "block" and call.contract.can_block:
        answer.wish("deny", f"the hook {hook.name} has failed ({error}), and blocks when it does")
    outcome = HookOutcome(
        name=hook.name,
        kind=hook.kind,
        source=hook.source,
        status=status,
        ms=round((time.perf_counter() - start) * 1000),
        exit_code=reply.exit_code,
        answer=answer.said,
        error=error,
        stderr=clip(reply.stderr, 2_000),
        cut=reply.cut,
    )
    return outcome, answer


def _subject(event: HookEvent, contract: Contract, fields: Mapping[str, Any]) -> str:
    subject = str(fields[contract.subject]) if contract.subject else ""
    return os.path.basename(subject) if event is HookEvent.FILE_CHANGED else subject


def _fill(event: HookEvent, contract: Contract, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that were given, checked against the contract, with its defaults."""
    known = {field.name for field in contract.fields}
    if unknown := fields.keys() - known - _GIVEN:
        raise TypeError(f"{event} has no field {', '.join(sorted(unknown))}")
    needed = {field.name for field in contract.fields if field.needed}
    if missing := needed - fields.keys():
        raise TypeError(f"{event} lacks its field {', '.join(sorted(missing))}")
    filled = {
        field.name: list(field.default)
        for field in contract.fields
        if field.default is not None and field.name not in fields
    }
    return {**filled, **fields}


def _payload(
    event: HookEvent, contract: Contract, session: SessionFacts, fields: Mapping[str, Any]
) -> dict[str, Any]:
    common: dict[str, Any] = {
        "session_id": session.session_id,
        "transcript_path": session.transcript_path,
        "cwd": session.cwd,
        "prompt_id": session.prompt_id or None,
        "permission_mode": session.permission_mode if contract.mode else None,
        "hook_event_name": str(event),
    }
    optional = {field.name for field in COMMON if not field.needed}
    payload = {**common, **fields}
    return {
        name: value for name, value in payload.items() if value is not None or name not in optional
    }


def _dump(payload: Mapping[str, Any]) -> str:
    """JSON in ASCII, so that no locale and no lone surrogate can break a hook's reading."""
    try:
        return json.dumps(payload, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(payload), allow_nan=False)


def _finite(value: Any) -> Any:
    """The same value, with numbers that JSON does not know as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return value
