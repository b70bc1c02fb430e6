"""Whether a rule may fit what a call needs: the question of rules that deny or ask.

Such a rule fits unless it is certain that it does not. So a command of which it can't be told
what it runs fits every rule about commands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from skilleval.harness.permissions.command_rules import CommandPattern, folded
from skilleval.harness.permissions.model import Call
from skilleval.harness.permissions.mounts import mounted
from skilleval.harness.permissions.needs import Needs, needs_of
from skilleval.harness.permissions.places import place_of
from skilleval.harness.permissions.policy import PermissionPolicy
from skilleval.harness.permissions.rules import READING, WRITING, Rule, Rules
from skilleval.harness.permissions.units import Unit
from skilleval.harness.permissions.words import Word

__all__ = ["Fit", "first_fit", "fits", "readable"]

_MOST_OPTIONS = 8
_SEARCHING = ("Glob", "Grep")
"""Tools that leave out of a folder what may not be read."""


class Fit(NamedTuple):
    """A rule that fits, and what of the call it fits."""

    rule: Rule
    why: str


def first_fit(
    rules: Iterable[Rule], needs: Needs, policy: PermissionPolicy, *, leaving_out: bool = False
) -> Fit | None:
    """The first rule that may fit a call.

    With ``leaving_out``, a rule does not fit a search for what lies somewhere below the folder
    that is searched: the tool leaves it out (``readable``).
    """
    for rule in rules:
        why = _why(rule, needs, policy, leaving_out)
        if why:
            return Fit(rule, why)
    return None


def _why(rule: Rule, needs: Needs, policy: PermissionPolicy, leaving_out: bool) -> str:
    call = needs.call
    if not rule.what:
        return f"it is a call of {call.tool}" if rule.names(call.tool) else ""
    if needs.wrong:
        return ""
    if rule.tool == "Bash":
        return _command(rule.command, needs) if needs.command else ""
    if rule.tool in READING | WRITING:
        return _path(rule, needs, policy, leaving_out and call.tool in _SEARCHING)
    if rule.tool == "WebFetch":
        for host in needs.hosts:
            if host is None:
                return "it talks to a host that is not known"
            if rule.name.surely([host]):
                return f"it talks to {host}"
        return ""
    if not rule.names(call.tool):
        return ""
    key = "skill" if call.tool == "Skill" else "subagent_type"
    name = str(call.input.get(key) or "general-purpose")
    return f"it is about {name}" if rule.name.surely([name]) else ""


def fits(text: str, call: Call, policy: PermissionPolicy) -> bool:
    """Whether a rule may fit a call: for conditions of hooks, which are guards as well.

    Raises:
        InputError: it is no rule.
    """
    rule = Rule.parse(text)
    only = replace(policy, rules=Rules(ask=(rule,)))
    return first_fit([rule], needs_of(call, only), policy) is not None


def readable(policy: PermissionPolicy, tool: str = "Read") -> Callable[[str], bool] | None:
    """Tells of an absolute path whether no deny rule forbids reading it; None without such rules.

    For tools that look through whole folders: what is denied in a folder does not deny the
    search, it is left out of it.

    Args:
        policy: the rules; the path may be one that a sandbox shows.
        tool: which tool searches.
    """
    rules = [rule for rule in policy.rules.deny if rule.tool in ("Read", tool) and rule.what]
    if not rules:
        return None
    with mounted(policy.mounts):
        patterns = [policy.pattern(rule) for rule in rules]

    def may_read(path: str) -> bool:
        with mounted(policy.mounts):
            place = place_of(path, "/")
            return not any(each.possibly(place) for each in patterns)

    return may_read


# Commands


def _command(pattern: CommandPattern, needs: Needs) -> str:
    script = needs.shell.script
    if script.doubt:
        return f"it can't be told what the command runs: {script.doubt}"
    program = folded(pattern.program)
    for at, unit in enumerate(needs.units):
        if unit.anything:
            return f"it can't be told what `{unit.shown}` runs: {unit.doubt}"
        if unit.words and _unit(pattern, program, unit):
            where = f", within `{needs.units[unit.outer].shown}`" if unit.outer is not None else ""
            return f"it runs `{unit.shown}`{where}"
        if any(pattern.mentioned(text) for text in unit.code):
            return f"`{unit.shown}` mentions it in a program of its own"
        if pattern.program in needs.files_taken.get(at, ()):
            return f"`{unit.shown}` takes the file of {pattern.program}"
    return ""


def _unit(pattern: CommandPattern, program: str, unit: Unit) -> bool:
    """Whether a pattern may fit a command by any of its program's names."""
    words = unit.words
    if unit.program is None:
        return pattern.possibly(words, "")
    names = {name for name in unit.names if not program or folded(name) == program}
    shapes = _variants(words) if program else [words]
    if any(pattern.possibly(each, name) for each in shapes for name in names):
        return True
    return bool(names and program) and pattern.options_fit(list(words))


def _variants(words: tuple[Word, ...]) -> Iterator[tuple[Word, ...]]:
    """A command, and what it is without its first options: ``git -C x push`` is a push."""
    yield words
    if len(words) > 1 and (words[1].literal or "-").startswith("-"):
        for at in range(2, min(len(words), _MOST_OPTIONS) + 1):
            yield (words[0], *words[at:])


# Paths


def _path(rule: Rule, needs: Needs, policy: PermissionPolicy, leaving_out: bool) -> str:
    pattern = policy.pattern(rule)
    wanted = ("read", "both", "maybe") if rule.tool in READING else ("write", "both", "maybe")
    only = rule.tool if rule.tool in READING - {"Read"} else ""
    if only and only != needs.call.tool:
        return ""
    for touch in needs.touches:
        place = touch.place._replace(beneath=False) if leaving_out else touch.place
        if touch.how in wanted and pattern.possibly(place):
            verb = {"read": "reads", "write": "writes", "both": "changes"}
            return f"it {verb.get(touch.how, 'names')} {touch.place.shown}"
    return ""
