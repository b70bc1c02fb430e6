"""A look at a skill's evaluation files: how many cases, what kind, and can they be graded?

This is no reader: it knows just enough of the formats in use to count. A file of a shape
that it does not know is left alone.
"""

from __future__ import annotations

import json
import posixpath
import re
from typing import Any, NamedTuple

from skilleval.skill import Document
from skilleval.skill.yamltree import Mapping, Node, Scalar, Sequence, YamlProblem, parse

__all__ = ["Case", "is_evaluation_file", "look_at"]

_NAME = re.compile(
    r"(?:.*/)?(?:evals?|trigger[_-](?:evals?|tests)|shared-benchmark)\.(?:json|ya?ml)\Z"
    r"|(?:evals|evaluations)/[^/]+\.(?:json|ya?ml)\Z"
)
_MAX_VALUES = 200_000
_LISTS = ("evals", "cases", "scenarios", "tasks", "evaluations", "tests")
_PROMPT_LISTS = (
    ("should_trigger_prompts", False),
    ("positive", False),
    ("should_not_trigger_prompts", True),
    ("negative", True),
)
_QUERIES = ("query", "prompt", "question", "instruction", "inputs", "turns")
_GRADES = (
    "expected_behavior",
    "expectations",
    "assertions",
    "checks",
    "rubric",
    "graders",
    "should_trigger",
    "expected_skill",
    "expect_activation",
    "must_not",
    "must_trigger",
    "deterministic_assertions",
    "expected_script",
    "expected",
    "expected_references",
)


class Case(NamedTuple):
    """One case: what it asks, whether the skill must stay out, and whether it can be graded."""

    query: str
    negative: bool
    gradeable: bool


def is_evaluation_file(name: str) -> bool:
    """Whether a path inside a skill folder is one that evaluations live at."""
    return bool(_NAME.match(name)) and "/files/" not in name and "/fixtures/" not in name


def look_at(document: Document) -> list[Case] | str | None:
    """The cases of a file; a message when it is broken; None when its shape is unknown."""
    text = document.text.removeprefix("\ufeff")
    if not text.strip():
        return "the file is empty"
    try:
        if posixpath.splitext(document.name)[1] == ".json":
            data = json.loads(text)
        else:
            root = parse(text, max_nodes=_MAX_VALUES)
            data = _plain(root) if root is not None else None
    except ValueError as error:
        return f"no JSON: {error}"
    except YamlProblem as problem:
        return f"no YAML: {problem.message}, line {document.position(problem.offset).line}"
    except RecursionError:
        return "nested too deep to read"
    return _cases(data)


def _plain(node: Node) -> Any:
    """A tree as plain values; an alias counts as nothing, so nothing can grow."""
    if isinstance(node, Scalar):
        if node.kind == "null":
            return None
        if node.kind == "boolean":
            return node.value.lower() in ("true", "yes", "on", "y")
        return node.value
    if isinstance(node, Sequence):
        return [_plain(item) for item in node.items]
    if isinstance(node, Mapping):
        return {k.value: _plain(v) for k, v in node.pairs if isinstance(k, Scalar)}
    return None


def _cases(data: Any) -> list[Case] | None:
    if isinstance(data, dict):
        if any(isinstance(data.get(key), list) for key, _ in _PROMPT_LISTS):
            return _prompts(data)
        for key in _LISTS:
            if isinstance(data.get(key), list):
                shared = bool(data.get("graders"))
                return [_case(c, shared) for c in data[key] if isinstance(c, dict)]
        return [_case(data)] if any(key in data for key in _QUERIES) else None
    if isinstance(data, list):
        return [_case(case) for case in data if isinstance(case, dict)]
    return None


def _prompts(data: dict[str, Any]) -> list[Case]:
    found = []
    for key, negative in _PROMPT_LISTS:
        prompts = data.get(key)
        for prompt in prompts if isinstance(prompts, list) else []:
            query = prompt.get("prompt") if isinstance(prompt, dict) else prompt
            found.append(Case(str(query), negative, True))
    return found


def _case(case: dict[str, Any], shared_graders: bool = False) -> Case:
    query = next((case[key] for key in _QUERIES if case.get(key)), "")
    negative = (
        case.get("should_trigger") is False
        or case.get("expect_activation") is False
        or ("expected_skill" in case and case["expected_skill"] is None)
        or case.get("skills") == []
        or (
            isinstance(case.get("expected"), dict)
            and case["expected"].get("should_trigger") is False
        )
    )
    gradeable = shared_graders or any(_present(case, key) for key in _GRADES)
    return Case(str(query), negative, gradeable)


def _present(case: dict[str, Any], key: str) -> bool:
    value = case.get(key, "")
    if key in ("should_trigger", "expected_skill", "expect_activation") and key in case:
        return True
    return value not in ("", None, [], {})
