"""Permission rules as Claude Code's ``settings.json`` has them, and what they are about.

A rule is ``Tool`` or ``Tool(what)``. What can't be read is an error and never a rule that fits
nothing: a rule that denies nothing would look like one that does.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from skilleval.errors import InputError
from skilleval.harness.permissions.command_rules import CommandPattern
from skilleval.harness.permissions.model import Mode
from skilleval.harness.permissions.wildcard import Wildcard
from skilleval.skill.disk import TooLarge, read

__all__ = [
    "READING",
    "WRITING",
    "PermissionSettings",
    "Rule",
    "Rules",
    "read_permissions",
    "visible_tools",
]

READING = frozenset({"Read", "Grep", "Glob", "LS", "NotebookRead"})
WRITING = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
_NAMED = frozenset({"Skill", "Agent", "Task"})
_FORM = re.compile(r"([A-Za-z_*][\w.*-]*)(?:\((.*)\))?", re.DOTALL)
_LARGEST = 1024 * 1024


@dataclass(frozen=True)
class Rule:
    """One rule.

    Attributes:
        text: as it is written.
        tool: the name before the parentheses, which may have wildcards.
        what: what stands in the parentheses; empty for a bare name.
        base: the folder that ``/path`` is relative to; empty for the workspace.
    """

    text: str
    tool: str
    what: str = ""
    base: str = ""

    @classmethod
    def parse(cls, text: str, base: str = "") -> Rule:
        """Read a rule.

        Raises:
            InputError: it is none, or none that can be followed.
        """
        match = _FORM.fullmatch(text.strip()) if isinstance(text, str) else None
        if match is None:
            raise _wrong(text, "a rule is a tool's name, or Tool(what)")
        tool, what = match[1], match[2]
        if what is not None and not what.strip():
            raise _wrong(text, "there is nothing between the parentheses")
        rule = cls(text.strip(), tool, "" if what in (None, "*", ":*") else str(what), base)
        rule._check()
        return rule

    def _check(self) -> None:
        """Raise an error where the rule can't be followed."""
        if not self.what:
            if "*" in self.tool and not re.fullmatch(r"\*|mcp__[\w.*-]+", self.tool):
                raise _wrong(self.text, "only names of MCP tools may have wildcards")
        elif self.tool == "Bash":
            try:
                _ = self.command
            except ValueError as why:
                raise _wrong(self.text, str(why)) from None
        elif self.tool in READING | WRITING:
            if self.what.startswith("!"):
                raise _wrong(self.text, "a pattern can't be an exception to itself")
            if "\0" in self.what or not self.what.strip("/. "):
                raise _wrong(self.text, "this is no pattern for paths; all files are //**")
        elif self.tool == "WebFetch":
            if not re.fullmatch(r"domain:[^\s/:*]*\*?[^\s/:*]+", self.what):
                raise _wrong(self.text, "it takes domain:HOST")
        elif self.tool not in _NAMED:
            raise _wrong(self.text, f"{self.tool} takes nothing in parentheses")

    @cached_property
    def command(self) -> CommandPattern:
        """What a rule of Bash says of a command."""
        return CommandPattern(self.what)

    @cached_property
    def _tool(self) -> Wildcard:
        return Wildcard([None if letter == "*" else letter for letter in self.tool])

    def names(self, tool: str) -> bool:
        """Whether it is about a tool: one of this name, or one of this MCP server."""
        if tool == self.tool or {tool, self.tool} == {"Agent", "Task"}:
            return True
        if "*" in self.tool:
            return self._tool.surely([tool])
        return bool(re.fullmatch(r"mcp__(?:(?!__).)+", self.tool)) and tool.startswith(
            f"{self.tool}__"
        )

    @cached_property
    def name(self) -> Wildcard:
        """The name of a skill, of a type of agent, or of a host, with its wildcards."""
        text = self.what.removeprefix("domain:") if self.tool == "WebFetch" else self.what
        text = re.sub(r":\*$| \*$", "*", text.strip())
        return Wildcard([None if letter == "*" else letter for letter in text])

    def path(self, folder: str, home: str) -> tuple[str, str, bool]:
        """The pattern for paths, the folder it is relative to, and whether the user named it."""
        text = self.what.strip()
        if text.startswith("//"):
            return text[1:], "/", True
        if text.startswith("~/"):
            return text[1:], home, True
        if text.startswith("/"):
            return text, self.base or folder, False
        if text.startswith("./"):
            return text[1:], folder, False
        if text.startswith("../"):
            return os.path.normpath(os.path.join(folder, text)), "/", True
        return text, folder, False


