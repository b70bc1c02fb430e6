"""Whether a skill brings evaluations, and whether these can tell anything."""

from __future__ import annotations

from collections.abc import Iterator

from skilleval.lint.contract import PRACTICE, SKILLEVAL
from skilleval.lint.evaluations import Case, is_evaluation_file, look_at
from skilleval.lint.model import Problem, notes, warnings
from skilleval.lint.registry import rule
from skilleval.lint.rules.files import GOOD
from skilleval.lint.wording import listing, plural, shorten
from skilleval.skill import Document, Skill

_LEAST = 3
_CASE = '{"skills": ["pdf-tools"], "query": "Read a.pdf", "expected_behavior": ["Reads a.pdf"]}'
_NEGATIVE = _CASE[:-1] + ', "should_trigger": false}'
_ENOUGH = {
    "pdf-tools/SKILL.md": GOOD,
    "pdf-tools/evals/evals.json": f"[{_CASE}, {_CASE}, {_NEGATIVE}]",
}


def _with_evals(text: str) -> dict[str, str]:
    return {"pdf-tools/SKILL.md": GOOD, "pdf-tools/evals/evals.json": text}


def _files(skill: Skill) -> list[tuple[Document, list[Case] | str | None]]:
    """The evaluation files with what is in them (looked at once)."""
    found: list[tuple[Document, list[Case] | str | None]] | None = skill.memo.get("evaluations")
    if found is None:
        names = [e.name for e in skill.entries if e.kind == "file" and is_evaluation_file(e.name)]
        documents = [document for name in names if (document := skill.file(name)) is not None]
        found = skill.memo["evaluations"] = [(d, look_at(d)) for d in documents]
    return found


def _cases(skill: Skill) -> list[Case]:
    return [case for _, cases in _files(skill) if isinstance(cases, list) for case in cases]


def _readable(skill: Skill) -> bool:
    return skill.front.readable and not skill.body.isspace() and skill.body != ""


@rule(
    "evals-none",
    "evaluations",
    why="Whether a skill is found and helps shows only in evaluations.",
    levels=notes(),
    source=PRACTICE,
    bad=GOOD,
    good=_ENOUGH,
)
def evals_none(skill: Skill) -> Iterator[Problem]:
    """The folder brings no evaluations."""
    if _readable(skill) and not _files(skill):
        yield Problem(
            "no evaluations in the skill's folder: add at least three under evals/, one of them a "
            "case in which the skill must stay out"
        )


@rule(
    "evals-few",
    "evaluations",
    why="Fewer than three cases tell chance from effect in no case.",
    levels=notes(),
    source=PRACTICE,
    bad=_with_evals(f"[{_CASE}]"),
    good=_ENOUGH,
)
def evals_few(skill: Skill) -> Iterator[Problem]:
    """One or two cases in all files together."""
    cases = _cases(skill)
    if 0 < len(cases) < _LEAST:
        yield Problem(f"{plural(len(cases), 'evaluation')}: write at least {_LEAST}")


@rule(
    "evals-no-negative",
    "evaluations",
    why="A skill that always fires passes every positive case; only a case in which it must not "
    "activate finds that out.",
    levels=notes(),
    source=SKILLEVAL,
    bad=_with_evals(f"[{_CASE}, {_CASE}, {_CASE}]"),
    good=_ENOUGH,
)
def evals_no_negative(skill: Skill) -> Iterator[Problem]:
    """No case in which the skill must stay out."""
    cases = _cases(skill)
    if len(cases) >= _LEAST and not any(case.negative for case in cases):
        yield Problem(
            f"in none of {plural(len(cases), 'evaluation')} must the skill stay out: add a request "
            "that only looks like one for it (should_trigger: false, or a trigger set)"
        )


@rule(
    "evals-ungradeable",
    "evaluations",
    why="A case without expected behaviour can't be graded: it passes whatever happens.",
    levels=warnings(),
    source=SKILLEVAL,
    bad=_with_evals('[{"prompt": "Read a.pdf", "expected_output": "text"}]'),
    good=_ENOUGH,
)
def evals_ungradeable(skill: Skill) -> Iterator[Problem]:
    """Cases with a query and nothing to check, in every file."""
    for document, cases in _files(skill):
        if not isinstance(cases, list):
            continue
        bad = [shorten(case.query, 40) or "(no query)" for case in cases if not case.gradeable]
        if bad:
            yield Problem(
                f"ungradeable: {plural(len(bad), 'case')} without expected behaviour ("
                f"{listing(bad, 3)}); add what must be true of the answer",
                document=document,
            )


@rule(
    "evals-broken",
    "evaluations",
    why="An evaluation file that can't be read, or holds no case, is never run.",
    levels=warnings(),
    source=SKILLEVAL,
    bad=_with_evals("[{"),
    good=_ENOUGH,
)
def evals_broken(skill: Skill) -> Iterator[Problem]:
    """Broken or empty evaluation files."""
    for document, cases in _files(skill):
        if isinstance(cases, str):
            yield Problem(f"evaluation file can't be read: {cases}", document=document)
        elif cases == []:
            yield Problem("evaluation file holds no case", document=document)
