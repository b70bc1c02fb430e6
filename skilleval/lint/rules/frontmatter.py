"""The frontmatter as a block of YAML: delimiters, syntax, bounds, keys."""

from __future__ import annotations

import re
from collections.abc import Iterator

from skilleval.lint.contract import (
    CLAUDE_CODE,
    PACKAGE,
    SKILLEVAL,
    SKILLS_REF,
    SPEC,
    YAML,
)
from skilleval.lint.model import Edit, Fix, Problem, Target, errors, notes, warnings
from skilleval.lint.registry import rule
from skilleval.lint.rules.files import GOOD
from skilleval.lint.wording import quoted, shorten
from skilleval.skill import Skill, Span, State
from skilleval.skill.yamltree import (
    Alias,
    Mapping,
    Node,
    Scalar,
    Sequence,
    YamlProblem,
    parse,
    walk,
)

_LEVELS = errors(Target.SPEC, Target.API, Target.PACKAGE) | warnings(Target.CLAUDE_CODE)
_UNCLOSED_LIKE = re.compile(r"(?m)^(?:\.\.\.|-{2}|-{4,}|—+|\*\*\*|===+)[ \t]*$")
_TOP_LEVEL_LINE = re.compile(r"""(?P<key>[\w"'-]+[ \t]*:[ \t]+)(?P<value>\S[^\r\n]*)""")
_MAX_EXPANSION = 1_000


@rule(
    "frontmatter-missing",
    "frontmatter",
    why="Without frontmatter a skill has no name and no description: a model can't find it.",
    levels=_LEVELS,
    source=(SPEC, PACKAGE, CLAUDE_CODE),
    bad="# PDF tools\n\nRun `pdftotext` on the file.\n",
    good=GOOD,
)
def frontmatter_missing(skill: Skill) -> Iterator[Problem]:
    """No frontmatter, or one in a code fence."""
    first = skill.document.line_at(0)
    if skill.front.state is State.FENCED:
        yield Problem(
            "the frontmatter stands in a code fence, so no reader sees it; take the fence away",
            first,
        )
    elif skill.front.state is State.MISSING:
        dashes = skill.document.line_text(0).strip()
        hint = ""
        if len(dashes) > 1 and not dashes.strip("-—–"):
            hint = f" (line 1 is {dashes}, the delimiter is exactly three hyphens)"
        yield Problem(
            f"no frontmatter{hint}: the file must start with a --- line, name, description and "
            "a closing --- line; Claude Code lists such a skill with its first line",
            first,
        )


@rule(
    "frontmatter-late",
    "frontmatter",
    why="Readers look for frontmatter on the very first line and nowhere else.",
    levels=_LEVELS,
    source=(SPEC, PACKAGE, CLAUDE_CODE),
    bad="\n" + GOOD,
    good=GOOD,
)
def frontmatter_late(skill: Skill) -> Iterator[Problem]:
    """Something stands above the opening delimiter."""
    if skill.front.state is not State.LATE:
        return
    text = skill.document.text
    opening = text.rfind("---", 0, skill.front.block.start)
    above = text[:opening]
    fix = None
    if not above.strip("\ufeff \t\r\n"):
        fix = Fix("remove the blank lines above", (Edit(Span(0, opening), ""),), safe=True)
    line = skill.document.position(opening).line
    yield Problem(
        f"frontmatter does not start on line 1 but on line {line}; nothing may stand above it",
        Span(opening, opening + 3),
        fix=fix,
    )


@rule(
    "frontmatter-unclosed",
    "frontmatter",
    why="Without its closing line the frontmatter is not found, and metadata and instructions "
    "run together.",
    levels=_LEVELS,
    source=(SPEC, PACKAGE, CLAUDE_CODE),
    bad=GOOD.replace("PDF.\n---", "PDF.\n"),
    good=GOOD,
)
def frontmatter_unclosed(skill: Skill) -> Iterator[Problem]:
    """The opening delimiter has no closing one."""
    if skill.front.state is not State.UNCLOSED:
        return
    text = skill.document.text
    like = _UNCLOSED_LIKE.search(text, skill.front.block.start)
    if like:
        span, fix = Span(*like.span()), Fix("close it with ---", (Edit(Span(*like.span()), "---"),))
        line = skill.document.position(like.start()).line
        hint = f" (line {line} is {like[0].strip()}, which closes nothing)"
    else:
        span, fix, hint = skill.document.line_at(0), None, ""
    yield Problem(
        f"frontmatter never closed{hint}: end it with a line of exactly three hyphens",
        span,
        fix=fix,
    )


