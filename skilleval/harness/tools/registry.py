"""The tools that belong to the harness, each registered where it is written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TypeVar

from skilleval.harness.tools.base import Tool
from skilleval.harness.tools.budgets import DEFAULT, Budgets

__all__ = ["standard_tools", "tool"]

_T = TypeVar("_T", bound=type[Tool])
_tools: dict[str, Callable[[Budgets], Tool]] = {}
_ORDER = ("Read", "Write", "Edit", "Glob", "Grep", "Bash", "Skill", "Agent", "memory")


def tool(kind: _T) -> _T:
    """Register a tool; a class decorator."""
    _tools[str(kind.name)] = kind
    return kind


def standard_tools(
    budgets: Budgets = DEFAULT,
    *,
    without: Collection[str] = (),
    skills: bool = True,
    agents: Mapping[str, str] | None = None,
    memory: bool = True,
) -> list[Tool]:
    """The harness's own tools, always in the same order.

    Args:
        budgets: the limits that definitions name.
        without: names of tools to leave out.
        skills: with the tool that loads skills; where the model reads SKILL.md itself there is
            none.
        agents: the kinds of subagents with what each is for; without any there is no tool that
            starts one.
        memory: with the memory tool.

    Raises:
        ValueError: a name to leave out is unknown.
    """
    kinds = None if not agents else tuple(agents.items())
    return list(_made(budgets, frozenset(without), skills, kinds, memory))


@lru_cache(maxsize=32)
def _made(
    budgets: Budgets,
    without: frozenset[str],
    skills: bool,
    agents: tuple[tuple[str, str], ...] | None,
    memory: bool,
) -> tuple[Tool, ...]:
    """The tools; they hold no state, so that all sessions can share them."""
    from skilleval.harness.tools.agent import Agent

    package = __name__.rpartition(".")[0]
    for module in iter_modules(import_module(package).__path__, package + "."):
        import_module(module.name)
    unknown = without - _tools.keys()
    if unknown:
        raise ValueError(f"no such tool: {', '.join(sorted(unknown))}")
    left_out = {"Skill": not skills, "Agent": not agents, "memory": not memory}
    left_out |= dict.fromkeys(without, True)
    tools = [_tools[name](budgets) for name in _tools if not left_out.get(name)]
    for each in tools:
        if isinstance(each, Agent):
            each.offer(dict(agents or ()))
    return tuple(sorted(tools, key=lambda each: [*_ORDER, each.name].index(each.name)))
