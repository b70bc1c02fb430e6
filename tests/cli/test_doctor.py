"""``skilleval doctor``: what it says is what is."""

from __future__ import annotations

import json

import pytest
from cli.kit import process, run

from skilleval.errors import ExitCode, Unmeasured
from skilleval.harness.sandbox import bubblewrap, launched, probes
from skilleval.harness.sandbox.probes import Findings, Outcome

WORKING = [
    name
    for name, problem in (("bubblewrap", bubblewrap.problem()), ("landlock", launched.problem()))
    if not problem
]
USES = {
    "outlive the command",
    "outlive the time-out",
    "use too much memory",
    "start too many processes",
    "write too long a file",
    "use too much processor time",
    "read a variable",
}
"""What every sandbox stops, even the one that isolates nothing."""


@pytest.mark.parametrize("kind", WORKING)
def test_sandbox_that_works_holds_everything(kind: str) -> None:
    result = run("doctor", "--sandbox", kind, "--format", "json")
    report = result.json
    assert all(each["held"] and each["promised"] for each in report["attempts"]), report
    assert result.code == ExitCode.OK
    assert report["ok"] and report["sandbox"] == kind and report["problem"] == ""
    assert len(report["attempts"]) >= 16
    assert report["gaps"]
    assert report["kinds"][kind]["problem"] == ""


def test_text_in_a_process_of_its_own() -> None:
    result = process("doctor")
    assert result.err == ""
    if not WORKING:
        pytest.skip("no sandbox works here")
    assert result.code == ExitCode.OK, result.out
    assert f"sandbox     {WORKING[0]}\n" in result.out
    assert "  stopped   send by UDP\n" in result.out
    assert f"What {WORKING[0]} can't stop:\n  - " in result.out
    assert "THROUGH" not in result.out
    assert result.out.splitlines()[-1] == "Everything was stopped."


def test_a_machine_without_the_usual_programs_is_reported_on() -> None:
    report = process("doctor", "--format", "json", env={"PATH": "/nonexistent"})
    assert report.code == ExitCode.FAILED and report.err == ""
    assert report.json["problem"] and not report.json["ok"]
    assert report.json["tools"]["bash"] == ""
    text = process("doctor", env={"PATH": "/nonexistent"})
    assert "missing: commands of a model need it" in text.out and "none works" in text.out


def test_without_a_sandbox_only_limits_are_promised() -> None:
    """It also shows that the attempts would get through."""
    result = run("doctor", "--sandbox", "none", "--format", "json")
    report = result.json
    held = {each["name"] for each in report["attempts"] if each["held"]}
    promised = {each["name"] for each in report["attempts"] if each["promised"]}
    assert held == promised == USES
    assert result.code == ExitCode.OK and report["sandbox"] == "none"
    assert "nothing is isolated" in report["gaps"][0]
    said = run("doctor", "--sandbox", "none").out
    assert "Without a sandbox:\n  - nothing is isolated" in said
    open_ones = len(report["attempts"]) - len(held)
    assert said.splitlines()[-1].startswith(f"{open_ones} are open")


def test_attempt_that_gets_through_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = [Outcome("a", True, True), Outcome("b", False, True), Outcome("c", False, False)]
    monkeypatch.setattr(probes, "probe", lambda kind: Findings("landlock", ("a gap",), outcomes))
    result = run("doctor")
    assert result.code == ExitCode.FAILED
    lines = result.out.splitlines()
    assert {"  stopped   a", "  THROUGH   b", "  open      c", "  - a gap"} <= set(lines)
    assert "1 got through" in lines[-1]
    assert not json.loads(run("doctor", "--format", "json").out)["ok"]


def test_machine_without_any_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "problem", lambda: "there is no bwrap on PATH")
    monkeypatch.setattr(launched, "problem", lambda: "this kernel does not have it")
    result = run("doctor")
    assert result.code == ExitCode.FAILED
    assert "no sandbox works here" in result.out and "Install bubblewrap" in result.out
    assert "bubblewrap" in result.out and "Attempts" not in result.out
    report = run("doctor", "--format", "json").json
    assert report["sandbox"] is None and not report["ok"] and report["problem"]


def test_missing_tools_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = [Outcome("a", True, True)]
    monkeypatch.setattr(probes, "probe", lambda kind: Findings("landlock", ("a gap",), outcomes))
    monkeypatch.setattr("shutil.which", lambda name: None)
    out = run("doctor").out
    assert "missing: searching files is faster with it (ripgrep)" in out


def test_sandbox_that_breaks_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(kind: str) -> Findings:
        raise Unmeasured("the sandbox could not be set up: x")

    monkeypatch.setattr(probes, "probe", breaks)
    result = run("doctor")
    assert result.code == ExitCode.UNMEASURED
    assert result.err.startswith("error: the sandbox could not be set up") and result.out == ""


def test_unknown_sandbox() -> None:
    result = run("doctor", "--sandbox", "docker")
    assert result.code == ExitCode.USAGE and "docker" in result.err
