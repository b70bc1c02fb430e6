"""``skilleval chat`` with a person at a terminal, and what becomes of it when it is stopped."""

from __future__ import annotations

import json
import os
import pty
import resource
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cli.kit import assert_one_clear_error, run
from conftest import Write

TOUCH = {"tools": [{"name": "Bash", "input": {"command": "touch x"}}]}
BASE = ["chat", "x", "--workspace", "work", "--trace", "t.jsonl"]


@pytest.fixture
def work(write: Write) -> Path:
    """A working directory with an empty workspace."""
    folder = write({"work/.keep": ""})
    os.chdir(folder)
    return folder / "work"


def script(*turns: dict[str, Any], **more: Any) -> str:
    Path("script.yaml").write_text(json.dumps({"turns": turns, **more}))
    return "offline/script:script.yaml"


def events(path: str = "t.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


class Terminal:
    """A command at a terminal: what it shows, and what is typed."""

    def __init__(self, process: subprocess.Popen[bytes], handle: int) -> None:
        self.process, self.handle, self.shown = process, handle, ""

    def until(self, text: str, times: int = 1) -> None:
        """Read until a text was shown so often."""
        while self.shown.count(text) < times:
            there, _, _ = select.select([self.handle], [], [], 30)
            assert there, f"{text!r} was not shown: {self.shown}"
            try:
                data = os.read(self.handle, 65_536)
            except OSError:
                data = b""
            assert data, f"{text!r} was never shown: {self.shown}"
            self.shown += data.decode()

    def type(self, text: str) -> None:
        os.write(self.handle, text.encode())

    def end(self) -> int:
        """Read to the end; the exit code."""
        while True:
            try:
                data = os.read(self.handle, 65_536)
            except OSError:
                break
            if not data:
                break
            self.shown += data.decode()
        return self.process.wait(20)


@contextmanager
def terminal(*words: str) -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "skilleval", *words]
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ) as process:
        os.close(theirs)
        try:
            yield Terminal(process, ours)
        finally:
            os.close(ours)
            process.kill()


def test_a_person_is_asked_and_heard(work: Path) -> None:
    model = script(TOUCH, TOUCH, {"text": "Both."})
    with terminal(*BASE, "--model", model) as at:
        at.until("Allow it? [y/N]")
        assert "Bash" in at.shown and "touch x" in at.shown and "needs to" in at.shown
        at.type("y\n")
        at.until("Allow it? [y/N]", 2)
        at.type("\n")
        assert at.end() == 0
    said = [event["reason"] for event in events() if event["type"] == "permission"]
    assert said[0].endswith("the user allowed it") and said[1].endswith("the user refused it")
    assert (work / "x").exists()


def test_two_questions_come_one_after_the_other(work: Path) -> None:
    reads = [{"name": "Read", "input": {"file_path": name}} for name in ("first", "second")]
    with terminal(*BASE, "--model", script({"tools": reads}, {"text": "ok"})) as at:
        at.until("Allow it? [y/N]")
        assert at.shown.count("Read: {") == 1
        at.type("y\n")
        at.until("Allow it? [y/N]", 2)
        at.type("n\n")
        assert at.end() == 0
    allowed = {e["call"]["input"]["file_path"]: e["allowed"]
               for e in events() if e["type"] == "permission"}  # fmt: skip
    assert sorted(allowed.values()) == [False, True]


def test_what_was_typed_before_the_question_is_no_answer(work: Path) -> None:
    with terminal(*BASE, "--model", script({**TOUCH, "delay": 0.5}, {"text": "ok"})) as at:
        at.type("y\ny\n")
        at.until("Allow it? [y/N]")
        at.type("n\n")
        assert at.end() == 0
    assert not (work / "x").exists()


@pytest.mark.parametrize("how", ["Ctrl-C", "time"])
def test_a_question_can_be_broken_off(work: Path, how: str) -> None:
    more = ["--max-seconds", "1"] if how == "time" else []
    with terminal(*BASE, *more, "--model", script(TOUCH, {"text": "ok"})) as at:
        at.until("Allow it? [y/N]")
        if how == "Ctrl-C":
            at.process.send_signal(signal.SIGINT)
        assert at.end() == (130 if how == "Ctrl-C" else 3)
    assert "Traceback" not in at.shown
    assert events()[-1]["outcome"] == ("interrupted" if how == "Ctrl-C" else "deadline")


def test_the_end_of_input_is_a_no(work: Path) -> None:
    with terminal(*BASE, "--model", script(TOUCH, {"text": "ok"})) as at:
        at.until("Allow it? [y/N]")
        at.type("\x04")
        assert at.end() == 0
    assert not (work / "x").exists()


def test_ctrl_c_while_a_tool_runs(work: Path) -> None:
    sleep = {"tools": [{"name": "Bash", "input": {"command": "echo on; sleep 60"}}]}
    with terminal(*BASE, "--mode", "bypassPermissions", "--model", script(sleep)) as at:
        at.until("> Bash")
        at.process.send_signal(signal.SIGINT)
        assert at.end() == 130
    assert "Traceback" not in at.shown and "interrupted" in at.shown
    assert events()[-1]["outcome"] == "interrupted"


