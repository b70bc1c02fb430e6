"""Running the rules: each skill by itself, on all cores, then all skills together."""

from __future__ import annotations

import difflib
import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cached_property, lru_cache
from typing import NamedTuple

from skilleval.lint.model import (
    ALL,
    CatalogProblem,
    Finding,
    FixView,
    Levels,
    Place,
    Problem,
    Rule,
    Severity,
    SkillCheck,
    SkillReport,
    Target,
    Verdict,
)
from skilleval.lint.registry import all_rules, rules_by_id
from skilleval.lint.suppress import Suppressions, read_suppressions
from skilleval.lint.workers import Workers
from skilleval.prompt.listing import line_of
from skilleval.skill import Discovery, Document, Found, Skill, Span

__all__ = [
    "LintReport",
    "Linter",
    "Options",
    "lint",
    "lint_skill",
    "minding",
    "problems",
    "shown_path",
    "unknown_rule",
]

_EXCERPT = 300
_MOST = 500
"""Problems of one rule in one skill: beyond that somebody means to drown us."""
_FILE_GROUPS = ("file", "safety")
"""What is looked at where SKILL.md has no text of its own to judge."""


class Judged(NamedTuple):
    """How bad something is: for each target that minds, at worst, and who says so."""

    levels: dict[Target, Severity]
    severity: Severity
    source: str


@dataclass(frozen=True)
class Options:
    """What to look for. All ids are known ones.

    Attributes:
        targets: whose contract counts.
        rules: ids of the rules to run; None for all.
        severity: other severities for some rules.
        per_path: patterns with the rules to leave out where a path matches.
        base: the folder that those patterns count from; None for the working directory.
        suppressions: whether comments in skills may switch rules off.
    """

    targets: tuple[Target, ...] = ALL
    rules: frozenset[str] | None = None
    severity: Mapping[str, Severity] = field(default_factory=dict)
    per_path: Sequence[tuple[str, frozenset[str]]] = ()
    base: str | None = None
    suppressions: bool = True

    @cached_property
    def checks(self) -> list[tuple[Rule, SkillCheck]]:
        """The rules about single skills that are on, with their functions."""
        return [(r, r.check) for r in all_rules() if r.check and self.runs(r.id)]

    @cached_property
    def _judged(self) -> dict[tuple[str, tuple[tuple[Target, Severity], ...] | None], Judged]:
        return {}

    def judge(self, rule: Rule, levels: Levels | None) -> Judged:
        """How bad a problem of a rule is for the targets that count (worked out once a kind)."""
        key = (rule.id, tuple(levels.items()) if levels is not None else None)
        judged = self._judged.get(key)
        if judged is None:
            found = rule.levels if levels is None else levels
            chosen = {target: found[target] for target in self.targets if target in found}
            override = self.severity.get(rule.id)
            if override:
                chosen = dict.fromkeys(chosen, override)
            worst = next((s for s in Severity if s in chosen.values()), Severity.NOTE)
            judged = self._judged[key] = Judged(chosen, worst, rule.source(chosen))
        return judged

    def runs(self, rule: str) -> bool:
        """Whether a rule is on."""
        return self.rules is None or rule in self.rules


@dataclass
class LintReport:
    """What linting found.

    ``suppressed`` counts findings that comments switched off, ``known`` those that a
    baseline holds; neither is among ``findings``.
    """

    skills: list[SkillReport]
    findings: list[Finding]
    targets: tuple[Target, ...]
    discovery: Discovery
    suppressed: int = 0
    known: int = 0

    def count(self, severity: Severity) -> int:
        """Findings of a severity."""
        return sum(finding.severity is severity for finding in self.findings)

    def judge(self) -> None:
        """Set every skill's verdicts from the findings there are."""
        failed: dict[str, set[Target]] = {}
        for finding in self.findings:
            broken = {t for t, level in finding.levels.items() if level is Severity.ERROR}
            if broken:
                failed.setdefault(finding.skill, set()).update(broken)
        for skill in self.skills:
            broken = failed.get(skill.path, set())
            skill.verdicts = {
                t: Verdict.FAIL if t in broken else Verdict.PASS for t in self.targets
            }


