"""The instructions: present, of a sane length, lasting, and without loose ends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from skilleval.lint.contract import MAX_BODY_LINES, MAX_BODY_TOKENS, PRACTICE, SKILLEVAL, tokens
from skilleval.lint.marks import Marks
from skilleval.lint.model import Edit, Fix, Problem, warnings
from skilleval.lint.registry import rule
from skilleval.lint.rules.files import GOOD
from skilleval.lint.wording import listing, plural, shorten
from skilleval.skill import Skill, Span, State

_MAX_REPEATS = 3
"""Findings of one rule in one file, where a hint is enough and a list is noise."""
_MAX_CANDIDATES = 200
"""Places that are looked at for those."""


def _body(text: str) -> str:
    return GOOD + "\n" + text + "\n"


def _prose(skill: Skill, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Matches in the body that do not stand in code."""
    for match in pattern.finditer(skill.document.text, skill.front.body):
        if not skill.markdown.in_code(match.start()):
            yield match


@rule(
    "body-empty",
    "body",
    why="A skill without instructions gives a model nothing once it is loaded.",
    levels=warnings(),
    source=PRACTICE,
    bad="---\nname: pdf-tools\ndescription: Reads PDF files. Use when asked for a PDF.\n---\n",
    good=GOOD,
)
def body_empty(skill: Skill) -> Iterator[Problem]:
    """Nothing below the frontmatter."""
    if skill.front.state is State.OK and (not skill.body or skill.body.isspace()):
        end = len(skill.document.text)
        yield Problem("no instructions below the frontmatter", Span(end, end))


@rule(
    "body-lines",
    "body",
    why="Everything in SKILL.md enters the context at once; beyond 500 lines, detail belongs in "
    "files that are read when needed.",
    levels=warnings(),
    source=PRACTICE,
    bad=GOOD + "More.\n" * 600,
    good=GOOD,
)
def body_lines(skill: Skill) -> Iterator[Problem]:
    """Over 500 lines."""
    lines = skill.document.text.count("\n") + 1
    if lines <= MAX_BODY_LINES:
        return
    lines = skill.body.strip("\r\n").count("\n") + 1
    if lines > MAX_BODY_LINES:
        start = skill.front.body
        yield Problem(
            f"body length: {lines:,} lines, over {MAX_BODY_LINES}; move detail to files under "
            "references/ and link to them",
            Span(start, start),
        )


@rule(
    "body-tokens",
    "body",
    why="The instructions compete with the conversation for the context window; keep them under "
    "5,000 tokens.",
    levels=warnings(),
    source=PRACTICE,
    bad=GOOD + "word " * 5_000,
    good=GOOD,
)
def body_tokens(skill: Skill) -> Iterator[Problem]:
    """Over about 5,000 tokens."""
    if len(skill.document.data) // 4 <= MAX_BODY_TOKENS:
        return
    count = tokens(len(skill.body.encode()))
    if count > MAX_BODY_TOKENS:
        start = skill.front.body
        yield Problem(
            f"body length: about {count:,} tokens (at four bytes a token), over "
            f"{MAX_BODY_TOKENS:,}; move detail to files under references/ and link to them",
            Span(start, start),
        )


_BACKSLASH = re.compile(r"(?<![\w\\/:.%$-])([A-Za-z_][\w.-]{0,200})(?:\\[\w.-]{1,200})+")
_USUAL_FOLDERS = frozenset(
    "scripts references reference assets templates resources examples docs".split()
)


@rule(
    "backslash-path",
    "body",
    why="Back slashes work on Windows only; forward slashes work everywhere.",
    levels=warnings(),
    source=PRACTICE,
    bad=_body(r"Run `scripts\extract.py`."),
    good=_body("Run `scripts/extract.py`."),
)
def backslash_path(skill: Skill) -> Iterator[Problem]:
    """A path of the skill written with back slashes, each path once."""
    places: dict[str, list[Span]] = {}
    for match in _backslashed(skill):
        path = match[0].replace("\\", "/").rstrip(".")
        usual = match[1] in _USUAL_FOLDERS and re.search(r"\.\w{1,5}\Z", path)
        if path in skill.names or usual:
            places.setdefault(path, []).append(Span(match.start(), match.start() + len(path)))
    for path, spans in places.items():
        written = skill.document.text[spans[0].start : spans[0].end]
        times = f" ({plural(len(spans), 'time')})" if len(spans) > 1 else ""
        edits = tuple(Edit(span, path) for span in spans)
        yield Problem(
            f"back slashes in the path {shorten(written)}{times}: write {shorten(path)}",
            spans[0],
            fix=Fix("use forward slashes", edits, safe=path in skill.names),
        )


