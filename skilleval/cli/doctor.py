"""``skilleval doctor``"""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from typing import Any

import click

from skilleval import __version__
from skilleval.errors import ExitCode, InputError
from skilleval.terminal import escape, write_out

__all__ = ["command"]

_TOOLS = {
    "bash": "commands of a model need it",
    "git": "changed skills are found with it",
    "rg": "searching files is faster with it (ripgrep)",
}


@click.command("doctor")
@click.option(
    "--sandbox",
    type=click.Choice(["auto", "bubblewrap", "landlock", "none"]),
    default="auto",
    show_default=True,
    help="Which sandbox to try.",
)
@click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True
)
def command(sandbox: str, format_: str) -> int:
    """Say which sandbox commands run in here, and prove it by trying to get out.

    Exit code 0 means that everything held that the sandbox promises to stop; 1 that an attempt
    got through, or that no sandbox works.
    """
    report = _examine(sandbox)
    write_out(json.dumps(report, indent=2) + "\n" if format_ == "json" else _text(report))
    return ExitCode.OK if report["ok"] else ExitCode.FAILED


def _examine(wanted: str) -> dict[str, Any]:
    report: dict[str, Any] = {
        "version": 1,
        "skilleval": __version__,
        "python": {"version": platform.python_version(), "path": sys.executable},
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "tools": {name: _tool(name) for name in _TOOLS},
        "kinds": _kinds(),
        "sandbox": None,
        "problem": "",
        "gaps": [],
        "attempts": [],
        "ok": False,
    }
    try:
        _try(wanted, report)
    except InputError as error:
        report["problem"] = " ".join(filter(None, (f"{error.message}.", error.remedy)))
    except OSError as error:  # a program that the attempts need is not here
        what = ": ".join(filter(None, (error.strerror or str(error), error.filename)))
        report["problem"] = f"the attempts could not be made: {what}."
    return report


def _try(wanted: str, report: dict[str, Any]) -> None:
    from skilleval.harness.sandbox.probes import probe

    findings = probe(wanted)
    report["sandbox"] = findings.name
    report["gaps"] = list(findings.gaps)
    report["attempts"] = [outcome._asdict() for outcome in findings.outcomes]
    report["ok"] = all(each.held or not each.promised for each in findings.outcomes)


def _kinds() -> dict[str, dict[str, str]]:
    from skilleval.harness.sandbox import bubblewrap, launched, ruleset

    if sys.platform != "linux":
        return {}
    return {
        "bubblewrap": {"version": bubblewrap.version(), "problem": bubblewrap.problem()},
        "landlock": {"version": str(ruleset.version() or ""), "problem": launched.problem()},
    }


def _tool(name: str) -> str:
    """The first line that a program says of its version; empty if it is not there."""
    path = shutil.which(name)
    if not path:
        return ""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    return lines[0] if lines else "there"


def _text(report: dict[str, Any]) -> str:
    python = report["python"]
    rows = [
        ("skilleval", report["skilleval"]),
        ("python", f"{python['version']} ({python['path']})"),
        ("system", report["system"]),
        *((name, said or f"missing: {_TOOLS[name]}") for name, said in report["tools"].items()),
    ]
    for name, kind in report["kinds"].items():
        version = f"version {kind['version']}, " if kind["version"] else ""
        rows.append((name, version + ("works" if not kind["problem"] else kind["problem"])))
    rows.append(("sandbox", report["sandbox"] or f"none works: {report['problem']}"))
    lines = [f"{name:<10}  {escape(said)}" for name, said in rows]
    if report["sandbox"]:
        lines += ["", "Attempts to get out:"]
        lines += [f"  {_verdict(each):<8}  {each['name']}" for each in report["attempts"]]
        without = report["sandbox"] == "none"
        lines += ["", "Without a sandbox:" if without else f"What {report['sandbox']} can't stop:"]
        lines += [f"  - {gap}" for gap in report["gaps"]]
        lines += ["", _conclusion(report["attempts"])]
    return "\n".join(lines) + "\n"


def _conclusion(attempts: list[dict[str, Any]]) -> str:
    """What follows for a person who wants to run models here."""
    through = sum(each["promised"] and not each["held"] for each in attempts)
    still_open = sum(not each["promised"] and not each["held"] for each in attempts)
    if through:
        return f"{through} got through: do not run models here."
    if still_open:
        return f"{still_open} are open: run only models and skills here that you trust."
    return "Everything was stopped."


def _verdict(outcome: dict[str, Any]) -> str:
    if outcome["held"]:
        return "stopped"
    return "THROUGH" if outcome["promised"] else "open"
