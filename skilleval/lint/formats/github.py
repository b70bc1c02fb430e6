"""Workflow commands that annotate a pull request on GitHub.

The runner obeys ``::command::`` at the start of a line and ``##[command]`` anywhere in one, so
what comes from a skill must never show up as either.
"""

from __future__ import annotations

from skilleval.lint.engine import LintReport
from skilleval.lint.formats import text as text_format
from skilleval.lint.model import Finding, Severity
from skilleval.terminal import escape

__all__ = ["render"]

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render(report: LintReport, *, color: bool = False) -> str:
    """A command for each finding, the worst first (GitHub shows only so many), then a summary."""
    worst_first = sorted(report.findings, key=lambda f: -f.severity.rank)  # stable
    commands = [_command(finding) for finding in worst_first]
    summary = (line.replace("##[", "##\\u{5b}") for line in text_format.summary(report))
    return "\n".join([*commands, *summary]) + "\n"


def _command(finding: Finding) -> str:
    place = {
        "file": finding.path,
        "line": finding.line,
        "endLine": finding.end_line,
        "title": f"skilleval: {finding.rule}",
    }
    if finding.line == finding.end_line:  # GitHub takes columns on one line only
        place |= {"col": finding.column, "endColumn": finding.end_column}
    properties = ",".join(f"{key}={_property(str(value))}" for key, value in place.items())
    message = f"{finding.message} ({', '.join(finding.targets)}: {finding.source})"
    return f"::{_COMMANDS[finding.severity]} {properties}::{_data(message)}"


def _data(text: str) -> str:
    return escape(text).replace("%", "%25").replace("##[", "##\\u{5b}")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
