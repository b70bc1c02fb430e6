"""What a call needs to be able to do, worked out from its input."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

from skilleval.harness.permissions.commands import Command, read_command
from skilleval.harness.permissions.filecommands import LOOKING, Use, uses
from skilleval.harness.permissions.hosts import host_of, hosts
from skilleval.harness.permissions.model import Call, Capability, Kind
from skilleval.harness.permissions.places import Place, place_of, places
from skilleval.harness.permissions.policy import PermissionPolicy
from skilleval.harness.permissions.rules import READING, WRITING
from skilleval.harness.permissions.units import Unit
from skilleval.harness.permissions.words import Word

__all__ = ["Needs", "Touch", "needs_of"]

_TEXTS: dict[str, tuple[str, ...]] = {
    "Bash": ("command",),
    "Read": ("file_path",),
    "Write": ("file_path",),
    "Edit": ("file_path",),
    "MultiEdit": ("file_path",),
    "NotebookEdit": ("notebook_path",),
    "NotebookRead": ("notebook_path",),
    "Glob": ("pattern",),
    "Skill": ("skill",),
    "WebFetch": ("url",),
}
"""What an input must hold for anything to be said about the call."""
_OPTIONAL = {"Glob": ("path",), "Grep": ("path",), "LS": ("path",), "Agent": ("subagent_type",)}


_KINDS: dict[str, tuple[Kind, ...]] = {
    "read": ("read",),
    "write": ("write",),
    "both": ("read", "write"),
    "maybe": (),
}


class Touch(NamedTuple):
    """A place that is read or written, ``maybe`` only, by a unit of a command or by the call."""

    how: Literal["read", "write", "both", "maybe"]
    place: Place
    unit: int = -1


@dataclass
class Needs:
    """What a call needs.

    Attributes:
        wrong: why the input can't be looked at; then there is nothing else.
        hosts: None stands for one that is not known.
    """

    call: Call
    wrong: str = ""
    command: Command | None = None
    touches: list[Touch] = field(default_factory=list)
    hosts: list[str | None] = field(default_factory=list)

    @property
    def shell(self) -> Command:
        """The command; only calls of Bash have one."""
        if self.command is None:
            raise ValueError("this call is no command")
        return self.command

    @property
    def units(self) -> list[Unit]:
        return self.command.script.units if self.command else []

    @cached_property
    def files_taken(self) -> dict[int, set[str]]:
        """The watched programs whose files a unit gets, so that it can copy or start them."""
        found: dict[int, set[str]] = {}
        for at, unit in enumerate(self.units):
            if unit.names & LOOKING and not unit.redirects:
                continue
            words = list(unit.words[1:])
            words += [redirect.word for redirect in unit.redirects if redirect.kind == "read"]
            texts = {(word.literal or "").rpartition("=")[2] for word in words}
            for folder in self.shell.folders or ():
                for text in texts:
                    if text and not text.startswith("-") and "\n" not in text:
                        names = self.shell.programs.twins(os.path.join(folder, text))
                        if names:
                            found.setdefault(at, set()).update(names)
        return found

    @property
    def opaque(self) -> str:
        """Why it can't be told what the command does; empty if it can."""
        if self.command is None:
            return ""
        if self.command.script.doubt:
            return self.command.script.doubt
        return next((unit.doubt for unit in self.units if unit.doubt and not unit.maybe), "")

    def capabilities(self) -> tuple[Capability, ...]:
        """Everything that is needed, each once, in order."""
        return tuple(dict.fromkeys(self._capabilities()))

    def _capabilities(self) -> Iterator[Capability]:
        call = self.call
        if self.wrong:
            return
        if self.command is None and not self.touches and not self.hosts:
            yield _named(call)
        for unit in self.units:
            if unit.maybe:
                continue
            if unit.words and not unit.local:
                program = unit.file or unit.words[0].shown
                yield Capability("unknown" if unit.program is None else "execute", program)
            for name, _ in unit.assigned:
                yield Capability("variable", name)
            if unit.doubt:
                yield Capability("unknown", f"{unit.shown}: {unit.doubt}")
        if self.command and self.command.script.doubt:
            yield Capability("unknown", self.command.script.doubt)
        for touch in self.touches:
            for kind in _KINDS[touch.how]:
                yield Capability(kind, touch.place.shown)
        for host in self.hosts:
            yield Capability("network", host or "…")


