"""``skilleval chat``: one query through the full harness."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli.kit import assert_one_clear_error, run
from conftest import PROJECT, Write

SKILLS = str(PROJECT / "skills")
CSV = "name; Age \n a ;1\n a ;1\n"
QUERY = "Clean up people.csv, it has semicolons and duplicates"


@pytest.fixture
def people(write: Write) -> Path:
    """A working directory with a table to tidy, and nothing else."""
    folder = write({"work/people.csv": CSV})
    os.chdir(folder)
    return folder / "work"


def script(turns: list[dict[str, object]]) -> str:
    Path("script.yaml").write_text(json.dumps({"turns": turns}))
    return "offline/script:script.yaml"


def test_a_skill_is_found_and_carried_out(people: Path) -> None:
    done = run(
        "chat", QUERY, "--skills", SKILLS, "--workspace", "work", "--mode", "bypassPermissions",
        "--model", "offline/literal", "--trace", "t.jsonl",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "is no language model" in done.out
    assert "skill loaded: csv-tidy" in done.err
    assert (people / "people.tidy.csv").read_text() == "name,age\na,1\n"
    assert (people / "people.csv").read_text() == CSV


def test_a_skill_can_be_called_by_name(people: Path) -> None:
    done = run(
        "chat", "/csv-tidy people.csv", "--skills", SKILLS, "--workspace", "work",
        "--mode", "bypassPermissions", "--model", "offline/literal", "--trace", "t.jsonl",
    )  # fmt: skip
    assert done.code == 0, done.err
    events = [json.loads(line) for line in Path("t.jsonl").read_text().splitlines()]
    loaded = [event for event in events if event["type"] == "activation"]
    assert [(event["skill"], event["route"]) for event in loaded] == [("csv-tidy", "slash")]
    assert (people / "people.tidy.csv").exists()


def test_skills_are_found_in_the_documented_style(people: Path) -> None:
    done = run(
        "chat", QUERY, "--skills", SKILLS, "--workspace", "work", "--mode", "bypassPermissions",
        "--model", "offline/literal", "--style", "documented", "--trace", "t.jsonl",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "/csv-tidy/SKILL.md" in done.err
    start = json.loads(Path("t.jsonl").read_text().splitlines()[0])
    assert "Skill" not in [tool["name"] for tool in start["tools"]]


def test_what_nobody_can_allow_is_refused(people: Path) -> None:
    turns = [{"tools": [{"name": "Bash", "input": {"command": "touch x"}}]}, {"text": "ok"}]
    done = run("chat", "x", "--workspace", "work", "--model", script(turns), "--trace", "t.jsonl")
    assert done.code == 0
    assert "denied by callback" in done.err
    assert not (people / "x").exists()
    allowed = run(
        "chat", "x", "--workspace", "work", "--model", script(turns), "--allow", "Bash(touch:*)",
        "--trace", "u.jsonl",
    )  # fmt: skip
    assert "denied" not in allowed.err and (people / "x").exists()


def test_events_as_lines_of_json(people: Path) -> None:
    done = run(
        "chat", "x", "--workspace", "work", "--model", script([{"text": "hello"}]),
        "--trace", "t.jsonl", "--format", "jsonl",
    )  # fmt: skip
    shown = [json.loads(line) for line in done.out.splitlines()]
    kept = [json.loads(line) for line in Path("t.jsonl").read_text().splitlines()]
    assert shown == kept
    assert shown[-1]["text"] == "hello"


@pytest.mark.parametrize("format_", ["text", "jsonl"])
def test_keys_are_not_shown(people: Path, format_: str) -> None:
    turns = [
        {"tools": [{"name": "Bash", "input": {"command": "echo sk-ant-api03-abcdefgh"}}]},
        {"text": "It is sk-ant-api03-abcdefgh."},
    ]
    done = run(
        "chat", "x", "--workspace", "work", "--model", script(turns), "--trace", "t.jsonl",
        "--format", format_, "--mode", "bypassPermissions",
    )  # fmt: skip
    assert "[redacted]" in done.out
    assert "abcdefgh" not in done.out + done.err + Path("t.jsonl").read_text()


def test_settings_of_the_harness_hold(people: Path) -> None:
    Path("skilleval.toml").write_text(
        "[harness]\nbackground = true\n[harness.budgets]\nbash-characters = 300\n"
    )
    turns: list[dict[str, object]] = [
        {"tools": [{"name": "Bash", "input": {"command": "seq 1 900"}}]},
        {"tools": [{"name": "Bash", "input": {"command": "echo", "run_in_background": True}}]},
        {"text": "ok"},
    ]
    words = ["chat", "x", "--workspace", "work", "--model", script(turns), "--trace", "t.jsonl"]
    assert run(*words, "--mode", "bypassPermissions").code == 0
    events = [json.loads(line) for line in Path("t.jsonl").read_text().splitlines()]
    cut, started = (event["content"] for event in events if event["type"] == "result")
    assert "Bash shows 300 characters" in cut and started.startswith("Started.")
    Path("skilleval.toml").write_text("[harness]\nbackgroud = true\n")
    refused = run(*words[:-1], "u.jsonl")
    assert_one_clear_error(refused, "no setting backgroud")
    assert "Did you mean background?" in refused.err


def test_a_session_goes_on(people: Path) -> None:
    model = script([{"text": "first"}, {"text": "second"}])
    run("chat", "one", "--workspace", "work", "--model", model, "--trace", "t.jsonl")
    done = run("chat", "two", "--workspace", "work", "--resume", "t.jsonl")
    assert done.out == "second\n"


def test_an_exchange_is_recorded_and_replayed(people: Path) -> None:
    words = ["chat", "x", "--workspace", "work", "--model", script([{"text": "hello"}])]
    assert run(*words, "--record", "tape", "--trace", "a.jsonl").out == "hello\n"
    Path("script.yaml").write_text('{"turns": [{"text": "changed"}]}')
    assert run(*words, "--replay", "tape", "--trace", "b.jsonl").out == "hello\n"
    Path("work/new.txt").touch()
    missed = run(*words, "--replay", "tape", "--trace", "c.jsonl")
    assert missed.code == 2
    assert "is not in tape" in missed.err and "new.txt" in missed.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["x", "--model", "offline/nothing"], "offline/nothing"),
        (["x", "--model", "claude-haiku-5-5"], "ANTHROPIC_API_KEY"),
        (["x", "--model", "local/none.gguf"], "none.gguf"),
        (["x", "--replay", "nowhere"], "nowhere"),
        (["x", "--resume", "nowhere.jsonl"], "nowhere.jsonl"),
        (["x", "--allow", "Bash("], "Bash("),
        (["x", "--mcp", "nowhere.json"], "nowhere.json"),
        (["x", "--settings", "nowhere.json"], "nowhere.json"),
        (["x", "--skills", "nowhere"], "nowhere"),
    ],
)
def test_bad_input_is_one_clear_error(
    people: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    for name in ("API_KEY", "AUTH_TOKEN", "BASE_URL", "CONFIG_DIR"):
        monkeypatch.delenv(f"ANTHROPIC_{name}", raising=False)
    assert_one_clear_error(run("chat", *words, "--workspace", "work"), said)


def test_ctrl_c_ends_it_with_a_whole_trace(people: Path) -> None:
    model = script([{"text": "late", "delay": 60}])
    words = [
        sys.executable,
        "-m",
        "skilleval",
        "chat",
        "x",
        "--workspace",
        "work",
        "--model",
        model,
    ]
    with subprocess.Popen(
        [*words, "--trace", "t.jsonl", "--format", "jsonl"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        for line in process.stdout:
            if json.loads(line)["type"] == "request":
                process.send_signal(signal.SIGINT)
                break
        process.stdout.read()
        assert process.wait() == 130
    last = json.loads(Path("t.jsonl").read_text().splitlines()[-1])
    assert (last["type"], last["outcome"]) == ("end", "interrupted")
