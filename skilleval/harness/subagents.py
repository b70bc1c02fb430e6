"""Subagents: a task with a context of its own; only its last message comes back."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from skilleval.errors import InputError
from skilleval.harness.agents import AgentType, task_prompt
from skilleval.harness.calls import fire
from skilleval.harness.hooks.events import HookEvent
from skilleval.harness.loop import State, work
from skilleval.harness.session import Outcome, Session
from skilleval.harness.tools.base import Tool, ToolContext, ToolError, ToolResult
from skilleval.harness.tools.ledger import FileLedger
from skilleval.models.endpoint import Answers
from skilleval.prompt.system import Prompt
from skilleval.trace.events import EventType
from skilleval.trace.writer import TraceWriter

__all__ = ["Spawner"]

_GIT_SECONDS = 60.0
_GIT = ("git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
"""The workspace may be hostile: nothing that its repository says is run."""
MakePrompt = Callable[[AgentType, Sequence[Tool]], Prompt]
OpenModel = Callable[[str], Awaitable[Answers]]


class Spawner:
    """Starts the subagents of one agent, and counts them.

    Args:
        session: the agent that they work for.
        agents: the kinds that there are, by name.
        make_prompt: puts the system prompt of a kind with its tools together.
        open_model: opens another model for a kind that wants one.
    """

    def __init__(
        self,
        session: Session,
        agents: Mapping[str, AgentType],
        make_prompt: MakePrompt,
        open_model: OpenModel,
    ) -> None:
        self.session = session
        self.agents = agents
        self._make_prompt = make_prompt
        self._open_model = open_model
        self._started = 0
        self._room = asyncio.Semaphore(session.limits.at_once)

    async def __call__(self, input: Mapping[str, Any]) -> ToolResult:
        """Carry out a call of the Agent tool.

        Raises:
            ToolError: there can be no such agent.
        """
        session, limits = self.session, self.session.limits
        kind = self.agents.get(input.get("subagent_type") or next(iter(self.agents)))
        if kind is None:
            raise ToolError(f"There is no such kind of agent. There are: {', '.join(self.agents)}.")
        if self._started >= limits.agents:
            raise ToolError(
                f"{limits.agents} agents were started, which is the limit. Do the rest yourself."
            )
        self._started += 1
        identity = uuid.uuid4().hex[:12]
        task = {
            "task_id": identity,
            "task_subject": str(input.get("description", "")),
            "task_description": str(input["prompt"]),
        }
        verdict = await fire(session, HookEvent.TASK_CREATED, **task)
        if verdict.behavior == "deny":
            raise ToolError(f"A hook has something against this task: {verdict.reason}")
        async with self._room:
            result = await self._run(kind, identity, input)
        verdict = await fire(session, HookEvent.TASK_COMPLETED, **task)
        if verdict.behavior == "deny":
            return replace(
                result,
                content=f"{result.content}\n\nA hook does not take it for done: {verdict.reason}",
                is_error=True,
            )
        return result

    async def _run(self, kind: AgentType, identity: str, input: Mapping[str, Any]) -> ToolResult:
        session = self.session
        folder = os.path.join(os.path.dirname(session.trace.path), "agents")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, f"agent-{identity}.jsonl")
        prompt = task_prompt(
            str(input["prompt"]),
            str(input.get("output_format", "")),
            str(input.get("guidance", "")),
            str(input.get("boundaries", "")),
        )
        session.emit(
            EventType.AGENT,
            agent_id=identity,
            agent_type=kind.name,
            task=prompt,
            trace=os.path.relpath(path, os.path.dirname(session.trace.path)),
        )
        tree = await self._worktree(identity) if input.get("isolation") == "worktree" else None
        with TraceWriter(path, session.id) as trace:
            child = await self._child(kind, identity, trace, tree)
            last = State()
            async for item in work(child, prompt):
                if isinstance(item, State):
                    last = item
        left = await self._leave(tree) if tree else ""
        return _report(last, identity, left)

    async def _child(
        self, kind: AgentType, identity: str, trace: TraceWriter, tree: str | None
    ) -> Session:
        session = self.session
        allowed = set(session.tools) - {"Agent"} if kind.tools is None else set(kind.tools)
        if session.depth + 1 >= session.limits.depth:
            allowed -= {"Agent"}
        tools = [tool for name, tool in session.tools.items() if name in allowed]
        try:
            model = await self._open_model(kind.model) if kind.model else session.model
        except InputError as error:
            raise ToolError(f"The agent {kind.name} can't be had: {error.message}") from None
        context: ToolContext = replace(
            session.context,
            files=FileLedger(),
            loaded={},
            spawn=None,
            cwd=tree or session.context.cwd,
        )
        child = replace(
            session,
            model=model,
            prompt=self._make_prompt(kind, tools),
            tools={tool.name: tool for tool in tools},
            context=context,
            trace=trace,
            agent=identity,
            agent_type=kind.name,
            depth=session.depth + 1,
            waiting=deque(),
            stream=None,
        )
        if "Agent" in child.tools:
            context.spawn = Spawner(child, self.agents, self._make_prompt, self._open_model)
        child.emit(
            EventType.START,
            version=1,
            driver="native",
            model=model.model.name,
            agent_type=kind.name,
            depth=child.depth,
            system=child.prompt.system,
            tools=list(child.prompt.tools),
        )
        return child

    async def _git(self, *words: str) -> tuple[int, str]:
        context = self.session.context
        done = await context.sandbox.run([*_GIT, *words], cwd=context.home, timeout=_GIT_SECONDS)
        return done.exit_code, done.output.decode("utf-8", "replace").strip()

    async def _worktree(self, identity: str) -> str:
        """A working tree of its own for a subagent; its path inside."""
        path = f"{self.session.context.home}/.worktrees/agent-{identity}"
        code, said = await self._git("worktree", "add", "--quiet", "--detach", path)
        if code:
            raise ToolError(f"The workspace can't be given a second working tree: {said}")
        return path

    async def _leave(self, path: str) -> str:
        """Remove a working tree in which nothing was changed; else say where it is."""
        code, changed = await self._git("-C", path, "status", "--porcelain")
        moved, ahead = await self._git(
            "-C", path, "log", "--oneline", "HEAD", "--not", "--branches"
        )
        if code == 0 and moved == 0 and not changed and not ahead:
            await self._git("worktree", "remove", path)
            return ""
        return f"\n\nIts changes are in the working tree {path}."


def _report(last: State, identity: str, left: str) -> ToolResult:
    ended = last.ended
    facts = {"agent": identity, "turns": last.turns, "cost": last.cost}
    if ended is None or ended.outcome is not Outcome.COMPLETED:
        how = f"{ended.outcome}: {ended.reason}" if ended else "it never began"
        text = f"The agent did not finish ({how}). Its last words: {last.text or '(none)'}{left}"
        return ToolResult(text, is_error=True, facts=facts)
    return ToolResult((ended.text or "(The agent said nothing.)") + left, facts=facts)
