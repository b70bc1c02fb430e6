"""Carrying out the tool calls of an answer: checked, allowed, done, in that order.

Every failure on the way is a result that tells the model what to do about it; none ends the
session.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from typing import Any

from skilleval.errors import InputError
from skilleval.harness.hooks.events import HookEvent
from skilleval.harness.hooks.merge import Verdict
from skilleval.harness.permissions import (
    Answer,
    Call,
    Capability,
    Decision,
    HookVerdict,
    PermissionPolicy,
    decide,
)
from skilleval.harness.session import CALL, Session
from skilleval.harness.tools.base import Block, Tool, ToolResult
from skilleval.harness.tools.checking import check_input
from skilleval.harness.watching import SettingsFile, Watched, source_of
from skilleval.trace.events import EventType

__all__ = ["Batch", "allowed_input", "carry_out", "fire", "look", "reminders"]


@dataclass(frozen=True)
class Batch:
    """What came of the calls of one answer.

    Attributes:
        content: the next message to the model: results first, then what follows from them.
        stop: why the turn has to end here; empty where it goes on.
    """

    content: list[Block]
    stop: str = ""


@dataclass(frozen=True)
class _Settled:
    call: Block
    result: ToolResult
    context: tuple[str, ...] = ()
    stop: str = ""


async def fire(session: Session, event: HookEvent, /, **fields: Any) -> Verdict:
    """Call the hooks of an event, and note in the trace what came of it."""
    verdict = await session.hooks.fire(event, **fields, **_agent(session, event))
    if verdict.outcomes:
        outcomes = [asdict(outcome) for outcome in verdict.outcomes]
        session.emit(
            EventType.HOOK,
            event=str(event),
            tool_use=fields.get("tool_use_id"),
            behavior=verdict.behavior,
            reason=verdict.reason or None,
            outcomes=outcomes,
        )
    return verdict


def _agent(session: Session, event: HookEvent) -> dict[str, str]:
    own = event in (HookEvent.SUBAGENT_START, HookEvent.SUBAGENT_STOP)
    return {} if own else session.agent_fields()


async def carry_out(session: Session, calls: Sequence[Block]) -> Batch:
    """Carry out calls: those that only read together, others in their order."""
    _follow(session)
    settled: list[_Settled] = []
    for reads, group in groupby(calls, key=lambda call: _reads_only(session, call)):
        together = list(group)
        if reads and len(together) > 1:
            settled += await asyncio.gather(*(_settle(session, call) for call in together))
        else:
            for call in together:
                settled.append(await _settle(session, call))
    told = [
        {
            "tool_name": each.call["name"],
            "tool_input": each.call["input"],
            "tool_use_id": each.call["id"],
            "tool_response": each.result.content,
        }
        for each in settled
    ]
    changes = await look(session)
    verdict = await fire(session, HookEvent.POST_TOOL_BATCH, tool_calls=told)
    content: list[Block] = [_block(each) for each in settled]
    content += [block for each in settled for block in each.result.after]
    notes = [text for each in settled for text in each.context]
    content += reminders(session, [*notes, *verdict.additional_context])
    stop = next((each.stop for each in settled if each.stop), changes)
    if verdict.stop or verdict.behavior == "deny":
        stop = stop or verdict.stop_reason or verdict.reason or "a hook ended the turn"
    return Batch(content, stop)


async def look(session: Session) -> str:
    """Tell hooks which watched files have changed, and read changed settings again.

    Returns:
        Why a hook wants the turn to end here; empty where none does.
    """
    watched = session.watched
    if watched is None:
        return ""
    stops: list[str] = []
    async with watched.lock:
        for change in watched.changed_files(session.hooks.hooks):
            verdict = await fire(
                session, HookEvent.FILE_CHANGED, file_path=change.path, event=change.how
            )
            stops += _stops(verdict)
        for place in watched.changed_settings():
            stops += await _settings_changed(session, watched, place)
    _follow(session)
    return stops[0] if stops else ""


def _follow(session: Session) -> None:
    """Go by the rules and hooks that hold now, whichever agent has noticed that they changed."""
    if session.watched:
        session.policy = session.watched.policy
        session.hooks.hooks = tuple(session.watched.hooks)


async def _settings_changed(session: Session, watched: Watched, place: int) -> list[str]:
    """Read a settings file again, unless hooks have something against it."""
    path, stops = watched.settings[place].path, list[str]()
    try:
        file, whole = watched.read_again(place)
    except InputError as error:
        watched.pass_over(place)
        said = f"{path} has changed and can't be read; what it said holds: {error.message}"
        session.emit(EventType.WARNING, about="settings", message=said)
        return stops
    verdict = await fire(
        session, HookEvent.CONFIG_CHANGE, source=source_of(path), file_path=os.path.abspath(path)
    )
    stops += _stops(verdict)
    if verdict.behavior == "deny":
        watched.pass_over(place)
        said = f"{path} has changed; a hook keeps what it said: {verdict.reason}"
    else:
        watched.take(place, file)
        _follow(session)
        said = f"{path} has changed and was read again: {_summary(file)}"
        if not whole:
            said = (
                f"{path} has changed, maybe by the model: of it only new deny and ask rules count; "
                f"in force are {_summary(file)}"
            )
    for text in (said, *(file.warnings if whole else ())):
        session.emit(EventType.WARNING, about="settings", message=text)
    return stops


def _summary(file: SettingsFile) -> str:
    rules = file.permissions.rules
    return (
        f"{len(file.hooks)} hooks, {len(rules.deny)} deny, {len(rules.ask)} ask and "
        f"{len(rules.allow)} allow rules"
    )


def _stops(verdict: Verdict) -> list[str]:
    return [verdict.stop_reason or "a hook ended the turn"] if verdict.stop else []


def reminders(session: Session, texts: Sequence[str]) -> list[Block]:
    """Blocks that tell the model what hooks and the harness have to say."""
    from skilleval.prompt.system import reminder

    blocks = [reminder(text) for text in texts if text]
    if blocks:
        session.emit(EventType.REMINDER, content=blocks)
    return blocks


def _reads_only(session: Session, call: Block) -> bool:
    tool = session.tools.get(call["name"])
    return tool is not None and bool(tool.reads_only)


def _block(settled: _Settled) -> Block:
    block: Block = {
        "type": "tool_result",
        "tool_use_id": settled.call["id"],
        "content": settled.result.content,
    }
    return {**block, "is_error": True} if settled.result.is_error else block


async def _settle(session: Session, call: Block) -> _Settled:
    """Bring one call to an end, and the end into the trace."""
    began = time.monotonic()
    CALL.set(call["id"])
    session.emit(EventType.TOOL, tool_use=call["id"], name=call["name"], input=call["input"])
    settled = await _checked(session, call)
    result = settled.result
    session.emit(
        EventType.RESULT,
        tool_use=call["id"],
        name=call["name"],
        content=result.content,
        after=list(result.after) or None,
        is_error=result.is_error,
        facts=dict(result.facts) or None,
        full_output=result.full_output or None,
        seconds=round(time.monotonic() - began, 3),
    )
    return settled


async def _checked(session: Session, call: Block) -> _Settled:
    tool = session.tools.get(call["name"])
    if tool is None:
        known = ", ".join(session.tools)
        said = f"There is no tool {call['name']}. The tools are: {known}."
        return _Settled(call, ToolResult(said, is_error=True))
    problem = check_input(tool.definition, call["input"])
    if problem:
        return _Settled(call, ToolResult(problem, is_error=True))
    decision, verdict = await _decided(session, call)
    if decision.allowed and decision.input != call["input"]:
        problem = check_input(tool.definition, decision.input)
        if problem:
            said = f"A hook changed the call to one that makes no sense: {problem}"
            return _Settled(call, ToolResult(said, is_error=True))
    if not decision.allowed:
        return await _denied(session, call, decision, verdict)
    result = await _run(session, tool, decision.input)
    return await _after(session, {**call, "input": dict(decision.input)}, result, verdict)


async def allowed_input(session: Session, call: Block) -> Mapping[str, Any] | None:
    """What a call may be carried out with; None where it may not be."""
    decision, _ = await _decided(session, call)
    return decision.input if decision.allowed else None


async def _decided(session: Session, call: Block) -> tuple[Decision, Verdict]:
    asked = Call(call["name"], call["input"], call["id"])
    verdicts: list[Verdict] = []

    async def hooks() -> HookVerdict | None:
        verdict = await fire(
            session,
            HookEvent.PRE_TOOL_USE,
            tool_name=call["name"],
            tool_input=call["input"],
            tool_use_id=call["id"],
        )
        verdicts.append(verdict)
        if verdict.behavior is None and verdict.updated_input is None:
            return None
        return HookVerdict(
            verdict.behavior, verdict.reason, verdict.decided_by, verdict.updated_input
        )

    async def callback(call: Call, capabilities: Sequence[Capability], reason: str) -> Answer:
        return await _asked(session, call, capabilities, reason)

    decision = await decide(
        asked,
        _policy(session),
        hooks=hooks(),
        callback=callback,
        classifier=session.classifier and session.classifier.knowing(session.account.text),
        grants=session.grants,
    )
    session.account.called(call["name"], decision.input, decision.allowed)
    session.denials.record(decision)
    session.emit(EventType.PERMISSION, tool_use=call["id"], **decision.to_event(asked))
    return decision, verdicts[0] if verdicts else Verdict()


def _policy(session: Session) -> PermissionPolicy:
    """The session's policy, where the shell is now."""
    here = session.context.cwd
    return session.policy if here == session.policy.start else replace(session.policy, cwd=here)


