"""What a model gets when it loads a skill, as Claude Code writes it.

Facts measured on Claude Code 2.1.332. The text is the skill's folder, a blank line, and the
body. Arguments are put in for their placeholders first, in one pass; then the variables; what
is left over of the form of a shell command runs, wherever it came from. Nothing runs here: a
``Loaded`` names the commands, and takes in what they printed.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeGuard

from skilleval.prompt.arguments import SPACE, SPACES, split_arguments
from skilleval.prompt.listing import call_name, is_hidden, is_waiting, other_name
from skilleval.skill import Skill, State
from skilleval.skill import yamltree as yaml

__all__ = [
    "Loaded",
    "Preamble",
    "already_loaded",
    "find_skill",
    "forked",
    "launching",
    "load_skill",
    "loaded_again",
    "refusal",
    "shown_output",
]

_FRONT = re.compile(f"\ufeff?---(?=[{SPACE}]*\n)(?:[^-]++|-(?!--))*+---[{SPACE}]*+")
_COMMAND = re.compile(r"(?=(!`([^`]++)`))")
_CODE = re.compile(r"`[^`\n]++`")
"""What counts as code: a span of this form that ends behind a ``!`` holds that, not a command."""
_VARIABLE = re.compile(r"\$\{(CLAUDE_[A-Z_]+)\}")
_BANG = re.compile(f"(?<![^{SPACE}])!")
_MAX_NAMES, _MAX_NAME = 50, 100
"""Named arguments that are put in, and how long a name may be; the client has no bounds."""


class Preamble(NamedTuple):
    """A shell command that a skill wants to have run while it is loaded.

    Attributes:
        command: what the shell would get.
        start, end: what its output replaces, in the text without any output.
    """

    command: str
    start: int
    end: int


@dataclass(frozen=True)
class Loaded:
    """A skill's text with its arguments put in.

    Attributes:
        template: the text with its commands as they are written.
        commands: those commands, in the order of the text.
    """

    template: str
    commands: tuple[Preamble, ...]

    def text(self, outputs: Sequence[str] = ()) -> str:
        """The text as a model gets it.

        Args:
            outputs: what stands for each command, see ``shown_output``; a command that has
                none stays as it is written.
        """
        parts, end = [], 0
        for command, output in zip(self.commands, outputs, strict=False):
            parts += [self.template[end : command.start], output]
            end = command.end
        return "".join([*parts, self.template[end:]])


def load_skill(
    skill: Skill,
    arguments: str | None = None,
    *,
    session_id: str = "",
    plugin_root: str | None = None,
    variables: Mapping[str, str] | None = None,
) -> Loaded:
    """A skill as a model gets it.

    Args:
        skill: a skill.
        arguments: the ``args`` of the call; empty is the same as none.
        session_id: what ``${CLAUDE_SESSION_ID}`` stands for.
        plugin_root: what ``${CLAUDE_PLUGIN_ROOT}`` stands for; by default the folder of the
            skill's plugin. Without a plugin it stays as it is written.
        variables: what other ``${CLAUDE_…}`` stand for. The client knows CLAUDE_PROJECT_DIR,
            CLAUDE_EFFORT and, in a plugin, CLAUDE_PLUGIN_DATA.
    """
    front = _FRONT.match(skill.document.text)
    body = skill.document.text[front.end() :] if front else skill.document.text
    text = f"Base directory for this skill: {skill.folder}\n\n{body}"
    catalog = skill.found.catalog
    root = plugin_root or (catalog.folder if catalog.plugin else None)
    known = {"CLAUDE_SKILL_DIR": skill.folder, "CLAUDE_SESSION_ID": session_id}
    known |= {"CLAUDE_PLUGIN_ROOT": root} if root else {}
    known |= variables or {}
    text = _with_arguments(text, arguments or "", _argument_names(skill))
    text = _VARIABLE.sub(lambda found: known.get(found[1], found[0]), text)
    return Loaded(text, tuple(_commands(text)))


def shown_output(printed: str) -> str:
    """What stands for a command that printed something on either stream and did not fail."""
    lines = printed.rstrip(SPACE)
    start = len(lines) - len(lines.lstrip(SPACE))
    return lines[lines.rfind("\n", 0, start) + 1 :] or "(Bash completed with no output)"


def launching(called: str) -> str:
    """The tool's result; the text of the skill follows as a message of its own."""
    return f"Launching skill: {_plain(called)}"


def forked(called: str, report: str, *, failed: bool = False) -> str:
    """The tool's result where an agent has followed the instructions of a skill."""
    how = "did not complete" if failed else "completed"
    return f'Skill "{_plain(called)}" {how} (forked execution).\n\nResult:\n{report}'


def already_loaded(called: str, arguments: str | None = None) -> str:
    """What follows in place of a text that is the same as when the skill was loaded last."""
    said = f"Skill /{_plain(called)} is already loaded above; instructions unchanged."
    return f"{said} Arguments: {arguments}" if arguments else said


def loaded_again(called: str) -> str:
    """What stands, as a text of its own, before one that differs from the last."""
    return (
        f"(Re-invocation of /{_plain(called)} — the skill instructions were previously loaded; "
        "the arguments or dynamic output below are new.)\n"
    )


def find_skill(skills: Sequence[Skill], called: str) -> Skill | None:
    """The skill that a model means, or None where the client would refuse.

    A skill goes by its folder's name and by that of its frontmatter, in a plugin behind
    ``plugin:``. A plugin's skill goes by the bare name of its frontmatter, too, where no other
    skill of any plugin is called so. Of several skills the first is meant.
    """
    skill = _find(skills, _plain(called))
    return None if skill is None or is_hidden(skill) else skill


