"""The description: present, short enough, plain, and of use to a model that has to choose."""

from __future__ import annotations

import re
from collections.abc import Iterator

from skilleval.lint.contract import (
    API,
    CLAUDE_CODE,
    MAX_DESCRIPTION,
    PACKAGE,
    PRACTICE,
    SPEC,
    YAML,
)
from skilleval.lint.model import Problem, Target, errors, notes, warnings
from skilleval.lint.registry import rule
from skilleval.lint.rules.files import GOOD
from skilleval.lint.rules.name import has_fields, opening_line, scalar_problem
from skilleval.lint.wording import shorten
from skilleval.prompt.listing import LISTING_CUT, is_hidden, listing_text, units
from skilleval.skill import Skill, Span
from skilleval.skill.yamltree import Scalar

_STRICT = (Target.SPEC, Target.API, Target.PACKAGE)


def _described(description: str) -> str:
    return f"---\nname: pdf-tools\ndescription: {description}\n---\n\nRun `pdftotext`.\n"


def _span(skill: Skill, start: int, end: int) -> Span:
    """Where a part of the description stands; the whole value where it is not written plainly."""
    entry = skill.front.fields["description"]
    value = entry.value
    if isinstance(value, Scalar):
        shift = value.start + (1 if value.style in "'\"" else 0)
        raw = skill.document.text[shift + start : shift + end]
        if raw == value.value[start:end]:
            return Span(shift + start, shift + end)
    return entry.span


@rule(
    "description-missing",
    "description",
    why="The description is all that a model sees before it decides; Claude Code falls back to "
    "the first line, the others refuse the skill.",
    levels=errors(*_STRICT) | warnings(Target.CLAUDE_CODE),
    source=(SPEC, API, PACKAGE, CLAUDE_CODE),
    bad="---\nname: pdf-tools\n---\n\nBody\n",
    good=GOOD,
)
def description_missing(skill: Skill) -> Iterator[Problem]:
    """No description, or one without text."""
    if not has_fields(skill):
        return
    entry = skill.front.fields.get("description")
    if entry is None:
        yield Problem(
            "description missing: say what the skill does and when to use it",
            opening_line(skill),
        )
    elif entry.kind == "null" or (entry.kind == "string" and not (entry.text or "").strip()):
        yield Problem("empty description: say what the skill does and when to use it", entry.span)


@rule(
    "description-type",
    "description",
    why="A description is text; YAML reads some unquoted values as something else.",
    levels=errors(*_STRICT) | warnings(Target.CLAUDE_CODE),
    source=(SPEC, PACKAGE, YAML),
    bad=_described("[Reads PDF files]"),
    good=GOOD,
)
def description_type(skill: Skill) -> Iterator[Problem]:
    """The description is a list, a map, a number, a boolean or a date."""
    entry = skill.front.fields.get("description")
    if entry is None:
        return
    problem = scalar_problem(entry, "description")
    if problem:
        yield problem
    elif entry.kind in ("list", "map"):
        yield Problem(f"description is a {entry.kind}, not text", entry.span, levels=errors())


@rule(
    "description-length",
    "description",
    why="Descriptions are at most 1,024 characters; uploads and packagers refuse longer ones.",
    levels=errors(*_STRICT),
    source=(SPEC, API, PACKAGE),
    bad=_described("Reads PDF files. " * 70 + "Use when asked."),
    good=GOOD,
)
def description_length(skill: Skill) -> Iterator[Problem]:
    """Longer than 1,024 code points."""
    text = skill.description
    if text and len(text) > MAX_DESCRIPTION:
        yield Problem(
            f"description is {len(text):,} of {MAX_DESCRIPTION:,} characters; shorten it",
            skill.front.fields["description"].span,
        )


@rule(
    "description-cut",
    "description",
    why="Claude Code lists at most 1,536 characters of description and when_to_use together; the "
    "model never sees the rest.",
    levels=warnings(Target.CLAUDE_CODE),
    source=CLAUDE_CODE,
    bad=_described("Reads PDF files. " * 100 + "Use when asked."),
    good=GOOD,
)
def description_cut(skill: Skill) -> Iterator[Problem]:
    """What the listing cuts off."""
    if not skill.description:
        return
    length = units(listing_text(skill))
    if length > LISTING_CUT:
        yield Problem(
            f"the listing cuts the description: {length:,} characters with when_to_use, "
            f"{length - LISTING_CUT:,} over {LISTING_CUT:,} are lost; put what matters first",
            skill.front.fields["description"].span,
        )