async def _asked(
    session: Session, call: Call, capabilities: Sequence[Capability], reason: str
) -> Answer:
    """Who decides on a call that rules and mode left open: a hook, or whoever can be asked."""
    verdict = await fire(
        session, HookEvent.PERMISSION_REQUEST, tool_name=call.tool, tool_input=dict(call.input)
    )
    if verdict.behavior in ("allow", "deny"):
        why = verdict.reason or f"the hook {verdict.decided_by} said so"
        return Answer(verdict.behavior == "allow", why)
    if session.callback is None:
        return Answer(False, "it needs permission, and there is nobody to ask")
    await fire(
        session,
        HookEvent.NOTIFICATION,
        message=f"{call.tool} needs permission",
        notification_type="permission_prompt",
    )
    return await session.callback(call, capabilities, reason)


async def _denied(session: Session, call: Block, decision: Decision, verdict: Verdict) -> _Settled:
    said = decision.told()
    if decision.step != "callback":
        told = await fire(
            session,
            HookEvent.PERMISSION_DENIED,
            tool_name=call["name"],
            tool_input=call["input"],
            tool_use_id=call["id"],
            reason=decision.reason,
        )
        if told.retry:
            said += " You may try this call once more."
    stop = next(iter(_stops(verdict)), "")
    result = ToolResult(said, is_error=True, facts={"denied": decision.step})
    return _Settled(call, result, verdict.additional_context, stop)


