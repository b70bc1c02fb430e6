"""The other keys: license, compatibility, metadata, allowed-tools, and Claude Code's own."""

from __future__ import annotations

from collections.abc import Iterator

from skilleval.lint.contract import (
    BOOLEAN_WORDS,
    CLAUDE_CODE,
    MAX_COMPATIBILITY,
    PACKAGE,
    SKILLS_REF,
    SPEC,
)
from skilleval.lint.model import Edit, Fix, Problem, Target, errors, notes, warnings
from skilleval.lint.registry import rule
from skilleval.lint.rules.files import GOOD
from skilleval.lint.wording import listing, quoted, shorten
from skilleval.skill import Field, Skill, Span
from skilleval.skill.tools import split_tools, tool_names
from skilleval.skill.yamltree import Alias, Mapping, Node, Scalar, Sequence


def _with(lines: str) -> str:
    return GOOD.replace("---\n\n", f"{lines}\n---\n\n", 1)


def _quote(entry: Field, label: str) -> Fix | None:
    value = entry.value
    if not isinstance(value, Scalar) or value.tag or value.anchor or value.start == value.end:
        return None
    return Fix(f"quote {label}", (Edit(entry.span, quoted(value.value)),), safe=True)


@rule(
    "license-type",
    "fields",
    why="The license is a text: a name, or that of a bundled file.",
    levels=errors(Target.SPEC),
    source=SPEC,
    bad=_with("license: [MIT, Apache-2.0]"),
    good=_with("license: MIT"),
)
def license_type(skill: Skill) -> Iterator[Problem]:
    """A license that is no text."""
    entry = skill.front.fields.get("license")
    if entry and entry.kind != "string":
        yield Problem(
            f"license is a {entry.kind}, not text", entry.span, fix=_quote(entry, "the license")
        )


@rule(
    "compatibility-length",
    "fields",
    why="Compatibility is a text of 1 to 500 characters.",
    levels=errors(Target.SPEC, Target.PACKAGE),
    source=(SPEC, PACKAGE),
    bad=_with("compatibility: " + "Needs poppler. " * 40),
    good=_with("compatibility: Needs poppler."),
)
def compatibility_length(skill: Skill) -> Iterator[Problem]:
    """Empty, too long, or no text."""
    entry = skill.front.fields.get("compatibility")
    if not entry:
        return
    if entry.kind != "string":
        yield Problem(
            f"compatibility is {'empty' if entry.kind == 'null' else 'a ' + entry.kind}, not text",
            entry.span,
            fix=_quote(entry, "the value"),
        )
        return
    length = len(entry.text or "")
    if length == 0:
        yield Problem("compatibility is empty; fill it in or remove the key", entry.span)
    elif length > MAX_COMPATIBILITY:
        yield Problem(
            f"compatibility is {length:,} of {MAX_COMPATIBILITY} characters; shorten it", entry.span
        )


@rule(
    "metadata-type",
    "fields",
    why="Metadata is a map of keys to values.",
    levels=errors(Target.SPEC, Target.CLAUDE_CODE),
    source=(SPEC, CLAUDE_CODE),
    bad=_with("metadata: version 1"),
    good=_with('metadata:\n  version: "1"'),
)
def metadata_type(skill: Skill) -> Iterator[Problem]:
    """Metadata that is a text or a list; an empty one is a warning."""
    entry = skill.front.fields.get("metadata")
    if not entry or entry.kind == "map":
        return
    if entry.kind == "null":
        yield Problem(
            "metadata is empty; fill it in or remove the key",
            entry.span,
            levels=warnings(Target.SPEC),
        )
    else:
        yield Problem(f"metadata is a {entry.kind}; write keys with values", entry.span)