@pytest.mark.slow
def test_it_goes_on_after_a_kill(work: Path) -> None:
    command = "echo started > started; sleep 60"
    slow = {"tools": [{"name": "Bash", "input": {"command": command}}]}
    child = {"when": "Objective:", "turns": [slow]}
    agent = {"name": "Agent", "input": {"description": "d", "prompt": "Wait."}}
    model = script({"tools": [agent]}, {"text": "Fine."}, conversations=[child])
    words = [sys.executable, "-m", "skilleval", *BASE, "--mode", "bypassPermissions"]
    with subprocess.Popen([*words, "--model", model], stderr=subprocess.DEVNULL) as process:
        while not (work / "started").exists() and process.poll() is None:
            os.sched_yield()
        process.kill()
    assert "end" not in {event["type"] for event in events()}
    done = run("chat", "Go on.", "--workspace", "work", "--resume", "t.jsonl")
    assert (done.code, done.out) == (0, "Fine.\n")
    assert done.err.startswith(f"going on: {model}, default, sandbox ")
    assert len(next(event for event in events() if event["type"] == "resume")["lost"]) == 1


def test_a_full_disk_is_one_sentence(work: Path) -> None:
    model = script(*[{"tools": [{"name": "Bash", "input": {"command": "seq 3000"}}]}] * 9)
    run(*BASE, "--model", model)
    start = len(Path("t.jsonl").read_bytes().splitlines(keepends=True)[0])
    Path("t.jsonl").unlink()

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (start + 3_000, start + 3_000))

    done = subprocess.run(
        [sys.executable, "-m", "skilleval", *BASE, "--model", model],
        capture_output=True,
        text=True,
        preexec_fn=limited,
    )
    assert done.returncode == 3
    assert "the session broke off" in done.stderr and "t.jsonl" in done.stderr
    assert "Traceback" not in done.stderr
    assert events()[0]["type"] == "start"  # whole lines only


def test_a_disk_that_is_full_from_the_start(work: Path) -> None:
    done = run("chat", "x", "--workspace", "work", "--trace", "/dev/full",
               "--model", script({"text": "ok"}))  # fmt: skip
    assert_one_clear_error(done, "No space left on device: /dev/full")


def test_subagents_are_shown_as_such(work: Path) -> None:
    agent = {"name": "Agent", "input": {"description": "d", "prompt": "Look."}}
    look = {"tools": [{"name": "Bash", "input": {"command": "echo hi"}}]}
    child = {"when": "Objective:", "turns": [look, {"text": "Seen."}]}
    model = script({"tools": [agent]}, {"text": "Done."}, conversations=[child])
    done = run(*BASE, "--mode", "bypassPermissions", "--model", model)
    assert (done.code, done.out) == (0, "Done.\n")
    [identity] = [event["agent_id"] for event in events() if event["type"] == "agent"]
    assert f"[{identity}] general-purpose, {model}" in done.err
    assert f"[{identity}] > Bash" in done.err
    shown = run("audit", "t.jsonl")
    assert "Bash  echo hi  [toolu_" in shown.out and f"(agent {identity})" in shown.out
    assert "2 decisions: 2 allowed" in shown.out
    as_json = run("audit", "t.jsonl", "--format", "json").json
    assert [each.get("agent") for each in as_json["decisions"]] == [None, identity]
    Path(f"agents/agent-{identity}.jsonl").unlink()
    missing = run("audit", "t.jsonl", "--require-covered")
    assert missing.code == 1 and "what that subagent did is not known" in missing.err


def test_a_trace_is_never_mixed_with_another(work: Path) -> None:
    model = script({"text": "one"}, {"text": "two"})
    assert run(*BASE, "--model", model).code == 0
    before = Path("t.jsonl").read_bytes()
    assert_one_clear_error(run(*BASE, "--model", model), "t.jsonl is there already")
    assert Path("t.jsonl").read_bytes() == before
    both = run(*BASE, "--model", model, "--resume", "t.jsonl")
    assert_one_clear_error(both, "leave --trace out")


@pytest.mark.parametrize("query", ["", " ", "\n\t "])
def test_a_query_of_nothing_is_none(work: Path, query: str) -> None:
    done = run("chat", query, "--workspace", "work", "--model", "offline/literal")
    assert done.code == 2 and "there is no QUERY" in done.err


def test_a_query_that_is_no_utf8(work: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "skilleval", "chat", b"caf\xe9", *BASE[2:],
         "--model", script({"text": "ok"})],
        capture_output=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, b"ok\n")


def test_a_session_that_does_not_begin_leaves_nothing(
    work: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("tmp")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    assert run("chat", "x", "--workspace", "work", "--model", "offline/nothing").code == 2
    assert not list(folder.glob("skilleval-chat-*"))
    model = script({"text": "ok"})
    done = run("chat", "x", "--workspace", "work", "--model", model)
    [left] = folder.glob("skilleval-chat-*")
    assert done.code == 0 and str(left / "trace.jsonl") in done.err