def _backslashed(skill: Skill) -> Iterator[re.Match[str]]:
    """Words with back slashes in them, looked for on the lines that hold one."""
    text = skill.document.text
    at = text.find("\\", skill.front.body)
    while at >= 0:
        line = skill.document.line_at(at)
        yield from _BACKSLASH.finditer(text, max(line.start, skill.front.body), line.end)
        at = text.find("\\", line.end)


_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|"
    r"Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_YEAR = re.compile(r"20[12]\d\b(?![-/.]?\d)")
_DATED = re.compile(
    r"\b(?:(?:support|access|trial|offer|beta)\b[^\n]{0,40}\b(?:ends?|expires?)(?: in| on)?|"
    r"[Aa]s of|[Uu]ntil|[Bb]efore|[Aa]fter|[Ss]tarting(?: in| from)?|[Ee]ffective|"
    r"[Cc]urrently|will be (?:deprecated|removed|sunset|discontinued) (?:in|on|by|after))"
    rf" \**(?:(?:early|late|mid|the end of)[- ])?(?:(?:{_MONTH}|Q[1-4])\.? (?:\d{{1,2}},? )?)?\Z"
)
_NOW = Marks("s of today", "s of now", "s of this writing")
_BEFORE_A_YEAR = 90
_OLD = re.compile(r"old patterns|legacy|deprecated|history|changelog|archive", re.IGNORECASE)


@rule(
    "time-sensitive",
    "body",
    why='Text that is true "until August 2025" is wrong afterwards, and nobody comes back to '
    'change it; keep what is past under a heading such as "Old patterns".',
    levels=warnings(),
    source=PRACTICE,
    bad=_body("Before August 2025, use the old API."),
    good=_body("Use the v2 API."),
)
def time_sensitive(skill: Skill) -> Iterator[Problem]:
    """Sentences that hang on a date."""
    count = 0
    for span in islice(_dated(skill), _MAX_CANDIDATES):
        above = skill.markdown.headings_over(span.start)
        if skill.markdown.in_code(span.start) or any(map(_OLD.search, above)):
            continue
        if count < _MAX_REPEATS:
            count += 1
            words = shorten(skill.document.text[span.start : span.end])
            yield Problem(
                f'time-sensitive: "{words}" will be wrong one day; say what holds now, or put it '
                'under "Old patterns"',
                span,
            )


def _dated(skill: Skill) -> Iterator[Span]:
    """Words that tie a sentence to a date: "until May 2026", "as of now"."""
    text = skill.document.text
    for year in _YEAR.finditer(text, skill.front.body):
        lead = _DATED.search(
            text, max(skill.front.body, year.start() - _BEFORE_A_YEAR), year.start()
        )
        if lead:
            yield Span(lead.start(), year.end())
    for line in _NOW.lines(skill.document):
        now = re.search(r"\b[Aa]s of (?:today|now|this writing)\b", text[line.start : line.end])
        if now and line.start >= skill.front.body:
            yield Span(line.start + now.start(), line.start + now.end())


_TODO = re.compile(
    r"(?m)(?:^[ \t>*#+-]*(?:\[[ x]\][ \t]*)?|\[|\(|<)(?:TODO|FIXME|TBD|XXX)\b"
    r"(?=[ \t]*(?::(?!:)|\]|\)|>|$)|"
    r"[ \t]+(?:add|write|fill|finish|complete|document|implement|describe|explain|update)\b)"
    r"|\b[Ll]orem ipsum dolor\b"
    r"|\[(?:[Ii]nsert|[Pp]laceholder|[Ff]ill in|[Aa]dd your)\b[^\]\n]{0,60}\](?!\()"
)
_UNFINISHED = Marks(
    "TODO", "FIXME", "TBD", "XXX", "orem ipsum", "[Insert", "[insert", "[Placeholder",
    "[placeholder", "[Fill in", "[fill in", "[Add your", "[add your",
)  # fmt: skip