@rule(
    "metadata-values",
    "fields",
    why="The specification wants text for every metadata value. Its reference library reads "
    "numbers and dates as text, other readers hand them on as YAML types them; lists and maps "
    "it does not allow, and Claude Code does.",
    levels=errors(Target.SPEC),
    source=(SPEC, SKILLS_REF, CLAUDE_CODE),
    bad=_with("metadata:\n  author:\n    name: Ada"),
    good=_with('metadata:\n  author: Ada\n  version: "1.0"'),
)
def metadata_values(skill: Skill) -> Iterator[Problem]:
    """Lists and maps are errors; numbers, booleans and dates warnings with quotes as the fix."""
    entry = skill.front.fields.get("metadata")
    root = entry.resolved if entry else None
    if not isinstance(root, Mapping):
        return
    for key, value in root.pairs:
        label = f"metadata.{key.value if isinstance(key, Scalar) else '?'}"
        if isinstance(value, Alias) or (isinstance(value, Scalar) and value.kind == "string"):
            continue
        span = Span(value.start, value.end) if value.end > value.start else Span(key.start, key.end)
        if isinstance(value, Scalar):
            yield _typed_scalar(label, value, span)
        else:
            kind = "map" if isinstance(value, Mapping) else "list"
            yield Problem(
                f"{shorten(label)} is a {kind}: the specification allows text only, Claude Code "
                "any map",
                Span(key.start, key.end),
            )


def _typed_scalar(label: str, value: Scalar, span: Span) -> Problem:
    if value.kind == "null":
        return Problem(f"{shorten(label)} is empty", span, levels=warnings(Target.SPEC))
    fix = None
    if not value.tag and not value.anchor:
        fix = Fix("quote the value", (Edit(span, quoted(value.value)),), safe=True)
    article = "an" if value.kind == "integer" else "a"
    return Problem(
        f"{shorten(label)} is {article} {value.kind} in YAML: the specification wants text (its "
        f'reference library reads any value as text); quote it ("{shorten(value.value)}")',
        span,
        levels=warnings(Target.SPEC),
        fix=fix,
    )


@rule(
    "allowed-tools-format",
    "fields",
    why="The specification wants a space-separated text. Claude Code takes commas and lists, too; "
    "a reader that splits at spaces takes a comma for part of a tool's name.",
    levels=errors(Target.SPEC),
    source=(SPEC, CLAUDE_CODE),
    bad=_with("allowed-tools: [Read, Grep]"),
    good=_with("allowed-tools: Read Bash(git add *) Grep"),
)
def allowed_tools_format(skill: Skill) -> Iterator[Problem]:
    """A list is an error, commas are a warning; parentheses that never close are both."""
    entry = skill.front.fields.get("allowed-tools")
    if not entry:
        return
    if entry.kind == "null":
        yield Problem("allowed-tools is empty", entry.span, levels=warnings(Target.SPEC))
        return
    if entry.kind not in ("string", "list"):
        yield Problem(
            f"allowed-tools is a {entry.kind}; write the tools as text, separated by spaces",
            entry.span,
            levels=errors(Target.SPEC, Target.CLAUDE_CODE),
        )
        return
    tools = tool_names(entry)
    value = entry.value
    if isinstance(value, Sequence):
        yield Problem(
            f"allowed-tools is a list ({listing(tools, 3)}): the specification wants a text "
            "separated by spaces; Claude Code takes both",
            entry.span,
            fix=_as_text(skill, value, tools),
        )
    elif isinstance(value, Scalar) and any(c in "()" for c in tools):
        yield Problem(
            "allowed-tools has a parenthesis that is never closed",
            entry.span,
            levels=errors(Target.SPEC, Target.CLAUDE_CODE),
        )
    elif isinstance(value, Scalar) and "," in _outside_parentheses(value.value):
        fix = None
        if value.style == "plain" and skill.document.text[value.start : value.end] == value.value:
            fix = Fix("separate with spaces", (Edit(entry.span, " ".join(tools)),), safe=True)
        yield Problem(
            f"allowed-tools is separated by commas ({len(tools)} tools): the specification wants "
            "spaces; Claude Code takes both",
            entry.span,
            levels=warnings(Target.SPEC),
            fix=fix,
        )


def _outside_parentheses(text: str) -> str:
    depth, kept = 0, []
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth <= 0:
            kept.append(character)
    return "".join(kept)