def _wrong(text: object, why: str) -> InputError:
    return InputError(
        f"{text!r} is no permission rule: {why}",
        remedy="Rules look like Bash(git diff:*), Read(./secrets/**), mcp__server__tool, Skill(x).",
    )


@dataclass(frozen=True)
class Rules:
    """What is denied, what is asked about, what is allowed."""

    deny: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    allow: tuple[Rule, ...] = ()

    @classmethod
    def parse(
        cls,
        deny: Iterable[str] = (),
        ask: Iterable[str] = (),
        allow: Iterable[str] = (),
        *,
        base: str = "",
    ) -> Rules:
        """Read rules.

        Raises:
            InputError: one of them is none.
        """
        allowed = tuple(Rule.parse(each, base) for each in allow)
        for rule in allowed:
            if rule.tool.startswith("*") or re.fullmatch(r"mcp__\**", rule.tool):
                raise _wrong(rule.text, "to allow every tool is what a mode is for")
        return cls(
            tuple(Rule.parse(each, base) for each in deny),
            tuple(Rule.parse(each, base) for each in ask),
            allowed,
        )

    def __add__(self, other: Rules) -> Rules:
        """The rules of both."""
        return Rules(self.deny + other.deny, self.ask + other.ask, self.allow + other.allow)


def visible_tools(names: Iterable[str], rules: Rules) -> list[str]:
    """The tools that a model is shown: all but those that are denied whatever they are given."""
    bare = [rule for rule in rules.deny if not rule.what]
    return [name for name in names if not any(rule.names(name) for rule in bare)]


class PermissionSettings(NamedTuple):
    """The ``permissions`` of a settings file."""

    rules: Rules
    mode: Mode | None
    additional_directories: tuple[str, ...]


def read_permissions(path: str) -> PermissionSettings:
    """Read the ``permissions`` of a ``settings.json``; other settings are passed over.

    ``/path`` in its rules, and relative additional directories, are relative to the folder of
    the file, or to the one above if that is called ``.claude``.

    Raises:
        InputError: the file or a rule in it can't be read.
    """
    try:
        settings = json.loads(read(path, _LARGEST, follow=True).decode("utf-8-sig"))
    except TooLarge:
        settings = None
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is no JSON: {error}") from None
    if not isinstance(settings, Mapping):
        raise InputError(f"{path} is no settings file: an object of at most 1 MiB is expected")
    permissions = settings.get("permissions", {})
    if not isinstance(permissions, Mapping):
        raise InputError(f"{path}: permissions is no object")
    folder = os.path.dirname(os.path.abspath(path))
    base = os.path.dirname(folder) if os.path.basename(folder) == ".claude" else folder
    lists = {key: _texts(permissions, key, path) for key in ("deny", "ask", "allow")}
    try:
        rules = Rules.parse(**lists, base=base)
        mode = Mode(permissions["defaultMode"]) if "defaultMode" in permissions else None
    except InputError as error:
        raise InputError(f"{path}: {error.message}", remedy=error.remedy) from None
    except ValueError:
        modes = ", ".join(Mode)
        raise InputError(f"{path}: defaultMode is none of {modes}") from None
    more = _texts(permissions, "additionalDirectories", path)
    folders = tuple(os.path.join(base, os.path.expanduser(each)) for each in more)
    return PermissionSettings(rules, mode, folders)


def _texts(permissions: Mapping[str, Any], key: str, path: str) -> list[str]:
    value = permissions.get(key, [])
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InputError(f"{path}: permissions.{key} is no list of texts")
    return value
