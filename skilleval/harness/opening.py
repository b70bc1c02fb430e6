"""Opening a session: everything that an agent needs, put together from what was asked for."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from skilleval.errors import InputError
from skilleval.harness.agents import AgentType, read_agents
from skilleval.harness.calls import fire
from skilleval.harness.context.manager import Thresholds
from skilleval.harness.hooks import (
    HookEvent,
    Hooks,
    RuleMatches,
    SessionFacts,
)
from skilleval.harness.permissions import (
    Call,
    Callback,
    Classifier,
    Mode,
    PermissionPolicy,
    Rules,
    fits,
    readable,
    visible_tools,
)
from skilleval.harness.preamble import preamble_runner
from skilleval.harness.resume import Resumed
from skilleval.harness.sandbox import Limits, Mount, Policy, Sandbox, open_sandbox
from skilleval.harness.session import Purse, Session, SessionLimits
from skilleval.harness.subagents import Spawner
from skilleval.harness.tools.background import Background
from skilleval.harness.tools.base import Tool, ToolContext
from skilleval.harness.tools.budgets import Budgets
from skilleval.harness.tools.registry import standard_tools
from skilleval.harness.watching import Watched, read_settings_file
from skilleval.models.endpoint import Answers
from skilleval.models.messages import OnEvent
from skilleval.models.opening import Models
from skilleval.models.tiers import Tier
from skilleval.prompt.catalog import Listing, Style, build_listing
from skilleval.prompt.listing import budget as listing_budget
from skilleval.prompt.system import Prompt, build_prompt
from skilleval.prompt.workspace import Workspace, read_workspace
from skilleval.skill import Skill
from skilleval.trace.events import VERSION, Event, EventType
from skilleval.trace.writer import TraceWriter

__all__ = ["Setup", "open_session", "read_mcp"]

SKILLS, OUTPUTS = "/skills", "/outputs"
"""Where skills from outside the workspace, and whole outputs of tools, are seen inside."""
_PROGRESS = "PROGRESS.md"
_PROGRESS_CUT = 8_000


@dataclass(frozen=True)
class Setup:
    """What a session is to be made of.

    Attributes:
        model: its name.
        workspace: the folder that it works in.
        skills: those that are offered.
        style: how they are listed and loaded.
        mode, rules: what is allowed.
        settings: Claude Code settings files whose hooks and permissions hold.
        sandbox: ``auto``, ``bubblewrap``, ``landlock`` or ``none``.
        network: whether commands may reach it.
        hidden: what commands may not read, on this machine.
        sandbox_limits: of each command.
        limits: of the session.
        budgets: of the tools.
        thresholds: when the context is made smaller.
        mcp: the servers' configuration, as in ``.mcp.json``.
        agents: the kinds of subagents.
        without: names of tools to leave out.
        background: whether commands may go on in the background.
        context_management: see Session.
    """

    model: str
    workspace: str
    skills: Sequence[Skill] = ()
    style: Style = Style.CLAUDE_CODE
    mode: Mode = Mode.DEFAULT
    rules: Rules = field(default_factory=Rules)
    settings: Sequence[str] = ()
    sandbox: str = "auto"
    network: bool = False
    hidden: Sequence[str] = ()
    sandbox_limits: Limits = field(default_factory=Limits)
    limits: SessionLimits = field(default_factory=SessionLimits)
    budgets: Budgets = field(default_factory=Budgets)
    thresholds: Thresholds = field(default_factory=Thresholds)
    mcp: dict[str, Any] = field(default_factory=dict)
    agents: Sequence[AgentType] | None = None
    without: Sequence[str] = ()
    background: bool = False
    context_management: Sequence[str] = ()


@contextlib.asynccontextmanager
async def open_session(
    setup: Setup,
    models: Models,
    trace_path: str,
    *,
    callback: Callback | None = None,
    watch: Callable[[Event], None] | None = None,
    stream: OnEvent | None = None,
    resumed: Resumed | None = None,
) -> AsyncIterator[Session]:
    """Open a session, and close all of it in the end.

    Args:
        setup: what it is made of.
        models: where models come from.
        trace_path: where its events are written.
        callback: who is asked for permission.
        watch: gets each event as it is written.
        stream: gets the events of the model's stream.
        resumed: the session that goes on.

    Raises:
        InputError: something that was asked for makes no sense or can't be had.
    """
    workspace = os.path.realpath(setup.workspace)
    model = await models.open(setup.model)
    async with contextlib.AsyncExitStack() as stack:
        outputs = stack.enter_context(tempfile.TemporaryDirectory(prefix="skilleval-outputs-"))
        sandbox = _sandbox(setup, workspace, outputs)
        session_id = resumed.session if resumed else uuid.uuid4().hex
        context = ToolContext(
            workspace,
            sandbox,
            outputs,
            budgets=setup.budgets,
            skills=setup.skills,
            session_id=session_id,
        )
        if setup.background:
            context.background = await stack.enter_async_context(Background())
        agents = list(setup.agents if setup.agents is not None else read_agents(workspace))
        tools = await _tools(setup, stack, sandbox, agents)
        watched = _watched(setup, workspace, sandbox)
        policy, hooks_found = watched.policy, watched.hooks
        seen = set(visible_tools([tool.name for tool in tools], policy.rules))
        tools = [tool for tool in tools if tool.name in seen]
        here = read_workspace(workspace, shown_as=sandbox.inside(workspace))
        listing = _listing(setup, sandbox, model.model.tier)
        limits = setup.limits

        def make_prompt(kind: AgentType | None, chosen: Sequence[Tool]) -> Prompt:
            return build_prompt(
                listing,
                style=setup.style,
                tools=[tool.definition for tool in chosen],
                workspace=here,
                limits=limits.told(),
                identity=kind.instructions if kind and kind.instructions else None,
            )

        trace = stack.enter_context(
            TraceWriter(trace_path, session_id, first=resumed.events if resumed else 0)
        )
        if resumed and os.path.getsize(trace_path) - resumed.size not in (0, 1):  # a line's end
            raise InputError(f"{trace_path} has grown since it was read: resume it again")
        facts = SessionFacts(session_id, trace_path, workspace, str(policy.mode), project=workspace)
        purse = Purse(limits.dollars, resumed.cost if resumed else 0.0)
        session = Session(
            session_id,
            model,
            make_prompt(None, tools),
            {tool.name: tool for tool in tools},
            context,
            policy,
            Hooks(
                hooks_found,
                session=facts,
                ask_model=_asker(model, purse),
                rule_matches=_condition(policy),
            ),
            trace,
            limits,
            purse,
            callback,
            Classifier(_classifier_asker(model, purse)) if policy.mode is Mode.AUTO else None,
            setup.thresholds,
            setup.context_management,
            watch=watch,
            stream=stream,
            watched=watched,
        )
        spawner = Spawner(session, {a.name: a for a in agents}, make_prompt, models.open)
        context.spawn = spawner
        if setup.style is Style.CLAUDE_CODE and "Agent" in session.tools:
            context.fork = spawner.fork
        context.run_preamble = preamble_runner(session)
        context.readable = lambda tool: readable(session.policy, tool)
        await _begin(session, setup, here, listing, resumed)
        try:
            yield session
        finally:
            await fire(session, HookEvent.SESSION_END, reason="other")


def _sandbox(setup: Setup, workspace: str, outputs: str) -> Sandbox:
    mounts = [Mount(workspace, "/workspace", True), Mount(outputs, OUTPUTS)]
    taken: dict[str, str] = {}
    for skill in setup.skills:
        catalog = skill.found.catalog
        root = os.path.realpath(catalog.folder if catalog.plugin else skill.folder)
        if root in taken or os.path.commonpath([root, workspace]) == workspace:
            continue
        name = os.path.basename(root) or "skill"
        inside = f"{SKILLS}/{name}"
        while inside in taken.values():
            inside += "_"
        taken[root] = inside
        mounts.append(Mount(root, inside))
    policy = Policy(tuple(mounts), setup.network, tuple(setup.hidden), setup.sandbox_limits)
    return open_sandbox(setup.sandbox, policy)


async def _tools(
    setup: Setup, stack: contextlib.AsyncExitStack, sandbox: Sandbox, agents: Sequence[AgentType]
) -> list[Tool]:
    kinds = {agent.name: agent.description for agent in agents}
    tools = standard_tools(
        setup.budgets,
        without=setup.without,
        skills=setup.style is Style.CLAUDE_CODE and bool(setup.skills),
        agents=kinds if setup.limits.depth > 0 else None,
    )
    if setup.mcp:
        from skilleval.harness.tools.mcp import connect

        tools += await stack.enter_async_context(connect(setup.mcp, sandbox, setup.budgets))
    return tools


def _watched(setup: Setup, workspace: str, sandbox: Sandbox) -> Watched:
    """What the settings files say, and what was asked for on the spot; changes are looked for."""
    mounts = tuple((mount.inside, mount.host) for mount in sandbox.policy.mounts)
    policy = PermissionPolicy(setup.mode, setup.rules, workspace, home=workspace, mounts=mounts)
    files = [read_settings_file(path) for path in setup.settings]
    return Watched(workspace, policy, sandbox, files)


def _condition(policy: PermissionPolicy) -> RuleMatches:
    """Whether a hook's condition, which is written as a rule, holds for a call."""

    def holds(rule: str, tool: str, given: Mapping[str, Any]) -> bool:
        try:
            return fits(rule, Call(tool, given), policy)
        except InputError:
            return True  # a guard is called too often rather than too seldom

    return holds


