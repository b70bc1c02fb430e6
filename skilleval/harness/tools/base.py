"""What a tool is, what it gets and what it gives."""

from __future__ import annotations

import asyncio
import posixpath
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from skilleval.harness.tools.beneath import Beneath
from skilleval.harness.tools.budgets import DEFAULT, Budgets
from skilleval.harness.tools.ledger import FileLedger

if TYPE_CHECKING:
    from skilleval.harness.sandbox.policy import Sandbox
    from skilleval.harness.tools.background import Background
    from skilleval.skill import Skill

__all__ = ["Block", "FileTool", "Tool", "ToolContext", "ToolError", "ToolResult"]

Block = dict[str, Any]
"""A content block in the form of the Messages API."""


class ToolError(Exception):
    """A call that can't be carried out; the message is what the model is told."""


@dataclass(frozen=True)
class ToolResult:
    """What a call gives back.

    Attributes:
        content: a text, or content blocks.
        is_error: it could not be done, or a command failed.
        full_output: the path in the sandbox of a file with all of a result that was cut.
        facts: for the trace, not for the model: ``read`` and ``written`` (paths), ``bytes``,
            ``exit_code``, ``shown`` and ``total`` of what was cut, and what else a tool knows.
        after: blocks that follow the tool results in the same message, such as the
            instructions of a skill.
    """

    content: str | list[Block]
    is_error: bool = False
    full_output: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    after: tuple[Block, ...] = ()


@dataclass
class ToolContext:
    """What the tools of one session share.

    Attributes:
        workspace: the folder that the model works in, on this machine.
        sandbox: where commands run; the tools reach what its policy mounts, and no more.
        outputs_folder: where whole outputs are kept, on this machine; it must be mounted for
            the model to read them.
        cwd: the working directory inside; Bash changes it.
        budgets: the limits.
        files: which files the model has seen.
        skills: those that can be loaded.
        session_id: what ``${CLAUDE_SESSION_ID}`` stands for.
        run_preamble: runs a command that a skill wants to have run while it is loaded, and
            gives what it printed, or None where it was refused; without it none is run.
        spawn: carries out a call of Agent.
        fork: has an agent of a kind follow the instructions of a skill, and gives its report;
            None where skills are not carried out by agents.
        readable: for a tool that searches, what tells of a path in the sandbox whether a rule
            leaves it to be read; None where no rule forbids any.
        environment: variables that commands get besides those of the sandbox.
        background: what runs commands in the background; None where that is off.
        memory_folder: the memory's folder, below the workspace.
        loaded: the text of each skill that was loaded, by name.
        programs: which programs for searching are there inside, once that is known.
        counter: how many whole outputs were kept.
    """

    workspace: str
    sandbox: Sandbox
    outputs_folder: str
    cwd: str = ""
    budgets: Budgets = field(default_factory=Budgets)
    files: FileLedger = field(default_factory=FileLedger)
    skills: Sequence[Skill] = ()
    session_id: str = ""
    run_preamble: Callable[[str], Awaitable[str | None]] | None = None
    spawn: Callable[[Mapping[str, Any]], Awaitable[ToolResult]] | None = None
    fork: Callable[[str, str], Awaitable[ToolResult]] | None = None
    readable: Callable[[str], Callable[[str], bool] | None] = lambda tool: None
    environment: Mapping[str, str] = field(default_factory=dict)
    background: Background | None = None
    memory_folder: str = ".memories"
    loaded: dict[str, str] = field(default_factory=dict)
    programs: dict[str, bool] = field(default_factory=dict)
    counter: int = 0

    def __post_init__(self) -> None:
        """Start in the workspace where nothing else was said."""
        self.cwd = self.cwd or self.home

    @property
    def home(self) -> str:
        """The workspace as it is seen inside."""
        return self.sandbox.inside(self.workspace)

    @cached_property
    def tree(self) -> Beneath:
        """What the sandbox mounts, as one tree of paths."""
        return Beneath(self.sandbox.policy.mounts, self.sandbox.policy.hidden)

    def path(self, given: str) -> str:
        """A model's path, absolute in the sandbox; links and ``..`` are left for the walk."""
        return posixpath.join(self.cwd, given)


class Tool(ABC):
    """A tool that a model can call.

    Attributes:
        name: as the model calls it.
        definition: in the form of the Messages API.
        reads_only: calls may run together; those of other tools run one after another.
    """

    name: str
    definition: Block
    reads_only: bool = False

    def __init__(self, budgets: Budgets = DEFAULT) -> None:
        """Make the tool with a definition of its own, which may name the budgets."""
        self.definition = deepcopy(self.definition)

    async def run(self, input: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Carry out a call whose arguments were checked; what can't be done is a result, too."""
        try:
            return await self.call(input, context)
        except ToolError as error:
            return ToolResult(str(error), is_error=True)

    @abstractmethod
    async def call(self, input: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Carry out a call.

        Raises:
            ToolError: it can't be done.
        """


class FileTool(Tool):
    """A tool that only touches files: it works in a thread, so that no disk holds up others."""

    async def call(self, input: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Carry out a call."""
        return await asyncio.to_thread(self.work, input, context)

    @abstractmethod
    def work(self, input: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Carry out a call, in a thread."""
