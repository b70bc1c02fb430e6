"""The GitHub Action: its scripts run in bash as a runner would run them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import GOOD, PROJECT, write_files

ACTION: dict[str, Any] = yaml.safe_load((PROJECT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
SCRIPTS = [step for step in STEPS if "run" in step]
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")

BAD = GOOD.replace("name: pdf-tools", "name: Odd_Name")
OTHER_BAD = """---
name: Odd_Chart
description: Draws bar charts of a survey. Use when the user asks for a chart.
---

# Charts

Run `gnuplot` on the file.
"""
COMMANDS = {"error", "warning", "notice", "set-output", "save-state", "add-mask", "add-matcher"}

needs_bash = pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")


# --- a small runner ---


@dataclass
class Result:
    """What a run of the action left behind."""

    code: int
    log: str
    outputs: dict[str, str] = field(default_factory=dict)
    summary: str = ""

    @property
    def commands(self) -> list[tuple[str, str]]:
        """The workflow commands that a runner would obey: their names and the rest.

        As in actions/runner, ``::name …::`` counts at the start of a line, ``##[name …]``
        anywhere, and nothing between ``::stop-commands::TOKEN`` and ``::TOKEN::``.
        """
        found, stopped = [], ""
        for line in self.log.splitlines():
            match = re.match(r"\s*::([^\s:]+)(.*?)::(.*)", line)
            if stopped:
                stopped = "" if match and match[1] == stopped else stopped
            elif match and match[1] == "stop-commands":
                stopped = match[3]
            elif match and match[1] in COMMANDS:
                found.append((match[1], match[2] + "::" + match[3]))
            elif (old := re.search(r"##\[([^\s\]]+)([^\]]*)\](.*)", line)) and old[1] in COMMANDS:
                found.append((old[1], old[2] + "]" + old[3]))
        assert not stopped, "commands were never switched on again"
        return found


def evaluate(text: str, contexts: Mapping[str, Any]) -> str:
    """A text with its expressions replaced; only plain paths such as ``inputs.x`` are known."""

    def value(match: re.Match[str]) -> str:
        found: Any = contexts
        for key in match[1].split("."):
            found = found[key]
        return str(found)

    return EXPRESSION.sub(value, text)


class Runner:
    """Runs the steps that are scripts, the way a GitHub runner does, in a workspace."""

    def __init__(self, root: Path, env: Mapping[str, str]) -> None:
        self.workspace = root / "work space"  # runners of one's own may have blanks in paths
        self.temp = root / "runner temp"
        self.workspace.mkdir()
        self.temp.mkdir()
        self.env = dict(env)

    def run(self, **inputs: str) -> Result:
        """Run the action with some inputs, written with ``_`` for ``-``."""
        given = {name.replace("_", "-"): value for name, value in inputs.items()}
        assert set(given) <= set(ACTION["inputs"])
        defaults = {name: entry.get("default", "") for name, entry in ACTION["inputs"].items()}
        steps = {step["id"]: {"outputs": _Outputs()} for step in STEPS if "id" in step}
        steps["python"]["outputs"]["python-path"] = sys.executable
        contexts = {"inputs": defaults | given, "steps": steps}
        result = Result(0, "")
        summary = self._file("summary")
        for step in SCRIPTS:
            if result.code:
                break
            outputs = self._file("output")
            done = self._script(step, contexts, GITHUB_STEP_SUMMARY=summary, GITHUB_OUTPUT=outputs)
            result.code = done.returncode
            result.log += done.stdout
            if "id" in step:
                for line in outputs.read_text(encoding="utf-8").splitlines():
                    name, _, value = line.partition("=")
                    steps[step["id"]]["outputs"][name] = value
        result.outputs = {
            name: evaluate(entry["value"], contexts) for name, entry in ACTION["outputs"].items()
        }
        result.summary = summary.read_text(encoding="utf-8")
        return result

    def python(self, *before: str) -> None:
        """Put this interpreter where the install step would put one, behind some shell lines."""
        path = self.temp / "skilleval" / "venv" / "bin" / "python"
        path.parent.mkdir(parents=True, exist_ok=True)
        script = ["#!/bin/sh", *before, f'exec "{sys.executable}" "$@"', ""]
        path.write_text("\n".join(script), encoding="utf-8")
        path.chmod(0o755)

    def _file(self, name: str) -> Path:
        path = self.temp / f"_{name}"
        path.write_text("", encoding="utf-8")
        return path

    def _script(
        self, step: Mapping[str, Any], contexts: Mapping[str, Any], **files: Path
    ) -> subprocess.CompletedProcess[str]:
        assert step["shell"] == "bash"
        script = self.temp / "script.sh"
        script.write_text(evaluate(step["run"], contexts), encoding="utf-8")
        given = {name: evaluate(value, contexts) for name, value in step.get("env", {}).items()}
        places = {
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTION_PATH": str(PROJECT),
            "GITHUB_WORKSPACE": str(self.workspace),
            "RUNNER_TEMP": str(self.temp),
        }
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
            cwd=self.workspace,
            env=self.env | places | {name: str(path) for name, path in files.items()} | given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=600,
            check=False,
        )


class _Outputs(dict[str, str]):
    """Outputs of a step: one that was not set is empty."""

    def __missing__(self, name: str) -> str:
        return ""


@pytest.fixture
def runner(tmp_path: Path, env: dict[str, str]) -> Runner:
    """A runner with an empty workspace."""
    return Runner(tmp_path, env)


@pytest.fixture
def installed(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> Runner:
    """A runner that has skilleval where the install step would put it."""
    runner.python()
    only_lint = [step for step in SCRIPTS if step.get("id") == "lint"]
    monkeypatch.setattr(f"{__name__}.SCRIPTS", only_lint)
    return runner


# --- what stands in the file ---


def test_scripts_hold_no_expressions() -> None:
    assert SCRIPTS
    for step in SCRIPTS:
        assert "${{" not in step["run"]
        assert "eval" not in step["run"].split()


def test_inputs_are_declared_and_used() -> None:
    text = json.dumps(STEPS)
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(ACTION["inputs"])
    for name, entry in ACTION["inputs"].items():
        assert entry["description"], name
        assert isinstance(entry["default"], str), name


def test_values_of_the_environment_are_used() -> None:
    for step in SCRIPTS:
        for name in step.get("env", {}):
            assert re.search(rf"\$\{{?{name}\b", step["run"]), name


def test_other_actions_are_pinned() -> None:
    for step in STEPS:
        assert ("run" in step) != ("uses" in step)
        if "uses" in step:
            assert re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"])


def test_outputs_come_from_a_step() -> None:
    steps = {step.get("id") for step in STEPS}
    for entry in ACTION["outputs"].values():
        match = re.fullmatch(r"\$\{\{ steps\.([\w-]+)\.outputs\.[\w-]+ \}\}", entry["value"])
        assert match and match[1] in steps


def test_documentation_fits() -> None:
    """What the examples in docs/ci.md name is there."""
    text = (PROJECT / "docs" / "ci.md").read_text(encoding="utf-8")
    blocks = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)]
    steps = [
        step for block in blocks for job in block.get("jobs", {}).values() for step in job["steps"]
    ]
    ours = [step for step in steps if step.get("uses", "").startswith("OWNER/skilleval@")]
    assert len(ours) >= 2
    for step in ours:
        assert set(step.get("with", {})) <= set(ACTION["inputs"])
    for name in ACTION["inputs"]:
        assert f"`{name}`" in text
    for name in ACTION["outputs"]:
        assert f"`{name}`" in text
    manifest = yaml.safe_load((PROJECT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    used = {hook["id"] for b in blocks for repo in b.get("repos", ()) for hook in repo["hooks"]}
    assert used == {hook["id"] for hook in manifest}


def test_no_tabs() -> None:
    for name in ("action.yml", ".pre-commit-hooks.yaml"):
        assert "\t" not in (PROJECT / name).read_text(encoding="utf-8")


# --- what it does ---


@needs_bash
def test_bad_skill_is_annotated(installed: Runner) -> None:
    write_files(installed.workspace, {"skills/pdf-tools/SKILL.md": BAD})
    result = installed.run(sarif_file="out/skill s.sarif")
    assert result.code == 1, result.log
    annotations = [data for name, data in result.commands if name == "error"]
    assert any("file=skills/pdf-tools/SKILL.md,line=2" in data for data in annotations)
    assert result.outputs["exit-code"] == "1"
    assert int(result.outputs["errors"]) == len(annotations) > 0
    assert result.outputs["warnings"] == "0"
    assert result.summary.startswith("## skilleval lint: 1 skill\n")
    assert "**fail**" in result.summary
    sarif = json.loads((installed.workspace / "out/skill s.sarif").read_text(encoding="utf-8"))
    assert sarif["version"] == "2.1.0"
    found = sarif["runs"][0]["results"]
    assert sum(entry["level"] == "error" for entry in found) == len(annotations)


@needs_bash
def test_good_skill_passes(installed: Runner) -> None:
    write_files(installed.workspace, {"skills/pdf-tools/SKILL.md": GOOD})
    result = installed.run(sarif_file="lint.sarif", format="text", summary="false")
    assert result.code == 0, result.log
    assert result.outputs == {"errors": "0", "warnings": "0", "exit-code": "0"}
    assert result.summary == ""
    assert "1 skill: " in result.log
    assert json.loads((installed.workspace / "lint.sarif").read_text(encoding="utf-8"))["runs"]


@needs_bash
def test_no_skill_is_no_success(installed: Runner) -> None:
    result = installed.run(sarif_file="lint.sarif")
    assert result.code == 2
    assert "0 skills found" in result.log
    assert result.outputs == {"errors": "", "warnings": "", "exit-code": "2"}
    assert [name for name, _ in result.commands] == ["error"]
    assert result.summary == ""


@needs_bash
@pytest.mark.parametrize(
    ("content", "code"), [(BAD, 1), (GOOD, 2)], ids=["findings first", "nothing else"]
)
def test_failed_report_is_told_and_masks_nothing(
    installed: Runner, content: str, code: int
) -> None:
    write_files(installed.workspace, {"pdf-tools/SKILL.md": content, "file": ""})
    result = installed.run(sarif_file="file/lint.sarif")
    assert result.code == code
    assert result.outputs["exit-code"] == str(code)
    assert any("the SARIF file could not be written" in data for _, data in result.commands)
    assert result.summary, "the other reports are there"


@needs_bash
@pytest.mark.parametrize(
    ("format_", "said"),
    [("json", "the findings could not be counted"), ("markdown", "the summary could not be")],
)
def test_crash_for_a_report_is_told(installed: Runner, format_: str, said: str) -> None:
    write_files(installed.workspace, {"pdf-tools/SKILL.md": GOOD})
    installed.python(f'case "$*" in *--format={format_}*) echo "{{}}"; exit 3;; esac')
    result = installed.run()
    assert result.code == 2
    assert [name for name, data in result.commands if said in data] == ["error"]


@needs_bash
def test_options_reach_the_command(installed: Runner) -> None:
    write_files(installed.workspace, {"pdf-tools/SKILL.md": BAD})
    assert installed.run(fail_on="never").code == 0
    none = installed.run(select="name-folder, name-characters", ignore="name-folder name")
    assert (none.code, none.outputs["errors"]) == (0, "0"), none.log
    one = installed.run(select="name-folder\nname-characters\n", ignore="name-folder")
    assert (one.code, one.outputs["errors"]) == (1, "1"), one.log
    assert installed.run(target="no-such-target").code == 2


@needs_bash
def test_targets(installed: Runner) -> None:
    write_files(installed.workspace, {"pdf-tools/SKILL.md": GOOD})
    result = installed.run(target="spec, claude-code", format="text")
    assert result.code == 0, result.log
    shown = re.findall(r"^ *([a-z-]+): 1 pass$", result.log, re.MULTILINE)
    assert shown == ["spec", "claude-code"]


@needs_bash
def test_baseline_and_changes(installed: Runner, env: dict[str, str]) -> None:
    write_files(installed.workspace, {"old/SKILL.md": BAD, "new/README.md": "Soon.\n"})
    lint = [sys.executable, "-I", "-m", "skilleval", "lint"]
    baseline = ["--baseline", "known.json", "--write-baseline"]
    commands = (
        [*lint, *baseline],
        ["git", "init", "--quiet"],
        ["git", "add", "--all"],
        ["git", "commit", "--quiet", "--message", "Before"],
    )
    for words in commands:
        subprocess.run(words, cwd=installed.workspace, env=env, check=True, timeout=60)
    assert installed.run(baseline="known.json").outputs["errors"] == "0"
    assert installed.run(changed_since="HEAD").outputs["errors"] == "0"
    write_files(installed.workspace, {"new/SKILL.md": OTHER_BAD})
    for inputs in ({"baseline": "known.json"}, {"changed_since": "HEAD"}):
        result = installed.run(**inputs)
        assert result.code == 1, result.log
        assert result.commands
        assert all("file=new/SKILL.md" in data for _, data in result.commands)
    assert installed.run(changed_since="origin/gone").code == 2


@needs_bash
@pytest.mark.parametrize(
    ("paths", "shown"),
    [
        ("one two", {"one", "two"}),
        (" one  two ", {"one", "two"}),
        ("one\nthe third\n", {"one", "the third"}),
        ("one\n\ntwo", {"one", "two"}),
        ("the third\n", {"the third"}),
        ("", {"one", "two", "the third", "-x", "*"}),
        ("-x", {"-x"}),
        ("*", {"*"}),
    ],
)
def test_paths(installed: Runner, paths: str, shown: set[str]) -> None:
    """Blanks part paths in one line, new lines do in several; nothing is a pattern."""
    names = ("one", "two", "the third", "-x", "*")
    write_files(installed.workspace, {f"{name}/SKILL.md": BAD for name in names})
    result = installed.run(paths=paths, format="json")
    assert result.code == 1, result.log
    report = json.loads(next(line for line in result.log.splitlines() if line.startswith("{")))
    assert {skill["path"].split("/")[0] for skill in report["skills"]} == shown


NASTY = (
    "$(touch pwned)",
    "`touch pwned`",
    "; touch pwned;",
    "a b\n$(touch pwned)\n",
    "'; touch pwned; '",
    '"; touch pwned; "',
    "--fix\n--write-baseline",
    "|| touch pwned",
    "${IFS}$PATH",
    "x\nEOF\ntouch pwned",
)


@needs_bash
@pytest.mark.parametrize("text", NASTY)
def test_inputs_are_never_run(installed: Runner, text: str) -> None:
    """Each input comes to the command as it is; a stand-in for the command notes its words."""
    noted = installed.temp / "noted"
    installed.python(
        'if [ "$3" = skilleval ]; then',
        f"  printf '%s\\0' \"$@\" END >> '{noted}'",
        '  echo \'{"summary": {"errors": 0, "warnings": 0}}\'',
        "  exit 0",
        "fi",
    )
    names = set(ACTION["inputs"]) - {"python-version"}
    result = installed.run(**{name.replace("-", "_"): text for name in names})
    assert result.code == 0, result.log
    words = noted.read_text(encoding="utf-8").split("\0END\0")[0].split("\0")
    each = [word for word in re.split(r"[ \n,]+", text) if word]
    paths = text.split("\n") if "\n" in text else text.split()
    assert words == [
        *("-I", "-m", "skilleval", "lint"),
        f"--format={text}",
        *(f"--target={word}" for word in each),
        *(f"--select={word}" for word in each),
        *(f"--ignore={word}" for word in each),
        f"--fail-on={text}",
        f"--baseline={text}",
        f"--changed-since={text}",
        "--",
        *filter(None, paths),
    ]
    assert {path.name for path in installed.workspace.iterdir()} == {text}, "the SARIF file"
    assert result.summary == ""


@needs_bash
@pytest.mark.parametrize("format_", ["text", "github", "junit"])
def test_skills_give_the_runner_no_commands(installed: Runner, format_: str) -> None:
    """A pull request must not fake an output of the action, or hide what it prints."""
    fake = "##[set-output name=errors]0"
    write_files(
        installed.workspace,
        {
            "pdf-tools/SKILL.md": BAD.replace("Odd_Name", f"Odd_Name # {fake}"),
            "a\n::set-output name=errors::0/SKILL.md": BAD,
            f"{fake}/SKILL.md": GOOD.replace("pdf-tools", "'##[add-mask]e'"),
            "away ##[add-mask]e": f"-> {installed.temp}",
        },
    )
    result = installed.run(format=format_)
    assert result.code == 1
    assert int(result.outputs["errors"]) > 0
    obeyed = {name for name, _ in result.commands}
    assert obeyed <= {"error", "warning", "notice"}
    assert bool(obeyed) is (format_ == "github")
    assert "add-mask" in result.log, "there was something to be obeyed"
    if format_ in ("text", "github"):  # what we print ourselves has no such marks at all
        ours = result.log.partition("::stop-commands::")[0]
        assert "##[" not in ours


@needs_bash
def test_modules_of_the_workspace_are_not_imported(installed: Runner) -> None:
    trap = "open('pwned', 'w')\n"
    names = ("secrets.py", "json.py", "click.py", "yaml.py", "sitecustomize.py", "pip.py")
    write_files(installed.workspace, {"pdf-tools/SKILL.md": GOOD, **dict.fromkeys(names, trap)})
    installed.env["PYTHONPATH"] = "."
    assert installed.run().code == 0
    assert not (installed.workspace / "pwned").exists()


@needs_bash
@pytest.mark.slow
@pytest.mark.usefixtures("index")
def test_whole_action(runner: Runner) -> None:
    """With the install step, from this checkout, into an environment of its own."""
    trap = "open('pwned', 'w')\n"
    files = {"pdf-tools/SKILL.md": BAD, "venv.py": trap, "pip.py": trap}
    write_files(runner.workspace, files)
    result = runner.run(sarif_file="lint.sarif")
    assert result.code == 1, result.log
    assert "error" in {name for name, _ in result.commands}
    assert int(result.outputs["errors"]) > 0
    assert result.summary.startswith("## skilleval lint: 1 skill\n")
    assert json.loads((runner.workspace / "lint.sarif").read_text(encoding="utf-8"))["runs"]
    left = {path.name for path in runner.workspace.iterdir()}
    assert left == {"pdf-tools", "venv.py", "pip.py", "lint.sarif"}
    assert (runner.temp / "skilleval" / "venv").is_dir()