@rule(
    "yaml-error",
    "frontmatter",
    why="Metadata that is no YAML is lost: Claude Code loads such a skill with none, the others "
    "refuse it.",
    levels=errors(),
    source=(YAML, CLAUDE_CODE),
    bad=GOOD.replace("Use when the user asks", "Use when: the user asks"),
    good=GOOD,
)
def yaml_error(skill: Skill) -> Iterator[Problem]:
    """The frontmatter can't be parsed."""
    problem = skill.front.problem
    if problem is None or problem.kind != "syntax":
        return
    document = skill.document
    line = document.line_at(problem.offset)
    if "\t" in document.text[line.start : problem.offset + 1] and "start any token" in (
        problem.message
    ):
        yield Problem(
            "YAML error: a tab where YAML wants spaces; indent with spaces",
            Span(problem.offset, problem.offset + 1),
        )
        return
    above = document.line_at(max(line.start - 1, 0))
    fix = _quote_value(skill, line) or _quote_value(skill, above)
    hint = _hint(skill, problem)
    remedy = "; put the value in quotes" if fix else ""
    yield Problem(
        f"YAML error: {hint or problem.message}{remedy}",
        Span(
            problem.offset,
            min(problem.offset + 1, line.end) if line.end > problem.offset else problem.offset,
        ),
        fix=fix,
    )


def _hint(skill: Skill, problem: YamlProblem) -> str:
    """What the parser's words mean for the author."""
    text = skill.document.text
    if problem.message.startswith("mapping values") and text[
        problem.offset : problem.offset + 1
    ] in (
        ":",
        "",
    ):
        return 'a colon followed by a space (": ") in an unquoted value starts a new key'
    if "did not find expected ',' or ']'" in problem.message:
        return "a value that starts with [ is a list, and this one is never closed properly"
    if "cannot start any token" in problem.message:
        character = text[problem.offset : problem.offset + 1]
        return f"an unquoted value can't start with {character}"
    return ""


def _quote_value(skill: Skill, line: Span) -> Fix | None:
    """Quote the value on a line, if that alone makes the frontmatter readable."""
    text = skill.document.text
    match = _TOP_LEVEL_LINE.match(text, line.start, line.end)
    if not match or line.start < skill.front.block.start:
        return None
    value = match["value"].rstrip()
    if value[0] == value[-1] and value[0] in "\"'" and len(value) > 1:
        value = value[1:-1]  # quoted already, with quotes inside
        if match["value"].startswith("'"):
            value = value.replace("''", "'")
    begin = match.start("value")
    edit = Edit(Span(begin, begin + len(match["value"].rstrip())), quoted(value))
    start, end = skill.front.block
    repaired = text[start : edit.span.start] + edit.text + text[edit.span.end : end]
    try:
        root = parse(repaired)
    except YamlProblem:
        return None
    if not isinstance(root, Mapping):
        return None
    return Fix("put the value in quotes", (edit,), safe=True)


@rule(
    "yaml-bounds",
    "frontmatter",
    why="Frontmatter that nests deep, runs long or explodes through aliases is an attack on "
    "whoever reads it, or a mistake.",
    levels=errors(),
    source=SKILLEVAL,
    bad=GOOD.replace("---\n\n", "metadata: " + "[" * 40 + "]" * 40 + "\n---\n\n", 1),
    good=GOOD,
)
def yaml_bounds(skill: Skill) -> Iterator[Problem]:
    """Nesting, size, and what aliases would grow to."""
    problem = skill.front.problem
    if problem is not None:
        if problem.kind in ("depth", "size"):
            end = min(problem.offset + 1, len(skill.document.text))
            yield Problem(
                f"frontmatter: {problem.message}; keep it small and flat", Span(problem.offset, end)
            )
        return
    if skill.front.root is not None:
        size, alias = _expanded(skill.front.root)
        if alias is not None and size > _MAX_EXPANSION:
            yield Problem(
                f"aliases make the frontmatter grow to over {_MAX_EXPANSION:,} values; write the "
                "values out, without aliases",
                Span(alias.start, alias.end),
            )


