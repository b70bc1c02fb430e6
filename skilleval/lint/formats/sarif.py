"""SARIF 2.1.0 for code-scanning services."""

from __future__ import annotations

import json
import os
from typing import Any
from urllib.parse import quote

from skilleval import __version__
from skilleval.lint.engine import LintReport
from skilleval.lint.fingerprint import fingerprints
from skilleval.lint.model import Finding, Rule, Severity
from skilleval.lint.registry import all_rules

__all__ = ["render"]

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def render(report: LintReport, *, color: bool = False) -> str:
    """One run with the rules that found something; URIs relative to the working directory."""
    used = {finding.rule for finding in report.findings}
    rules = [rule for rule in all_rules() if rule.id in used]
    index = {rule.id: at for at, rule in enumerate(rules)}
    names = fingerprints(report.findings)
    run = {
        "tool": {
            "driver": {
                "name": "skilleval",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"description": {"text": "The working directory."}}},
        "results": [
            _result(finding, index[finding.rule], name)
            for finding, name in zip(report.findings, names, strict=True)
        ],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}) + "\n"


def _rule(rule: Rule) -> dict[str, Any]:
    worst = max(rule.levels.values(), key=lambda level: level.rank)
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.why},
        "fullDescription": {"text": f"{rule.why} Source: {rule.source()}."},
        "help": {"text": f"{rule.why}\nSource: {rule.source()}\nMore: skilleval rules {rule.id}"},
        "defaultConfiguration": {"level": _LEVELS[worst]},
        "properties": {"tags": [rule.group]},
    }


def _result(finding: Finding, index: int, name: str) -> dict[str, Any]:
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": _artifact(finding.path),
                    "region": {
                        "startLine": finding.line,
                        "startColumn": finding.column,
                        "endLine": finding.end_line,
                        "endColumn": finding.end_column,
                    },
                }
            }
        ],
        "partialFingerprints": {"skillevalFinding/v1": name},
        "properties": {"targets": finding.targets},
    }


def _artifact(path: str) -> dict[str, str]:
    uri = quote(os.fsencode(path))
    if os.path.isabs(path):
        return {"uri": f"file://{uri}"}
    return {"uri": uri, "uriBaseId": "SRCROOT"}