_TAG = re.compile(r"<[/!?]?[A-Za-z][^<>]*>")


@rule(
    "description-markup",
    "description",
    why="The upload refuses XML tags in name and description, the packager every angle bracket; "
    "Claude Code shows them as &lt; and &gt;.",
    levels=errors(Target.API, Target.PACKAGE),
    source=(API, PACKAGE, CLAUDE_CODE),
    bad=_described("Reads <pdf> files. Use when the user asks about a PDF."),
    good=GOOD,
)
def description_markup(skill: Skill) -> Iterator[Problem]:
    """Tags, and angle brackets of any kind."""
    name = skill.front.string("name") or ""
    tag = _TAG.search(name)
    if tag:
        yield Problem(f"XML tag {tag[0]} in the name", skill.front.fields["name"].span)
    text = skill.description or ""
    if "<" not in text and ">" not in text:
        return
    tag = _TAG.search(text)
    if tag:
        yield Problem(
            f"XML tag {shorten(tag[0])} in the description: the upload and the packager refuse it",
            _span(skill, *tag.span()),
        )
    else:
        at = re.search(r"[<>]", text)
        start = at.start() if at else 0
        yield Problem(
            f"angle bracket {text[start]} in the description: the packager refuses it, though it "
            "is no tag",
            _span(skill, start, start + 1),
            levels=errors(Target.PACKAGE),
        )


def _chosen_by(skill: Skill) -> str:
    """The description that a model chooses by; empty where the skill is hidden from models."""
    return "" if is_hidden(skill) else skill.description or ""


