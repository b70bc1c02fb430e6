"""Subagents: a task with a context of its own; only its last message comes back."""

from __future__ import annotations

import asyncio
import copy
import os
import uuid
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from skilleval.errors import SkillevalError
from skilleval.harness.account import Account
from skilleval.harness.agents import GENERAL, AgentType, task_prompt
from skilleval.harness.calls import fire
from skilleval.harness.hooks.events import HookEvent
from skilleval.harness.loop import State, work
from skilleval.harness.preamble import preamble_runner
from skilleval.harness.session import CALL, Outcome, Session
from skilleval.harness.tools.base import Tool, ToolContext, ToolError, ToolResult
from skilleval.harness.tools.ledger import FileLedger
from skilleval.models.endpoint import Answers
from skilleval.prompt.system import Prompt
from skilleval.trace.events import VERSION, EventType
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
        self._room = asyncio.Semaphore(session.limits.at_once)

    async def __call__(self, input: Mapping[str, Any]) -> ToolResult:
        """Carry out a call of the Agent tool.

        Raises:
            ToolError: there can be no such agent.
        """
        session = self.session
        kind = self.agents.get(input.get("subagent_type") or next(iter(self.agents)))
        if kind is None:
            raise ToolError(f"There is no such kind of agent. There are: {', '.join(self.agents)}.")
        identity = self._counted()
        task = {
            "task_id": identity,
            "task_subject": str(input.get("description", "")),
            "task_description": str(input["prompt"]),
        }
        verdict = await fire(session, HookEvent.TASK_CREATED, **task)
        if verdict.behavior == "deny":
            raise ToolError(f"A hook has something against this task: {verdict.reason}")
        prompt = task_prompt(
            str(input["prompt"]),
            str(input.get("output_format", "")),
            str(input.get("guidance", "")),
            str(input.get("boundaries", "")),
        )
        async with self._room:
            apart = input.get("isolation") == "worktree"
            result = await self._run(kind, identity, prompt, apart=apart)
        verdict = await fire(session, HookEvent.TASK_COMPLETED, **task)
        if verdict.behavior == "deny":
            return replace(
                result,
                content=f"{result.content}\n\nA hook does not take it for done: {verdict.reason}",
                is_error=True,
            )
        return result

    async def fork(self, instructions: str, agent: str) -> ToolResult:
        """Have an agent follow the instructions of a skill.

        Args:
            instructions: all that it is told.
            agent: its kind; the general one does it where there is none of that name.

        Raises:
            ToolError: no more agents can be started.
        """
        kind = self.agents.get(agent)
        if kind is None:
            kind = self.agents.get(GENERAL.name) or next(iter(self.agents.values()))
            if agent:
                said = f"there is no kind of agent {agent[:100]!r}; {kind.name} follows the skill"
                self.session.emit(EventType.WARNING, about="skill", message=said)
        identity = self._counted()
        async with self._room:
            return await self._run(kind, identity, instructions)

    def _counted(self) -> str:
        """The id of one more agent."""
        most, purse = self.session.limits.agents, self.session.purse
        if purse.agents >= most:
            raise ToolError(
                f"{most} agents were started, which is the limit. Do the rest yourself."
            )
        purse.agents += 1
        return uuid.uuid4().hex[:12]

    async def _run(
        self, kind: AgentType, identity: str, prompt: str, *, apart: bool = False
    ) -> ToolResult:
        session, called_by = self.session, CALL.get()
        model = await self._opened(kind)
        tree = await self._worktree(identity) if apart else ""
        folder = os.path.dirname(session.trace.path)
        path = os.path.join(folder, "agents", f"agent-{identity}.jsonl")
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        session.emit(
            EventType.AGENT,
            tool_use=called_by or None,
            agent_id=identity,
            agent_type=kind.name,
            task=prompt,
            worktree=tree or None,
            trace=os.path.relpath(path, folder),
        )
        with TraceWriter(path, session.id) as trace:
            child = self._child(kind, model, tree)
            child.agent, child.parent, child.trace = identity, called_by, trace
            _start(child)
            last = State()
            async for item in work(child, prompt):
                if isinstance(item, State):
                    last = item
        left = await self._leave(tree) if tree else ""
        return _report(last, identity, left)

    async def _opened(self, kind: AgentType) -> Answers:
        """The model of a kind, before anything is made for it."""
        session = self.session
        try:
            model = await self._open_model(kind.model) if kind.model else session.model
        except SkillevalError as error:
            raise ToolError(f"The agent {kind.name} can't be had: {error.message}") from None
        if session.purse.limit is not None and model.model.tier.prices is None:
            raise ToolError(
                f"The agent {kind.name} can't be had: there is a limit in dollars, and the price "
                f"of {model.model.name} is not known."
            )
        return model

    def _child(self, kind: AgentType, model: Answers, tree: str) -> Session:
        session = self.session
        allowed = set(session.tools) - {"Agent"} if kind.tools is None else set(kind.tools)
        if session.depth + 1 >= session.limits.depth:
            allowed -= {"Agent"}
        tools = [tool for name, tool in session.tools.items() if name in allowed]
        context: ToolContext = replace(
            session.context,
            files=FileLedger(),
            loaded={},
            spawn=None,
            fork=None,
            cwd=tree or session.context.cwd,
        )
        child = replace(
            session,
            model=model,
            prompt=self._make_prompt(kind, tools),
            tools={tool.name: tool for tool in tools},
            context=context,
            hooks=copy.copy(session.hooks),  # they are told where this agent is, not its parent
            agent_type=kind.name,
            depth=session.depth + 1,
            waiting=deque(),
            stream=None,
            account=Account(session.account),
        )
        if tree:
            here = os.path.join(context.workspace, os.path.relpath(tree, context.home))
            child.hooks.session = replace(child.hooks.session, cwd=here)
        context.run_preamble = preamble_runner(child)
        if child.depth < session.limits.depth:
            spawner = Spawner(child, self.agents, self._make_prompt, self._open_model)
            context.spawn = spawner if "Agent" in child.tools else None
            context.fork = spawner.fork if session.context.fork else None
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


def _start(child: Session) -> None:
    """Write the first event of an agent."""
    child.emit(
        EventType.START,
        version=VERSION,
        driver="native",
        model=child.model.model.name,
        agent_type=child.agent_type,
        depth=child.depth,
        mode=str(child.policy.mode),
        sandbox=child.context.sandbox.name,
        system=child.prompt.system,
        tools=list(child.prompt.tools),
    )


def _report(last: State, identity: str, left: str) -> ToolResult:
    ended = last.ended
    facts = {"agent": identity, "turns": last.turns, "cost": last.cost}
    if ended is None or ended.outcome is not Outcome.COMPLETED:
        how = f"{ended.outcome}: {ended.reason}" if ended else "it never began"
        text = f"The agent did not finish ({how}). Its last words: {last.text or '(none)'}{left}"
        return ToolResult(text, is_error=True, facts=facts)
    return ToolResult((ended.text or "(The agent said nothing.)") + left, facts=facts)
