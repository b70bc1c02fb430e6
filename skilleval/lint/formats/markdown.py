"""Markdown for a job summary or a comment: verdicts in a table, findings below."""

from __future__ import annotations

import re

from skilleval.lint.engine import LintReport
from skilleval.lint.model import Finding, Severity, SkillReport, Verdict
from skilleval.lint.wording import plural
from skilleval.terminal import escape

__all__ = ["render"]

_MAX_SKILLS = 500
_MAX_FINDINGS = 1_000
"""GitHub cuts a job summary at a megabyte."""

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~<>&$-])")


def render(report: LintReport, *, color: bool = False) -> str:
    """Skills that fail first; what is left out of a long table is counted."""
    counts = ", ".join(plural(report.count(s), s.value) for s in Severity)
    lines = [f"## skilleval lint: {plural(len(report.skills), 'skill')}", "", counts, ""]
    lines += _table(report)
    shown = sorted(report.findings, key=lambda f: -f.severity.rank)[:_MAX_FINDINGS]
    for severity in Severity:
        group = [finding for finding in shown if finding.severity is severity]
        if group:
            total = plural(report.count(severity), severity.value)
            opened = " open" if severity is Severity.ERROR else ""
            lines += [f"<details{opened}><summary>{total}</summary>", ""]
            lines += [_finding(finding) for finding in group]
            lines += ["", "</details>", ""]
    if len(report.findings) > len(shown):
        lines.append(f"{plural(len(report.findings) - len(shown), 'finding')} more not shown.")
    return "\n".join(lines).rstrip() + "\n"


def _table(report: LintReport) -> list[str]:
    head = ["skill", *report.targets]
    rows = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    ordered = sorted(report.skills, key=lambda s: Verdict.FAIL not in s.verdicts.values())
    rows += [_row(skill) for skill in ordered[:_MAX_SKILLS]]
    left = len(ordered) - _MAX_SKILLS
    return [*rows, "", *([f"{plural(left, 'skill')} more not shown.", ""] if left > 0 else [])]


def _row(skill: SkillReport) -> str:
    marks = ["pass" if v is Verdict.PASS else "**fail**" for v in skill.verdicts.values()]
    return f"| {_plain(skill.path)} | {' | '.join(marks)} |"


def _finding(finding: Finding) -> str:
    place = _plain(f"{finding.path}:{finding.line}")
    return f"- {place} **{_plain(finding.rule)}** {_plain(finding.message)}"


def _plain(text: str) -> str:
    """Text in which nothing is markup."""
    text = _SPECIAL.sub(r"\\\1", escape(text))
    # GitHub also links addresses and notifies people whose name stands behind an @.
    return text.replace("@", "&#64;").replace("://", "&#58;//").replace("www.", "www&#46;")