def shown_path(path: str) -> str:
    """A path as it is shown: relative where it lies below the working directory."""
    here = os.getcwd()
    if path == here:
        return "."
    return path.removeprefix(here.rstrip(os.sep) + os.sep)


class Linter:
    """Lints skills while they are still being found.

    ``add`` is for `skilleval.skill.discover` to call; ``finish`` gives the report.
    """

    def __init__(self, options: Options) -> None:
        all_rules()  # before the processes part, so that each has them
        self.options = options
        self._workers = Workers(_lint_some, options)
        self.add = self._workers.add

    def __enter__(self) -> Linter:
        return self

    def __exit__(self, *_: object) -> None:
        self._workers.stop()

    def finish(self, discovery: Discovery) -> LintReport:
        """Compare the skills with each other and put everything together."""
        by_folder = {report.folder: report for report in self._workers.finish()}
        reports = [by_folder[found.folder] for found in discovery.skills]
        findings = [finding for report in reports for finding in report.findings]
        findings += _lint_together(reports, self.options)
        findings.sort(key=lambda finding: finding.order)
        report = LintReport(reports, findings, self.options.targets, discovery)
        report.suppressed = sum(r.suppressed for r in reports)
        report.judge()
        return report


def lint(discovery: Discovery, options: Options) -> LintReport:
    """Run every rule that is on over skills that were found before."""
    with Linter(options) as linter:
        for found in discovery.skills:
            linter.add(found)
        return linter.finish(discovery)


def _lint_some(skills: Sequence[Found], options: Options) -> list[SkillReport]:
    return [lint_skill(found, options) for found in skills]


def lint_skill(found: Found, options: Options) -> SkillReport:
    """Run the rules for one skill; catalog rules need all of them and are not run here."""
    skill = Skill(found)
    run = _SkillRun(skill, options)
    for rule, problem in problems(skill, options):
        run.add(rule, problem)
    run.check_suppressions()
    return run.report


def problems(skill: Skill, options: Options) -> Iterator[tuple[Rule, Problem]]:
    """What the rules that are on say of one skill."""
    for rule, check in options.checks:
        if skill.has_text or rule.group in _FILE_GROUPS:
            for count, problem in enumerate(check(skill), start=1):
                yield rule, problem
                if count == _MOST:
                    more = f"over {_MOST} of these in this skill; the others are not shown"
                    yield rule, Problem(more, levels=problem.levels)
                    break


class _SkillRun:
    """Turns the problems of one skill into findings."""

    def __init__(self, skill: Skill, options: Options) -> None:
        self.skill = skill
        self.options = options
        self.path = shown_path(skill.folder)
        self.prefix = "" if self.path == "." else self.path + "/"
        self.comments: dict[str, tuple[Document, Suppressions]] = {}
        self.said: Counter[str] = Counter()
        document = skill.document
        catalog = skill.found.catalog
        self.report = SkillReport(
            path=self.path,
            file=self.prefix + skill.found.file,
            folder=skill.folder,
            name=skill.name,
            description=skill.description,
            catalog=shown_path(catalog.folder),
            readable=skill.has_text and skill.front.readable,
            digest=hashlib.blake2b(document.data, digest_size=16).digest(),
            listed=line_of(skill) if skill.has_text else None,
            name_at=_field_place(skill, "name"),
            description_at=_field_place(skill, "description"),
            suppressions=self._comments(document) if options.suppressions else Suppressions(),
        )

    def add(self, rule: Rule, problem: Problem) -> None:
        document = problem.document or self.skill.document
        name = problem.file or document.name
        whole = problem.file is not None or problem.span is None
        place = Place(1, 1, 1, 1) if whole else _place(document, *(problem.span or (0, 0)))
        finding = _finding(
            rule, self.options, self.prefix + name, place, problem.message, problem.levels
        )
        if finding is None:
            return
        if self.options.suppressions:
            comments = self._comments(self.skill.document if problem.file else document)
            if comments.covers(rule.id, None if problem.file else place.line):
                self.report.suppressed += 1
                return
        if problem.fix:
            finding.fix = FixView.of(problem.fix, document)
        finding.skill = self.path
        self.report.findings.append(finding)

    def _comments(self, document: Document) -> Suppressions:
        if document.name not in self.comments:
            self.comments[document.name] = (document, read_suppressions(document))
        return self.comments[document.name][1]

    def check_suppressions(self) -> None:
        """Report comments without a reason, with an unknown rule, or without effect."""
        known = rules_by_id()
        for document, comments in list(self.comments.values()):
            for comment in comments.comments:
                if not comment.reason:
                    message = "no reason: write -- and why behind the rule"
                    self._say("suppression-reason", message, comment.span, document)
                for rule in comment.rules or ("",):
                    if rule not in known:
                        message = unknown_rule(rule, groups=False)
                        self._say("suppression-unknown", message, comment.span, document)
            for comment, rule in comments.unused():
                checked = (
                    rule in known
                    and known[rule].check
                    and self.options.runs(rule)
                    and not self.options.per_path
                    and all(target in self.options.targets for target in known[rule].levels)
                )
                if checked:
                    message = f"{rule} finds nothing here: remove the comment"
                    self._say("suppression-unused", message, comment.span, document)

    def _say(self, rule: str, message: str, span: tuple[int, int], document: Document) -> None:
        self.said[rule] += 1
        if self.options.runs(rule) and self.said[rule] <= _MOST:
            place = _place(document, *span)
            path = self.prefix + document.name
            finding = _finding(rules_by_id()[rule], self.options, path, place, message, None)
            if finding:
                finding.skill = self.path
                self.report.findings.append(finding)