_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]{0,500}”|`[^`]*`|(?<!\w)'[^']*'(?!\w)")
_OTHER_PERSON = re.compile(
    r"\b(?:helps?|lets?|allows?|enables?|guides?|teaches) (?:me|us|you)\b"
    r"|\b(?:my|our) (?:company|team|project|codebase|repo\w*|clients?)\b"
    r"|(?:\A|(?<=[.!?:;,] ))(?:I|we)(?:'ll|'m|'re)? (?:can|will|help|am|are|use|do|want|need|like|"
    r"analy[sz]e|create|write|generate|provide|offer|assist|have|go)\b|\bas we go\b"
    r"|\A(?:you|your) (?:can|are|will|should|must|have)\b|(?:\A|(?<=[.!?] ))you are an? ",
    re.IGNORECASE,
)
_PERSONS = frozenset("i we you me us my our your".split())
_WORD_BREAK = re.compile(r"[^a-z]+")


@rule(
    "description-person",
    "description",
    why="The description is put into the system prompt; another point of view than the third "
    "person can keep the skill from being found.",
    levels=warnings(),
    source=PRACTICE,
    bad=_described("I can help you read PDF files. Use when the user asks about a PDF."),
    good=GOOD,
)
def description_person(skill: Skill) -> Iterator[Problem]:
    """First or second person."""
    text = _chosen_by(skill)
    if _PERSONS.isdisjoint(_WORD_BREAK.split(text.lower())):
        return
    match = _OTHER_PERSON.search(_QUOTED.sub(lambda quoted: " " * len(quoted[0]), text))
    if match:
        yield Problem(
            f'"{match[0].strip()}": write in the third person ("Extracts text …", not "I can …" or '
            '"You can …")',
            _span(skill, *match.span()),
        )


_MIN_DESCRIPTION = 30
_WHEN = re.compile(
    r"\b(?:(?:run|load|call|apply)\s+(?:this|it|once|first|before|after)|"
    r"when(?:ever|\s+to\s+use)?|use\s+(?:this|it|for|if|on|to|in|before|after|as|at|proactively)|"
    r"used?\s+(?:when|for|by|to)|for\s+use|if\s+(?:the\s+)?(?:user|you|someone|asked)|trigger(?:s|ed)?|"
    r"invoke[ds]?|activat\w+|useful\s+for|ideal\s+for|relevant\s+(?:for|to)|"
    r"should\s+be\s+used|for\s+(?:tasks|questions|requests)|"
    r"on\s+request|asks?\s+(?:for|to|about)|mentions?)\b",
    re.IGNORECASE,
)


@rule(
    "description-when",
    "description",
    why="A model decides from the description alone whether a skill applies: it must say when.",
    levels=warnings(),
    source=(PRACTICE, SPEC),
    bad=_described("Extracts text and tables from PDF files and merges several into one."),
    good=GOOD,
)
def description_when(skill: Skill) -> Iterator[Problem]:
    """No word about when to use it, in description or when_to_use."""
    text = _chosen_by(skill).strip()
    if len(text) < _MIN_DESCRIPTION or _mostly_foreign(text):
        return  # what is too short is said to be so
    if not _WHEN.search(text) and not skill.front.string("when_to_use"):
        yield Problem(
            'the description does not say when to use the skill; add "Use when …" with words that '
            "users say",
            skill.front.fields["description"].span,
        )


_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


def _mostly_foreign(text: str) -> bool:
    """Whether a text is likely in another language than English: no verdict on its words then."""
    if text.isascii():
        return False
    return sum(map(str.isalpha, _NOT_ASCII.findall(text))) > len(text) // 20


_ONLY_WHEN = re.compile(r"(?:use|used|invoke|trigger|load|apply|run|call)s?\b[^.!?]*[.!?]?\Z", re.I)

_ALSO_WHAT = re.compile(r" to \w+|\s[-–—]\s+(?!requires|needs)[a-z]+s\s")


@rule(
    "description-what",
    "description",
    why="When is not enough: a model that has to choose between skills needs to know what each "
    "does.",
    levels=notes(),
    source=(PRACTICE, SPEC),
    bad=_described("Use when the user asks about a PDF."),
    good=GOOD,
)
def description_what(skill: Skill) -> Iterator[Problem]:
    """A single "Use when …" sentence and nothing else."""
    text = _chosen_by(skill).strip()
    if text and len(text) < 300 and _ONLY_WHEN.match(text) and not _ALSO_WHAT.search(text):
        yield Problem(
            "the description says only when to use the skill; begin with what it does",
            skill.front.fields["description"].span,
        )


_VAGUE = re.compile(
    r"(?:(?:a|the|this)\s+)?(?:skill\s+(?:that|which|to|for)\s+)?"
    r"(?:help(?:s|er)?(?:\s+(?:with|for|you|users?))?|do(?:es)?|handles?|process(?:es)?|manages?|"
    r"works?\s+with|deals?\s+with|supports?|assists?(?:\s+with)?|utilit(?:y|ies)(?:\s+for)?|"
    r"tools?(?:\s+for)?|various|useful)\s+"
    r"(?:(?:with|various|different|all|some|any|your|the|user|many|useful|general)\s+)*"
    r"(?:stuff|things?|documents?|files?|data|tasks?|content|information|text|code|projects?|work|"
    r"users?|requests?)"
    r"(?:\s+(?:with|and|for|in|to|of|or)\s+(?:stuff|things?|documents?|files?|data|tasks?|content|"
    r"information|text|code|projects?|users?))*\s*[.!]?"
    r"(?:\s*(?:use|used)\s+(?:this\s+)?(?:when|whenever|if)\s+(?:needed|asked|necessary|appropriate|"
    r"required|you need (?:it|help)|the user (?:asks|needs (?:it|help)))\.?)?\Z",
    re.IGNORECASE,
)


@rule(
    "description-vague",
    "description",
    why='"Helps with documents" matches everything and nothing: a model never picks it, or always.',
    levels=warnings(),
    source=PRACTICE,
    bad=_described("Helps with documents"),
    good=GOOD,
)
def description_vague(skill: Skill) -> Iterator[Problem]:
    """A description of general words only."""
    text = " ".join(_chosen_by(skill).split())
    if text and len(text) < 160 and _VAGUE.match(text):
        yield Problem(
            f'"{shorten(text)}" is vague: name the formats, tools and tasks that it is for',
            skill.front.fields["description"].span,
        )


@rule(
    "description-short",
    "description",
    why="A few words can't say what a skill does and when to use it.",
    levels=warnings(),
    source=PRACTICE,
    bad=_described("Reads PDF files"),
    good=GOOD,
)
def description_short(skill: Skill) -> Iterator[Problem]:
    """Shorter than 30 characters (15 where the script is a dense one)."""
    text = " ".join(_chosen_by(skill).split())
    least = _MIN_DESCRIPTION // 2 if _mostly_foreign(text) else _MIN_DESCRIPTION
    if text and len(text) < least and not skill.front.string("when_to_use"):
        yield Problem(
            f"the description is {len(text)} characters: too short to say what the skill does and "
            "when to use it",
            skill.front.fields["description"].span,
        )
