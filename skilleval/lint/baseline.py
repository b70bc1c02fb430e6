"""Findings that were there before: only new ones count."""

from __future__ import annotations

import json
import os

from skilleval.errors import BaselineError
from skilleval.files import write_atomically
from skilleval.lint.engine import LintReport
from skilleval.lint.fingerprint import fingerprints

__all__ = ["apply_baseline", "write_baseline"]

_VERSION = 1


def write_baseline(report: LintReport, path: str) -> int:
    """Write the findings of a report as a baseline; the number written.

    One line a finding, in the order of the files, so that version control shows what came
    and went. Paths count from the baseline's folder, so that it holds wherever it is used.
    """
    base = os.path.dirname(os.path.abspath(path))
    entries = [
        {
            "rule": finding.rule,
            "path": os.path.relpath(finding.path, base),
            "message": finding.message,
            "fingerprint": name,
        }
        for finding, name in zip(report.findings, fingerprints(report.findings, base), strict=True)
    ]
    lines = ",\n    ".join(json.dumps(entry, sort_keys=True) for entry in entries)
    body = f"[\n    {lines}\n  ]" if entries else "[]"
    text = f'{{\n  "version": {_VERSION},\n  "findings": {body}\n}}\n'
    write_atomically(path, text.encode())
    return len(entries)


def apply_baseline(report: LintReport, path: str) -> None:
    """Take the findings that a baseline holds out of a report, and judge it anew.

    Raises:
        BaselineError: the file is missing or is no baseline.
    """
    known = _read(path)
    names = fingerprints(report.findings, os.path.dirname(os.path.abspath(path)))
    kept = [f for f, name in zip(report.findings, names, strict=True) if name not in known]
    report.known = len(report.findings) - len(kept)
    report.findings = kept
    report.judge()


def _read(path: str) -> set[str]:
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except FileNotFoundError:
        raise BaselineError(
            f"there is no baseline {path}",
            remedy=f"Write one: skilleval lint --baseline {path} --write-baseline",
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise BaselineError(f"can't read the baseline {path}: {error}") from None
    entries = data.get("findings") if isinstance(data, dict) else None
    right = isinstance(entries, list) and all(
        isinstance(entry, dict) and isinstance(entry.get("fingerprint"), str) for entry in entries
    )
    if not right or data.get("version") != _VERSION:
        raise BaselineError(
            f"{path} is no baseline of version {_VERSION}",
            remedy=f"Write it anew: skilleval lint --baseline {path} --write-baseline",
        )
    return {entry["fingerprint"] for entry in entries or []}