def refusal(skills: Sequence[Skill], called: str) -> str:
    """What a model is told of a name that stands for no skill it may load."""
    name = _plain(called)
    if _find(skills, name):
        return _error(
            f"Skill {name} cannot be used with Skill tool due to disable-model-invocation. Ask the "
            f"user to run /{name} themselves — it cannot be invoked via the Skill tool. Do not "
            "replicate this skill's workflow by other means — it is reserved for explicit user "
            "invocation."
        )
    if not called.strip(SPACE):
        return _error("Invalid skill format: ")
    close = [call_name(skill) for skill in _in_plugins(skills, name)]
    hint = ""
    if len(close) == 1:
        hint = f". Did you mean {close[0]}? Invoke it by that full name."
    elif close:
        full = ", ".join(close)
        hint = f". Several skills match that name: {full} — invoke one by its full name."
    return _error(f"Unknown skill: {name}{hint}")


def _error(message: str) -> str:
    return f"<tool_use_error>{message}</tool_use_error>"


def _plain(called: str) -> str:
    return called.strip(SPACE).removeprefix("/")


def _find(skills: Sequence[Skill], name: str) -> Skill | None:
    for name_of in (call_name, other_name):
        for skill in skills:
            if name and name_of(skill) == name and not _is_absent(skill):
                return skill
    close = _in_plugins(skills, name)
    alone = len(close) == 1 and other_name(close[0], bare=True) == name
    return close[0] if alone else None


def _in_plugins(skills: Sequence[Skill], name: str) -> list[Skill]:
    """The skills of plugins whose folder or frontmatter has a name."""
    if not name or ":" in name:
        return []
    inside = [skill for skill in skills if skill.found.catalog.plugin and not _is_absent(skill)]
    return [s for s in inside if name in (s.folder_name, other_name(s, bare=True))]


def _is_absent(skill: Skill) -> bool:
    """Whether the client does not know of a skill (yet)."""
    return bool(skill.trouble) or is_waiting(skill)


def _argument_names(skill: Skill) -> list[str]:
    """The names that frontmatter gives to arguments, by position."""
    field = skill.front.fields.get("arguments") if skill.front.state is State.OK else None
    if field is None:
        return []
    value = field.resolved
    if isinstance(value, yaml.Sequence):
        names = [item.value for item in value.items if _is_text(item)]
    else:
        names = SPACES.split(value.value) if _is_text(value) else []
    return [name for name in names if name.strip(SPACE) and not re.fullmatch("[0-9]+", name)]


def _is_text(node: yaml.Node) -> TypeGuard[yaml.Scalar]:
    """Whether a value is a string to YAML 1.2, where ``no`` and dates are."""
    if not isinstance(node, yaml.Scalar):
        return False
    words = ("yes", "no", "on", "off")
    return node.kind in ("string", "date") or node.value.lower() in words


def _with_arguments(text: str, arguments: str, names: Sequence[str]) -> str:
    """Put arguments in for their placeholders, or behind the text where it has none."""
    words = split_arguments(arguments)
    used = False

    def put(found: re.Match[str]) -> str:
        nonlocal used
        if found["escape"]:
            return "$"
        if found["name"] is not None:
            index = names.index(found["name"])
            value = words[index] if index < len(words) else ""
        elif digits := found["item"] or found["short"]:
            index = int(digits) if len(digits) < 10 else len(words)
            if index >= len(words):
                return found[0]
            value = words[index]
        else:
            value = arguments
        used = True
        return _harmless(value)

    text = _placeholders(names).sub(put, text)
    return text if used or not arguments else f"{text}\n\nARGUMENTS: {_harmless(arguments)}"


def _placeholders(names: Sequence[str]) -> re.Pattern[str]:
    short = [name for name in names[:_MAX_NAMES] if len(name) <= _MAX_NAME]
    longest_first = "|".join(map(re.escape, sorted(short, key=len, reverse=True)))
    name = rf"(?:{longest_first or '(?!)'})(?![\[\w])"
    return re.compile(
        rf"(?P<escape>(?<!\\)\\\$(?=ARGUMENTS|[0-9]|{name}))|\$(?:(?P<name>{name})"
        r"|ARGUMENTS(?:\[(?P<item>[0-9]++)\])?|(?P<short>[0-9]++)(?!\w))",
        re.ASCII,
    )


def _harmless(value: str) -> str:
    """An argument in which nothing looks like a shell command."""
    return _BANG.sub(r"\\!", value.replace("`!", "` !").replace("!`", "! `"))


def _commands(text: str) -> Iterator[Preamble]:
    """The commands of a text; of two that overlap, the first."""
    end = 0
    for command in sorted([*_blocks(text), *_inline(text)], key=lambda found: found.start):
        if command.start >= end:
            end = command.end
            yield command


def _blocks(text: str) -> Iterator[Preamble]:
    start = text.find("```!")
    while start >= 0:
        close = text.find("```", start + 4)
        if close < 0:
            return
        if command := text[start + 4 : close].strip(SPACE):
            yield Preamble(command, start, close + 3)
        start = text.find("```!", close + 3)


def _inline(text: str) -> Iterator[Preamble]:
    """Commands between backticks, behind white space and outside code.

    A command's output replaces the first place where its text stands, be it one that does
    not count itself.
    """
    candidates = list(_COMMAND.finditer(text))
    places: dict[str, deque[int]] = {}
    for found in candidates:
        places.setdefault(found[1], deque()).append(found.start())
    code = {span.end() - 2 for span in _CODE.finditer(text) if text[span.start() - 1] != "`"}
    end = 0
    for found in candidates:
        start = found.start()
        if start < end or text[start - 1] not in SPACE or start in code:
            continue
        end = found.end(1)
        if command := found[2].strip(SPACE):
            place = places[found[1]].popleft()
            yield Preamble(command, place, place + len(found[1]))