def _listing(setup: Setup, sandbox: Sandbox, tier: Tier) -> Listing | None:
    if not setup.skills:
        return None
    size = None
    if setup.style is Style.CLAUDE_CODE:
        size = listing_budget(tier.context_window, tier.characters_per_token)
    return build_listing(setup.skills, setup.style, size, shown_as=sandbox.inside)


def _asker(model: Answers, purse: Purse) -> Callable[[str], Awaitable[str]]:
    """A function that asks a model one thing, outside of any conversation."""

    async def ask(prompt: str) -> str:
        return await _classifier_asker(model, purse)("", prompt)

    return ask


def _classifier_asker(model: Answers, purse: Purse) -> Callable[[str, str], Awaitable[str]]:
    async def ask(system: str, prompt: str) -> str:
        request: dict[str, Any] = {
            "model": model.model.tier.id,
            "max_tokens": 1_000,
            "messages": [{"role": "user", "content": prompt}],
        }
        if system:
            request["system"] = system
        reply = await model.answer(request)
        purse.pay(reply.cost)
        return reply.text

    return ask


async def _begin(
    session: Session,
    setup: Setup,
    here: Workspace,
    listing: Listing | None,
    resumed: Resumed | None,
) -> None:
    """Write the first event, and tell hooks and model what there is to know."""
    sandbox = session.context.sandbox
    common = {
        "model": session.model.model.name,
        "mode": str(session.policy.mode),
        "sandbox": sandbox.name,
        "prefix_sha256": session.prompt.prefix_hash(),
    }
    if resumed:
        session.emit(EventType.RESUME, lost=resumed.lost or None, **common)
    else:
        session.emit(
            EventType.START,
            version=VERSION,
            driver="native",
            **common,
            style=str(setup.style),
            gaps=list(sandbox.gaps),
            network=setup.network,
            system=session.prompt.system,
            tools=list(session.prompt.tools),
            listing=listing.text if listing else "",
            skills=[entry._asdict() for entry in listing.entries] if listing else [],
            instructions=[file.name for file in here.instructions],
            servers=list(setup.mcp),
            workspace=here.path,
            limits={name: value for name, value in vars(setup.limits).items()},
        )
        await fire(session, HookEvent.SETUP, trigger="init")
    for file in session.watched.settings if session.watched else ():
        for warning in file.warnings:
            session.emit(EventType.WARNING, about="settings", message=warning)
    source = "resume" if resumed else "startup"
    verdict = await fire(
        session, HookEvent.SESSION_START, source=source, model=session.model.model.name
    )
    for read in here.instructions:
        await fire(
            session,
            HookEvent.INSTRUCTIONS_LOADED,
            file_path=os.path.join(session.context.workspace, read.name),
            memory_type="Project",
            load_reason="session_start",
        )
    session.notes = [*verdict.additional_context, *_progress(session.context.workspace)]


def _progress(workspace: str) -> list[str]:
    """What an earlier session has left in PROGRESS.md for the next one."""
    path = os.path.join(workspace, _PROGRESS)
    if os.path.islink(path) or not os.path.isfile(path):
        return []
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read(_PROGRESS_CUT + 1)
    if not text.strip():
        return []
    more = "\n[cut here; Read it for the rest]" if len(text) > _PROGRESS_CUT else ""
    return [
        f"An earlier session has left {_PROGRESS}. Begin by checking what it says, and keep it "
        f"up to date: what is done, what is next.\n\n{text[:_PROGRESS_CUT]}{more}"
    ]


def read_mcp(path: str) -> dict[str, Any]:
    """The servers that a file like ``.mcp.json`` names.

    Raises:
        InputError: it can't be read.
    """
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"can't read {path}: {error}") from None
    servers = data.get("mcpServers", data) if isinstance(data, dict) else None
    if not isinstance(servers, dict):
        raise InputError(f"{path} names no servers", remedy='It holds {"mcpServers": {...}}.')
    return servers
