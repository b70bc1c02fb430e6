"""JUnit XML: a suite for each skill, a test for each target."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from skilleval.lint.engine import LintReport
from skilleval.lint.model import Finding, Severity, SkillReport, Target, Verdict
from skilleval.terminal import escape as in_one_line

__all__ = ["render"]

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: LintReport, *, color: bool = False) -> str:
    """Errors are failures; warnings and notes stand in the output of the suite."""
    by_skill: dict[str, list[Finding]] = {}
    for finding in report.findings:
        by_skill.setdefault(finding.skill, []).append(finding)
    suites = [_suite(skill, by_skill.get(skill.path, []), report) for skill in report.skills]
    failed = sum(v is Verdict.FAIL for s in report.skills for v in s.verdicts.values())
    total = len(report.skills) * len(report.targets)
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return (
        f'{head}<testsuites name="skilleval lint" tests="{total}" failures="{failed}" errors="0">\n'
        + "".join(suites)
        + "</testsuites>\n"
    )


def _suite(skill: SkillReport, findings: list[Finding], report: LintReport) -> str:
    failed = sum(verdict is Verdict.FAIL for verdict in skill.verdicts.values())
    cases = "".join(_case(skill, target, findings) for target in report.targets)
    rest = "\n".join(_line(f) for f in findings if f.severity is not Severity.ERROR)
    output = f"    <system-out>{_text(rest)}</system-out>\n" if rest else ""
    return (
        f'  <testsuite name={_attribute(skill.path)} tests="{len(report.targets)}" '
        f'failures="{failed}" errors="0" skipped="0">\n{cases}{output}  </testsuite>\n'
    )


def _case(skill: SkillReport, target: Target, findings: list[Finding]) -> str:
    errors = [f for f in findings if f.levels.get(target) is Severity.ERROR]
    head = f"    <testcase classname={_attribute(skill.path)} name={_attribute(target)}"
    if not errors:
        return f"{head}/>\n"
    message = _attribute(f"{errors[0].rule}: {errors[0].message}")
    body = _text("\n".join(_line(f) for f in errors))
    failure = f'<failure message={message} type="error">{body}</failure>'
    return f"{head}>\n      {failure}\n    </testcase>\n"


def _line(finding: Finding) -> str:
    return in_one_line(
        f"{finding.path}:{finding.line}:{finding.column}: {finding.severity}[{finding.rule}] "
        f"{finding.message}"
    )


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", text))


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("\ufffd", in_one_line(text)))
