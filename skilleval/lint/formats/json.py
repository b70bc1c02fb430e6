"""For programs: everything, in one JSON object."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from skilleval.lint.engine import LintReport
from skilleval.lint.model import Finding, FixView, Severity

__all__ = ["render"]

VERSION = 1


def render(report: LintReport, *, color: bool = False) -> str:
    """``{"version", "skills", "findings", "summary"}``; text is ASCII with JSON escapes."""
    by_rule = Counter(finding.rule for finding in report.findings)
    data = {
        "version": VERSION,
        "skills": [{"path": s.path, "name": s.name, "verdicts": s.verdicts} for s in report.skills],
        "findings": [_finding(finding) for finding in report.findings],
        "summary": {
            "skills": len(report.skills),
            "errors": report.count(Severity.ERROR),
            "warnings": report.count(Severity.WARNING),
            "notes": report.count(Severity.NOTE),
            "by_rule": dict(sorted(by_rule.items())),
            "suppressed": report.suppressed,
            "baseline": report.known,
            "ignored": len(report.discovery.ignored),
            "not_followed": report.discovery.outside,
            "unread": report.discovery.unread,
        },
    }
    return json.dumps(data) + "\n"


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "targets": finding.targets,
        "levels": finding.levels,
        "path": finding.path,
        "line": finding.line,
        "column": finding.column,
        "end_line": finding.end_line,
        "end_column": finding.end_column,
        "message": finding.message,
        "source": finding.source,
        "fix": _fix(finding.fix) if finding.fix else None,
    }


def _fix(fix: FixView) -> dict[str, Any]:
    return {
        "title": fix.title,
        "safe": fix.safe,
        "edits": [edit._asdict() for edit in fix.edits],
        "rename": fix.rename,
    }
