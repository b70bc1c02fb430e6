"""The tools that a skill asks to be allowed."""

from __future__ import annotations

import re

from skilleval.skill.frontmatter import Field
from skilleval.skill.yamltree import Scalar, Sequence

__all__ = ["split_tools", "tool_names"]

# A name, and what may follow it in parentheses, spaces and commas included.
_TOOL = re.compile(r"[^\s,()]+(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?|\([^()]*\)|[()]")


def split_tools(text: str) -> list[str]:
    """Tools of a space- or comma-separated text.

    Parentheses keep their content together: ``Bash(git add *), Read`` is two tools.
    """
    return _TOOL.findall(text)


def tool_names(entry: Field) -> list[str]:
    """The tools of an ``allowed-tools`` field, whichever way it is written."""
    value = entry.resolved
    if isinstance(value, Sequence):
        return [item.value.strip() for item in value.items if isinstance(item, Scalar)]
    return split_tools(entry.text or "")
