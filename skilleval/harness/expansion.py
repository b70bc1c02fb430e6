"""Prompts that call a skill by name: ``/name arguments``, as a user types it."""

from __future__ import annotations

from skilleval.harness.calls import fire
from skilleval.harness.context.history import Block
from skilleval.harness.hooks.events import HookEvent
from skilleval.harness.session import Session
from skilleval.harness.tools.base import ToolError
from skilleval.harness.tools.skill import forked, skill_text, wants_agent
from skilleval.prompt.listing import call_name, other_name
from skilleval.skill import Skill
from skilleval.trace.events import EventType

__all__ = ["Blocked", "expand", "load"]


class Blocked(Exception):
    """A prompt can't be expanded, or a hook has something against it; the message says why."""


async def expand(session: Session, prompt: str) -> list[Block]:
    """The instructions of the skill that a prompt calls; nothing where it calls none.

    Of a skill that an agent carries out it is the agent's report.

    Raises:
        Blocked: a hook has something against it, or no agent can be started.
    """
    if not prompt.startswith("/"):
        return []
    words = prompt[1:].split(maxsplit=1)
    name = words[0] if words else ""
    skill = next((s for s in session.context.skills if name in (call_name(s), other_name(s))), None)
    if skill is None or _only_for_models(skill):
        return []
    arguments = words[1] if len(words) > 1 else ""
    verdict = await fire(
        session,
        HookEvent.USER_PROMPT_EXPANSION,
        expansion_type="slash_command",
        command_name=name,
        command_args=arguments,
        command_source="skill",
        prompt=prompt,
    )
    if verdict.behavior == "deny" or verdict.stop:
        raise Blocked(verdict.reason or verdict.stop_reason or "a hook blocked the skill")
    if wants_agent(skill) and session.context.fork:
        try:
            report = await forked(skill, name, arguments or None, session.context)
        except ToolError as error:
            raise Blocked(str(error)) from None
        session.emit(EventType.ACTIVATION, skill=skill.name, route="slash")
        return [{"type": "text", "text": str(report.content)}]
    return await load(session, skill, arguments, "slash")


async def load(session: Session, skill: Skill, arguments: str, route: str) -> list[Block]:
    """The instructions of a skill, put before the model without its having asked for them.

    Args:
        session: whose model.
        skill: which skill.
        arguments: what its instructions are to work on.
        route: how it came to be loaded, for the trace.
    """
    text = await skill_text(skill, arguments or None, session.context)
    session.context.loaded[skill.folder] = text
    session.emit(EventType.ACTIVATION, skill=skill.name, route=route)
    return [{"type": "text", "text": text}]


def _only_for_models(skill: Skill) -> bool:
    field = skill.front.fields.get("user-invocable")
    return field is not None and (field.text or "").lower() in ("false", "no", "off")
