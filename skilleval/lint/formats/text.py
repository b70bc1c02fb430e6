"""For people: the finding, the source line with a caret, who says so, and how to settle it."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator

import click

from skilleval.lint.engine import LintReport
from skilleval.lint.model import ALL, Finding, Severity, Verdict
from skilleval.lint.wording import listing, plural
from skilleval.terminal import escape

__all__ = ["render", "summary"]

_COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_WIDTH = 110
_MAX_VERDICTS = 30

Paint = Callable[..., str]


def render(report: LintReport, *, color: bool = False) -> str:
    """The findings in the order of the files, and a summary."""
    paint: Paint = click.style if color else _plain
    lines: list[str] = []
    for finding in report.findings:
        lines.extend(_finding(finding, report, paint))
    if lines:
        lines.append("")
    lines.extend(summary(report, paint))
    return "\n".join(lines) + "\n"


def _plain(text: str, **_: object) -> str:
    return text


def _finding(finding: Finding, report: LintReport, style: Paint) -> Iterator[str]:
    level = style(f"{finding.severity}[{finding.rule}]", fg=_COLORS[finding.severity], bold=True)
    where = escape(f"{finding.path}:{finding.line}:{finding.column}")
    yield f"{style(where, bold=True)}: {level} {escape(finding.message)}"
    if finding.severity is Severity.NOTE:
        return
    if finding.excerpt.strip():
        yield from _excerpt(finding, style)
    everyone = len(finding.targets) == len(report.targets) == len(ALL)
    readers = "every reader" if everyone else ", ".join(finding.targets)
    yield style(f"   = for {readers}: {finding.source}", dim=True)
    if finding.fix:
        how = "--fix" if finding.fix.safe else "--fix --unsafe"
        yield style(f"   = fix: {escape(finding.fix.title)} ({how})", fg="green")


def _excerpt(finding: Finding, paint: Paint) -> Iterator[str]:
    """The line with a caret under the place; a long line is cut around it."""
    shift = finding.excerpt_column
    text, start = finding.excerpt.replace("\t", " "), finding.column - shift
    end = finding.end_column - shift if finding.end_line == finding.line else len(text)
    offset = max(0, start - _WIDTH // 2) if len(text) > _WIDTH else 0
    shown = text[offset : offset + _WIDTH]
    head = "…" if offset or shift > 1 else ""
    before = escape(text[offset:start])
    marked = escape(text[start : max(end, start + 1)][: _WIDTH - (start - offset)])
    margin = f"{finding.line:>5} | "
    yield (
        paint(margin, dim=True)
        + head
        + escape(shown)
        + ("…" if len(text) > offset + _WIDTH else "")
    )
    pad = " " * (len(margin) + len(head) + _columns(before))
    yield pad + paint("^" * max(_columns(marked), 1), fg=_COLORS[finding.severity])


def _columns(text: str) -> int:
    """How many columns a terminal gives a text."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.category(c) in ("Mn", "Me") for c in text)


def summary(report: LintReport, style: Paint = _plain) -> Iterator[str]:
    """Verdicts by target, and what was found, fixed, known and passed over."""
    failing = [s for s in report.skills if Verdict.FAIL in s.verdicts.values()]
    for skill in failing[:_MAX_VERDICTS]:
        targets = [t for t, verdict in skill.verdicts.items() if verdict is Verdict.FAIL]
        yield f"{style('fail', fg='red')} {escape(skill.path)}: {', '.join(targets)}"
    if len(failing) > _MAX_VERDICTS:
        yield f"… and {plural(len(failing) - _MAX_VERDICTS, 'skill')} more that fail"
    for target in report.targets:
        passed = sum(skill.verdicts[target] is Verdict.PASS for skill in report.skills)
        failed = len(report.skills) - passed
        verdict = style(f"{passed:,} pass", fg="green")
        if failed:
            verdict += ", " + style(f"{failed:,} fail", fg="red")
        yield f"{target:>12}: {verdict}"
    counts = ", ".join(
        plural(report.count(severity), severity.value)
        for severity in Severity
        if report.count(severity)
    )
    yield f"{plural(len(report.skills), 'skill')}: {counts or 'nothing found'}"
    safe = sum(bool(f.fix and f.fix.safe) for f in report.findings)
    unsafe = sum(bool(f.fix and not f.fix.safe) for f in report.findings)
    if safe or unsafe:
        yield f"{safe:,} can be fixed with --fix, {unsafe:,} more with --fix --unsafe"
    if report.suppressed:
        yield f"{plural(report.suppressed, 'finding')} switched off by comments in the skills"
    if report.known:
        yield f"{plural(report.known, 'finding')} known from the baseline"
    if report.discovery.ignored:
        yield f"{plural(len(report.discovery.ignored), 'path')} passed over by ignore patterns"
    if report.discovery.unread:
        folders = escape(listing(report.discovery.unread, 3))
        yield f"could not be read or lie too deep: {folders}"
    if report.discovery.outside:
        links = escape(listing(report.discovery.outside, 3))
        yield f"not followed, since they lead out of what was named: {links}"
