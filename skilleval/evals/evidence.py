"""What is known of a finished trial: all that checks may look at.

None stands for what is not known, and makes a check that needs it "could not be measured".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

__all__ = ["CheckResult", "Evidence", "Finished", "Reader", "ToolCall"]

Reader: TypeAlias = Callable[[int], bytes]
"""Reads a file: at most so many bytes from its start. It may raise OSError."""


class ToolCall(NamedTuple):
    """One call of a tool, in the order of the trial."""

    name: str
    input: Mapping[str, Any]
    is_error: bool = False


class Finished(NamedTuple):
    """How a command ended, and what it wrote to both outputs."""

    code: int
    output: str


@dataclass(frozen=True)
class Evidence:
    """What a trial left behind.

    Attributes:
        output: the last thing that the model said.
        tools: every tool call.
        skills: the skills that were activated, one entry for each time.
        references: the files of skills that were read, as paths.
        denials: tool calls that were denied.
        dollars: what the trial cost.
        turns: how many turns it took.
        files: the workspace afterwards, by path.
        inputs: the input files as they were before, by path.
        run: runs a command in the sandbox, in the workspace. It may raise OSError or
            TimeoutError; then the check could not be measured.
    """

    output: str | None = None
    tools: Sequence[ToolCall] | None = None
    skills: Sequence[str] | None = None
    references: Sequence[str] | None = None
    denials: int | None = None
    dollars: float | None = None
    turns: int | None = None
    files: Mapping[str, Reader] | None = None
    inputs: Mapping[str, Reader] | None = None
    run: Callable[[str], Awaitable[Finished]] | None = field(default=None, compare=False)


class CheckResult(NamedTuple):
    """What became of a check: passed, failed, or None: it could not be measured.

    ``evidence`` says where to look: ``output``, ``file:PATH``, ``tool:3``, ``command``.
    """

    passed: bool | None
    reason: str
    evidence: str = ""
