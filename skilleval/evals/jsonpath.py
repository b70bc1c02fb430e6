"""A small part of JSONPath (RFC 9535): what is needed to point at a value, and no more.

``$``, ``.name``, ``['any name']``, ``[0]``, ``[-1]`` and ``[*]``. There are no filters, slices
or descents: they would let a file decide how long a check takes.
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["find", "is_definite", "problem"]

MAX_LENGTH = 1_000
MAX_FOUND = 100_000
_STEP = re.compile(
    r"\.(?P<name>[^\W\d][\w-]*+)|\[(?P<index>-?(?:0|[1-9]\d{0,8}))\]|(?P<all>\[\*\]|\.\*)"
    r"|\['(?P<single>(?:[^'\\]|\\.)*+)'\]|\[\"(?P<double>(?:[^\"\\]|\\.)*+)\"\]"
)
_ESCAPE = re.compile(r"\\(.)")
_EVERY = object()


def _steps(path: str) -> list[Any] | str:
    """The steps of a path, or what is wrong with it."""
    if not path.startswith("$"):
        return "it must begin with $"
    if len(path) > MAX_LENGTH:
        return f"it is longer than {MAX_LENGTH:,} characters"
    steps: list[Any] = []
    at = 1
    while at < len(path):
        step = _STEP.match(path, at)
        if not step:
            return f"{path[at : at + 20]!r} is no step; there are .name, ['name'], [0] and [*]"
        if step["all"]:
            steps.append(_EVERY)
        elif step["index"] is not None:
            steps.append(int(step["index"]))
        elif step["name"] is not None:
            steps.append(step["name"])
        else:
            quoted = step["single"] if step["single"] is not None else step["double"]
            steps.append(_ESCAPE.sub(r"\1", quoted))
        at = step.end()
    return steps


def problem(path: str) -> str | None:
    """What is wrong with a path, or None."""
    steps = _steps(path)
    return steps if isinstance(steps, str) else None


def is_definite(path: str) -> bool:
    """Whether a path leads to one value at most."""
    steps = _steps(path)
    return not isinstance(steps, str) and _EVERY not in steps


def find(path: str, data: Any) -> list[Any]:
    """The values that a path leads to; none where there is nothing.

    Raises:
        ValueError: it is no path, or leads to too much.
    """
    steps = _steps(path)
    if isinstance(steps, str):
        raise ValueError(steps)
    found = [data]
    for step in steps:
        found = [inner for value in found for inner in _inside(value, step)]
        if len(found) > MAX_FOUND:
            raise ValueError(f"it leads to more than {MAX_FOUND:,} values")
    return found


def _inside(value: Any, step: Any) -> list[Any]:
    if step is _EVERY:
        if isinstance(value, dict):
            return list(value.values())
        return value if isinstance(value, list) else []
    if isinstance(step, int):
        inside = isinstance(value, list) and -len(value) <= step < len(value)
        return [value[step]] if inside else []
    return [value[step]] if isinstance(value, dict) and step in value else []
