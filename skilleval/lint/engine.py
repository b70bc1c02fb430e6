"""Running the rules: each skill by itself, on all cores, then all skills together."""

from __future__ import annotations

import difflib
import gc
import hashlib
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cached_property

from skilleval.errors import Unmeasured
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
from skilleval.prompt.listing import listed
from skilleval.skill import Discovery, Document, Found, Skill, Span

__all__ = [
    "LintReport",
    "Options",
    "lint",
    "lint_skill",
    "minding",
    "problems",
    "shown_path",
    "unknown_rule",
]

_PARALLEL_FROM = 64
"""Skills from which starting a second process pays."""
_EXCERPT = 300
_MOST = 500
"""Problems of one rule in one skill: beyond that somebody means to drown us."""
_FILE_GROUPS = ("file", "safety")
"""What is looked at where SKILL.md has no text of its own to judge."""


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


def lint(discovery: Discovery, options: Options) -> LintReport:
    """Run every rule that is on over the skills found."""
    all_rules()  # before the processes part, so that each has them
    reports = _lint_each(discovery.skills, options)
    findings = [finding for report in reports for finding in report.findings]
    findings += _lint_together(reports, options)
    findings.sort(key=lambda finding: finding.order)
    report = LintReport(reports, findings, options.targets, discovery)
    report.suppressed = sum(r.suppressed for r in reports)
    report.judge()
    return report


def _lint_each(skills: Sequence[Found], options: Options) -> list[SkillReport]:
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    if len(skills) < _PARALLEL_FROM or cores < 2:
        return [lint_skill(found, options) for found in skills]
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    # Forked workers share the rules that are loaded already; other systems load them anew.
    context = get_context("fork" if sys.platform == "linux" else "spawn")
    size = max(8, min(64, len(skills) // (cores * 8)))
    chunks = [skills[at : at + size] for at in range(0, len(skills), size)]
    try:
        with ProcessPoolExecutor(cores, mp_context=context, initializer=_start_worker) as pool:
            done = pool.map(_lint_chunk, chunks, [options] * len(chunks))
            return [report for chunk in done for report in chunk]
    except BrokenProcessPool:
        raise Unmeasured(
            "a worker process was ended from outside, perhaps for want of memory",
            remedy="Lint fewer skills at a time.",
        ) from None


def _start_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us, without our tracebacks
    gc.freeze()  # what the parent loaded is never garbage
    gc.disable()  # a skill holds no cycles: reference counts free it


def _lint_chunk(skills: Sequence[Found], options: Options) -> list[SkillReport]:
    return [lint_skill(found, options) for found in skills]


def lint_skill(found: Found, options: Options, skill: Skill | None = None) -> SkillReport:
    """Run the rules for one skill; catalog rules need all of them and are not run here."""
    skill = skill or Skill(found)
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
            listed=listed(skill) if skill.has_text else None,
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
        if self.options.runs(rule):
            place = _place(document, *span)
            path = self.prefix + document.name
            finding = _finding(rules_by_id()[rule], self.options, path, place, message, None)
            if finding:
                finding.skill = self.path
                self.report.findings.append(finding)


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
    chosen = minding(options, rule, path, levels)
    if not chosen:
        return None
    severity = next(level for level in Severity if level in chosen.values())
    return Finding(
        rule.id,
        severity,
        chosen,
        path,
        *place[:4],
        message,
        rule.source(chosen),
        place.excerpt,
        place.excerpt_column,
    )


def minding(
    options: Options, rule: Rule, path: str, levels: Levels | None
) -> dict[Target, Severity]:
    """Who minds a problem of a rule at a path, and how much; nobody where it is switched off."""
    found = rule.levels if levels is None else levels
    chosen = {target: found[target] for target in options.targets if target in found}
    if chosen and options.per_path:
        counted = os.path.relpath(path, options.base) if options.base else path
        if any(rule.id in off and fnmatch(counted, pattern) for pattern, off in options.per_path):
            return {}
    override = options.severity.get(rule.id)
    return dict.fromkeys(chosen, override) if override else chosen


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