def _expanded(root: Node) -> tuple[int, Alias | None]:
    """How many values the tree has with its aliases written out (up to just over the bound).

    Also the last alias. Anchors stand before their aliases, so one pass in the order of the
    file knows the size of whatever an alias stands for.
    """
    sizes: dict[str, int] = {}
    last: Alias | None = None

    def size(node: Node) -> int:
        if isinstance(node, Alias):
            return sizes.get(node.name, 1)
        if isinstance(node, Scalar):
            return 1
        children = node.items if isinstance(node, Sequence) else [n for p in node.pairs for n in p]
        return min(1 + sum(map(size, children)), _MAX_EXPANSION + 1)

    largest = 0
    for node in walk(root):
        if isinstance(node, Alias):
            last = node
        elif node.anchor:
            sizes[node.anchor] = size(node)
            largest = max(largest, sizes[node.anchor])
    return (max(largest, size(root)), last) if last else (0, None)


@rule(
    "yaml-tag",
    "frontmatter",
    why="A tag asks the reader to build an object of its choice: safe readers refuse the file, "
    "unsafe ones run it.",
    levels=errors(),
    source=(YAML, SKILLS_REF),
    bad=GOOD.replace("description: Ex", "description: !!python/name:os.system Ex"),
    good=GOOD,
)
def yaml_tag(skill: Skill) -> Iterator[Problem]:
    """An explicit tag other than the plain ones."""
    if skill.front.root is None:
        return
    for node in walk(skill.front.root):
        tag = None if isinstance(node, Alias) else node.tag
        if tag and tag not in _PLAIN_TAGS:
            shown = tag.replace("tag:yaml.org,2002:", "!!")
            yield Problem(
                f"YAML tag {shorten(shown)}: safe readers refuse it; write the plain value",
                Span(node.start, node.end),
            )


_PLAIN_TAGS = frozenset(
    f"tag:yaml.org,2002:{kind}"
    for kind in ("str", "int", "float", "bool", "null", "seq", "map", "timestamp", "binary", "set")
) | {"!"}


@rule(
    "yaml-portability",
    "frontmatter",
    why="The specification does not say which YAML it means; its reference library refuses "
    "anchors, tags and flow style, and YAML 1.1 and 1.2 read some words differently.",
    levels=notes(Target.SPEC),
    source=(SKILLS_REF, YAML),
    bad=GOOD.replace("---\n\n", "metadata: {area: documents}\n---\n\n", 1),
    good=GOOD.replace("---\n\n", "metadata:\n  area: documents\n---\n\n", 1),
)
def yaml_portability(skill: Skill) -> Iterator[Problem]:
    """Valid YAML that not every reader takes, one finding for each kind."""
    if skill.front.root is None:
        return
    said: set[str] = set()
    for node in walk(skill.front.root):
        kind = _portability(node)
        if kind and kind not in said:
            said.add(kind)
            yield Problem(
                f"valid YAML, but {kind}; quote or write it out in block style",
                Span(node.start, max(node.end, node.start + 1)),
            )


_NUMBER_12 = re.compile(r"[-+]?(?:\d+[eE][-+]?\d+|0o[0-7]+)\Z")


def _portability(node: Node) -> str:
    if isinstance(node, Alias) or node.anchor:
        return "skills-ref refuses anchors and aliases"
    if node.tag in _PLAIN_TAGS:
        return "skills-ref refuses tags"
    if not isinstance(node, Scalar):
        return "skills-ref refuses flow style ([...] and {...})" if node.flow else ""
    if node.style == "plain" and node.kind == "string" and _NUMBER_12.match(node.value):
        return f"{node.value} is text in YAML 1.1 and a number in YAML 1.2"
    return ""


@rule(
    "frontmatter-not-a-map",
    "frontmatter",
    why="Frontmatter is keys with values; a list or a plain text has no name and no description.",
    levels=errors(),
    source=(SPEC, PACKAGE, CLAUDE_CODE),
    bad="---\n- name\n- description\n---\n\nBody\n",
    good=GOOD,
)
def frontmatter_not_a_map(skill: Skill) -> Iterator[Problem]:
    """The YAML is a list or a single value."""
    root = skill.front.root
    if root is not None and not isinstance(root, Mapping):
        kind = "a list" if isinstance(root, Sequence) else "a single value"
        yield Problem(
            f"the frontmatter is {kind}; write it as keys with values", Span(root.start, root.end)
        )