def _as_text(skill: Skill, value: Sequence, tools: list[str]) -> Fix | None:
    """A list written as a text: safe where nothing but the items stands in it."""
    text = skill.document.text[value.start : value.end]
    whole = all(isinstance(item, Scalar) for item in value.items)
    if not tools or not whole or any(split_tools(tool) != [tool] for tool in tools):
        return None
    joined = " ".join(tools)
    written = quoted(joined) if any(c in joined for c in ":#{}[]&*!|>'\"%@`") else joined
    if value.flow:
        edit = Edit(Span(value.start, value.end), written)
    else:
        after_key = skill.document.text.rfind(":", 0, value.start) + 1
        end = value.items[-1].end
        text = skill.document.text[after_key:end]
        edit = Edit(Span(after_key, end), " " + written)
    return Fix("write the tools as text", (edit,), safe="#" not in text)


@rule(
    "allowed-tools-unlimited",
    "safety",
    why="A tool in allowed-tools runs without asking. The whole shell, or every tool, leaves "
    "nothing to ask about.",
    levels=warnings(),
    source=CLAUDE_CODE,
    bad=_with("allowed-tools: Bash Read"),
    good=_with("allowed-tools: Bash(pdftotext *) Read"),
)
def allowed_tools_unlimited(skill: Skill) -> Iterator[Problem]:
    """``*``, ``Bash``, ``Bash(*)`` and the like."""
    entry = skill.front.fields.get("allowed-tools")
    if not entry:
        return
    tools = tool_names(entry)
    if any(tool in ("(", ")") for tool in tools):
        return  # what a parenthesis that never closes gives is not known
    for tool in tools:
        name, _, inside = tool.partition("(")
        unlimited = name == "*" or (
            name in ("Bash", "PowerShell") and inside.rstrip(")").strip() in ("", "*", ":*", "**")
        )
        if unlimited:
            yield Problem(
                f"allowed-tools gives {tool} without limits: any command runs without asking; "
                "name the commands, as in Bash(git add *)",
                entry.span,
            )
            return


_BOOLEANS = ("disable-model-invocation", "user-invocable", "background")
_CHOICES = {
    "effort": ("low", "medium", "high", "xhigh", "max"),
    "context": ("fork",),
    "shell": ("bash", "powershell"),
}
_TEXTS = ("when_to_use", "argument-hint", "model", "agent", "effort", "context", "shell")
_TEXTS_OR_LISTS = ("arguments", "paths", "disallowed-tools")


@rule(
    "claude-code-types",
    "fields",
    why="Claude Code ignores or refuses a key of its own whose value it does not understand.",
    levels=errors(Target.CLAUDE_CODE),
    source=CLAUDE_CODE,
    bad=_with("disable-model-invocation: maybe"),
    good=_with("disable-model-invocation: yes\neffort: high"),
)
def claude_code_types(skill: Skill) -> Iterator[Problem]:
    """Booleans, choices, texts, lists and maps among Claude Code's keys."""
    for name, entry in skill.front.fields.items():
        problem = None
        if name in _BOOLEANS:
            if (entry.text or "").lower() not in BOOLEAN_WORDS:
                problem = Problem(f"{name} is not yes or no: {_shown(entry.value)}", entry.span)
        elif name in _CHOICES and entry.kind == "string":
            if entry.text not in _CHOICES[name]:
                choices = ", ".join(_CHOICES[name])
                problem = Problem(
                    f"{name} is {_shown(entry.value)}, not one of: {choices}", entry.span
                )
        elif name in _TEXTS and entry.kind in ("list", "map"):
            hint = "" if entry.kind == "map" else "; quote it if the brackets are meant as text"
            problem = Problem(
                f"{name} is a {entry.kind}, not text{hint}",
                entry.span,
                levels=notes(Target.CLAUDE_CODE),
                fix=_quote_flow(skill, entry),
            )
        elif (name in _TEXTS_OR_LISTS and entry.kind == "map") or (
            name == "hooks" and entry.kind not in ("map", "null")
        ):
            wanted = "a map of events" if name == "hooks" else "a text or a list"
            problem = Problem(f"{name} is a {entry.kind}, not {wanted}", entry.span)
        if problem:
            yield problem


def _shown(node: Node) -> str:
    return shorten(node.value) if isinstance(node, Scalar) else "a list or a map"


def _quote_flow(skill: Skill, entry: Field) -> Fix | None:
    value = entry.value
    if not isinstance(value, Sequence) or not value.flow:
        return None
    text = skill.document.text[value.start : value.end]
    if "\n" in text:
        return None
    return Fix("quote the value", (Edit(entry.span, quoted(text)),), safe=True)