@lru_cache
def unknown_rule(name: str, groups: bool = True) -> str:
    """``there is no rule x; did you mean y?``; ``groups`` where one of them would do, too."""
    names = {*rules_by_id(), *(rule.group for rule in all_rules() if groups)}
    close = difflib.get_close_matches(name, sorted(names), n=1)
    hint = f"; did you mean {close[0]}?" if close else "; `skilleval rules` lists them"
    return f"there is no rule {name or 'without a name'}{hint}"


def _place(document: Document, start: int, end: int) -> Place:
    first = document.position(start)
    last = document.position(max(start, end))
    line = document.line_at(start)
    if line.end - line.start > _EXCERPT:
        low = max(line.start, start - _EXCERPT // 2)
        line = Span(low, min(line.end, low + _EXCERPT))
    column = first.column - (start - line.start)
    excerpt = document.text[line.start : line.end]
    if column < 1:  # a byte order mark counts as no column
        excerpt, column = excerpt[1:], 1
    return Place(*first, *last, excerpt, column)


def _field_place(skill: Skill, name: str) -> Place:
    entry = skill.front.fields.get(name)
    return _place(skill.document, *entry.span) if entry else Place(1, 1, 1, 1)


def _finding(
    rule: Rule,
    options: Options,
    path: str,
    place: Place,
    message: str,
    levels: Mapping[Target, Severity] | None,
) -> Finding | None:
    """A finding with the severities that settings give it; None where nobody minds."""
    if not minding(options, rule, path, levels):
        return None
    judged = options.judge(rule, levels)
    return Finding(
        rule.id,
        judged.severity,
        judged.levels,
        path,
        *place[:4],
        message,
        judged.source,
        place.excerpt,
        place.excerpt_column,
    )


def minding(options: Options, rule: Rule, path: str, levels: Levels | None) -> bool:
    """Whether anybody minds a problem of a rule at a path."""
    if not options.judge(rule, levels).levels:
        return False
    if options.per_path:
        counted = os.path.relpath(path, options.base) if options.base else path
        return not any(
            rule.id in off and fnmatch(counted, pattern) for pattern, off in options.per_path
        )
    return True


def _lint_together(reports: list[SkillReport], options: Options) -> list[Finding]:
    findings = []
    for rule in all_rules():
        if rule.check_catalog and options.runs(rule.id):
            for problem in rule.check_catalog(reports):
                finding = _catalog_finding(rule, problem, options)
                if finding:
                    findings.append(finding)
    return findings


def _catalog_finding(rule: Rule, problem: CatalogProblem, options: Options) -> Finding | None:
    report = problem.skill
    if report.suppressions.covers(rule.id, problem.at.line):
        report.suppressed += 1
        return None
    finding = _finding(rule, options, report.file, problem.at, problem.message, problem.levels)
    if finding:
        finding.skill = report.path
    return finding