@rule(
    "todo-left",
    "body",
    why="A model takes a left-over TODO or placeholder for an instruction.",
    levels=warnings(),
    source=SKILLEVAL,
    bad=_body("TODO: describe the output format."),
    good=_body("The output is one JSON object."),
)
def todo_left(skill: Skill) -> Iterator[Problem]:
    """TODO, FIXME, TBD and placeholders in running text."""
    if not _UNFINISHED.of(skill.document):
        return
    text = skill.document.text
    left = _MAX_REPEATS
    for match in islice(_prose(skill, _TODO), _MAX_CANDIDATES):
        line = skill.document.line_at(match.start())
        quoted = match.start() > line.start and text[match.start() - 1] in "\"'“‘"
        if quoted or text[line.start : match.start()].lstrip().startswith("|"):
            continue
        words = shorten(text[match.start() : min(line.end, match.start() + 80)])
        yield Problem(f'left over: "{words}"; finish it or take it out', Span(*match.span()))
        left -= 1
        if not left:
            return


_MCP = Marks("MCP")
_TOOL = r"`([a-z][a-z0-9]*(?:_[a-z0-9]+)+)`"
_MCP_TOOL = re.compile(
    rf"{_TOOL}(?: \w+){{0,2}} MCP (?:tool|server)"
    rf"|{_TOOL}(?: \w+){{0,3}} tools? (?:of|from|on|in|via)\b[^.,;\n]{{0,60}}\bMCP\b"
    rf"|\bMCP (?:server(?:'s)? )?tools?:? {_TOOL}"
)
"""A tool's name right beside the words that make it one of an MCP server."""


@rule(
    "mcp-tool-unqualified",
    "body",
    why="With several MCP servers a bare tool name may not resolve; Server:tool always does.",
    levels=warnings(),
    source=PRACTICE,
    bad=_body("Call the `create_issue` tool of the GitHub MCP server."),
    good=_body("Call the `GitHub:create_issue` tool of the GitHub MCP server."),
)
def mcp_tool_unqualified(skill: Skill) -> Iterator[Problem]:
    """A tool named without its server, beside words that say that it is an MCP server's."""
    names: list[str] = []
    first: Span | None = None
    for line in _MCP.lines(skill.document):
        for match in _MCP_TOOL.finditer(skill.document.text, *line):
            first = first or Span(*match.span())
            names.append(match[1] or match[2] or match[3])
    if first:
        unique = list(dict.fromkeys(names))
        yield Problem(
            f"MCP tool without its server: {listing(unique, 3)}; write Server:{names[0]}", first
        )


_ITEM = r"`?[A-Za-z][\w.+-]*`?(?: [A-Z][\w.+-]*)?"
_MENU = re.compile(
    rf"\b(?:[Yy]ou (?:can|could|may|might) (?:use|choose|pick|try)|[Uu]se (?:either|any of)|"
    rf"[Cc]hoose (?:from|between|among)|[Oo]ptions include|[Pp]ick (?:one of|between|from))"
    rf":? {_ITEM}(?:, {_ITEM}){{2,}},? (?:or|and) {_ITEM}"
    rf"|\b[Uu]se {_ITEM}, or {_ITEM}, or {_ITEM}"
)
_PARAGRAPH = 1_500
_MENU_WORDS = Marks(
    "ou can ", "ou could ", "ou may ", "ou might ", "se either", "se any of", "hoose ",
    "ptions include", "ick one of", "ick between", "ick from", ", or ",
)  # fmt: skip
_DEFAULT = re.compile(
    r"\b(?:default|prefer|recommend|first choice|start with|unless|if .{3,40} use|otherwise|"
    r"usually)",
    re.IGNORECASE,
)


@rule(
    "option-menu",
    "body",
    why="A menu of equal options makes a model choose at random; a default with an escape hatch "
    "does not.",
    levels=warnings(),
    source=PRACTICE,
    bad=_body("You can use pypdf, pdfplumber, PyMuPDF, or pdf2image."),
    good=_body("Use pdfplumber. For scans, use pdf2image with pytesseract."),
)
def option_menu(skill: Skill) -> Iterator[Problem]:
    """Four or more alternatives and no default near them."""
    text = skill.document.text
    for line in islice(_MENU_WORDS.lines(skill.document), _MAX_CANDIDATES):
        match = _MENU.search(text, max(line.start, skill.front.body), line.end)
        if not match or skill.markdown.in_code(match.start()):
            continue
        start = max(text.rfind("\n\n", 0, match.start()), match.start() - _PARAGRAPH)
        end = text.find("\n\n", match.end(), match.end() + _PARAGRAPH)
        if not _DEFAULT.search(text, max(start, 0), end if end >= 0 else match.end() + _PARAGRAPH):
            yield Problem(
                f'a menu without a default: "{shorten(match[0])}"; name the one to use and when '
                "to use another",
                Span(*match.span()),
            )