def _named(call: Call) -> Capability:
    if call.tool == "Skill":
        return Capability("skill", str(call.input["skill"]))
    if call.tool in ("Agent", "Task"):
        return Capability("agent", str(call.input.get("subagent_type") or "general-purpose"))
    return Capability("tool", call.tool)


def needs_of(call: Call, policy: PermissionPolicy) -> Needs:
    """What a call needs, as things are now: links are followed, programs are looked up."""
    needs = Needs(call, wrong=_wrong(call))
    if needs.wrong:
        return needs
    if call.tool == "Bash":
        _command(call.input["command"], policy, needs)
    elif call.tool in READING | WRITING:
        how: Literal["read", "write"] = "write" if call.tool in WRITING else "read"
        needs.touches.append(Touch(how, _place(call, policy)))
    elif call.tool == "WebFetch":
        needs.hosts.append(host_of(call.input["url"]))
    return needs


def _wrong(call: Call) -> str:
    """What is wrong with the input; every field that is looked at must be a proper text."""
    data: Any = call.input
    if not isinstance(data, Mapping):
        return "the input is no object"
    needed, more = _TEXTS.get(call.tool, ()), _OPTIONAL.get(call.tool, ())
    for key in (*needed, *more):
        value: Any = data.get(key)
        if value is None and key in more:
            continue
        if not isinstance(value, str) or (key in needed and not value.strip()):
            return f"{key} has to be a text"
        if "\0" in value:
            return f"{key} holds a zero byte"
    return ""


def _place(call: Call, policy: PermissionPolicy) -> Place:
    """The file or folder that a file tool is about."""
    key = "path" if call.tool in _OPTIONAL else _TEXTS[call.tool][0]
    text = call.input.get(key) or "."
    folder = policy.start
    if text == "~" or text.startswith("~/"):
        text = policy.home + text[1:]
    if call.tool == "Glob":
        pattern = call.input["pattern"]
        parts = os.path.join(text, pattern).split("/")
        count = next((i for i, part in enumerate(parts) if any(c in part for c in "*?[{")), None)
        text = "/".join(parts[:count]) or ("/" if parts[0] == "" else ".")
        if count is not None and ".." in parts[count:]:
            return Place("", "", True)
    place = place_of(text, folder)
    return place._replace(beneath=call.tool in ("Grep", "Glob", "LS") and _is_folder(place))


def _is_folder(place: Place) -> bool:
    return not os.path.isfile(place.real)


def _command(text: str, policy: PermissionPolicy, needs: Needs) -> None:
    rules = policy.rules
    watched = [
        rule.command.program
        for rule in (*rules.deny, *rules.ask)
        if rule.tool == "Bash" and rule.what and rule.command.program
    ]
    command = read_command(
        text, start=policy.start, home=policy.home, path=policy.path, watched=watched
    )
    needs.command = command
    needs.hosts += dict.fromkeys(host for unit in command.script.units for host in hosts(unit))
    seen: set[Use] = set()
    found: dict[tuple[Word, bool], list[Place]] = {}
    for at, unit in enumerate(command.script.units):
        for use in uses(unit):
            if use in seen and use.how in ("read", "maybe"):
                continue  # said before, by a command around this one, or another like it
            seen.add(use)
            key = (use.word, use.beneath)
            if key not in found:
                found[key] = places(use.word, command.folders, use.beneath)
            needs.touches += [Touch(use.how, place, at) for place in found[key]]
    _own_programs(needs)


def _own_programs(needs: Needs) -> None:
    """Programs that the command itself puts where they are started from can be anything."""
    copiers = {"cp", "mv", "ln", "install", "dd", "rsync", "tee", "cat"}
    written: set[str] = set()
    for touch in needs.touches:
        if touch.unit < 0 or touch.how not in ("write", "both"):
            continue
        unit = needs.units[touch.unit]
        if unit.names & copiers or not unit.words or unit.redirects:
            written.add("" if touch.place.open else os.path.basename(touch.place.path))
            if os.path.isdir(touch.place.real) and unit.names & copiers:
                written |= {os.path.basename(word.literal or "") for word in unit.words}
    if not written:
        return
    for unit in needs.units:
        program = unit.program or ""
        made = os.path.basename(program) in written or ("" in written and "/" in program)
        if program and made and not (unit.file and "/" not in program):
            unit.question("the command itself may have made this program", anything=True)