async def _run(session: Session, tool: Tool, input: Mapping[str, Any]) -> ToolResult:
    old = session.context.cwd
    try:
        result = await tool.run(input, session.context)
    except (OSError, ValueError, RuntimeError) as error:
        # A tool that fails is a result; the session goes on.
        return ToolResult(f"{tool.name} failed: {error}", is_error=True)
    if session.context.cwd != old:
        before, here = session.hooks.session.cwd, _folder(session)
        session.hooks.session = replace(session.hooks.session, cwd=here)
        await fire(session, HookEvent.CWD_CHANGED, old_cwd=before, new_cwd=here)
    if "skill" in result.facts:
        route = result.facts.get("route", "tool")
        session.emit(EventType.ACTIVATION, skill=result.facts["skill"], route=route)
    return result


def _folder(session: Session) -> str:
    """Where the shell is, on this machine: hooks run there. A link is not followed."""
    context = session.context
    found = context.sandbox.outside(context.cwd)
    own = found is not None and os.path.realpath(found) == found and os.path.isdir(found)
    return found if found and own else context.workspace


async def _after(session: Session, call: Block, result: ToolResult, before: Verdict) -> _Settled:
    told = {"tool_name": call["name"], "tool_input": call["input"], "tool_use_id": call["id"]}
    if result.is_error:
        verdict = await fire(
            session, HookEvent.POST_TOOL_USE_FAILURE, **told, error=str(result.content)
        )
    else:
        verdict = await fire(session, HookEvent.POST_TOOL_USE, **told, tool_response=result.content)
        if verdict.updated_output is not None:
            output = verdict.updated_output
            result = replace(result, content=output if isinstance(output, str) else str(output))
    notes = [*before.additional_context, *verdict.additional_context]
    if verdict.behavior == "deny":
        notes.append(verdict.reason)
    stop = next(iter([*_stops(before), *_stops(verdict)]), "")
    return _Settled(call, result, tuple(notes), stop)
