"""Traces: written once, read a line at a time, whole after a kill."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from skilleval import redaction
from skilleval.errors import InputError
from skilleval.trace.events import EventType
from skilleval.trace.reader import read_events
from skilleval.trace.writer import LARGEST, TraceWriter


def test_events_come_back_as_they_were_written(tmp_path: Path) -> None:
    path = str(tmp_path / "t.jsonl")
    with TraceWriter(path, "s1", clock=lambda: 5.0) as trace:
        trace.write(EventType.START, version=1, model="m", cost=None)
        trace.write(EventType.PROMPT, content="é\n\u2028", prompt="p1")
    first, second = read_events(path)
    assert first == {
        "type": "start", "n": 0, "time": 5.0, "session": "s1", "version": 1, "model": "m",
    }  # fmt: skip
    assert (second["n"], second["content"], second["prompt"]) == (1, "é\n\u2028", "p1")


def test_a_trace_is_for_its_owner_only(tmp_path: Path) -> None:
    with TraceWriter(str(tmp_path / "t"), "s"):
        assert os.stat(tmp_path / "t").st_mode & 0o077 == 0


def test_keys_are_not_kept(tmp_path: Path) -> None:
    redaction.hide("hunter2-hunter2")
    path = tmp_path / "t"
    with TraceWriter(str(path), "s") as trace:
        trace.write(EventType.RESULT, content=[{"text": "KEY=hunter2-hunter2"}])
        trace.write(EventType.RESULT, content="sk-ant-api03-abcdefghijkl")
    assert b"hunter2" not in path.read_bytes()
    assert b"sk-ant" not in path.read_bytes()


def test_an_event_that_is_too_long_says_so(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    with TraceWriter(path, "s") as trace:
        trace.write(EventType.START)
        trace.write(EventType.RESULT, content="x" * LARGEST, name="Read")
    _, event = read_events(path)
    assert "too long for a trace" in event["content"]
    assert event["name"] == "Read"


@pytest.mark.parametrize(("kept", "whole"), [(1, 1), (10, 1), (-2, 1), (-1, 2)])
def test_a_torn_last_line_is_passed_over_and_the_session_goes_on(
    tmp_path: Path, kept: int, whole: int
) -> None:
    path = tmp_path / "t"
    with TraceWriter(str(path), "s") as trace:
        trace.write(EventType.START)
        trace.write(EventType.PROMPT, content="hello")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:kept])
    left = ["start", "prompt"][:whole]
    assert [event["type"] for event in read_events(str(path))] == left
    with TraceWriter(str(path), "s", first=whole) as trace:
        trace.write(EventType.RESUME)
    assert [event["type"] for event in read_events(str(path))] == [*left, "resume"]


@pytest.mark.parametrize(
    "content",
    [
        b"{}\n",
        b"[]\n",
        b"hello\n",
        b'{"type": 1}\n',
        b'{"type":"start"}\nrubbish\n{"type":"end"}\n',
    ],
)
def test_what_is_no_trace_is_one_clear_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t"
    path.write_bytes(content)
    with pytest.raises(InputError, match="is no event of a trace"):
        list(read_events(str(path)))


def test_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text('{"type":"start","version":2}\n')
    with pytest.raises(InputError, match="version 2"):
        list(read_events(str(path)))


def test_unknown_events_are_passed_on(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text('{"type":"start"}\n{"type":"novelty","x":[1]}\n')
    assert [event["type"] for event in read_events(str(path))] == ["start", "novelty"]


@pytest.mark.slow
def test_a_writer_that_is_killed_leaves_whole_events(tmp_path: Path) -> None:
    path = tmp_path / "t"
    code = (
        "import sys\n"
        "from skilleval.trace.writer import TraceWriter\n"
        "from skilleval.trace.events import EventType\n"
        f"t = TraceWriter({str(path)!r}, 's')\n"
        "t.write(EventType.START)\nprint('on', flush=True)\n"
        "while True: t.write(EventType.PROMPT, content='x' * 5000)\n"
    )
    for _ in range(5):
        path.unlink(missing_ok=True)
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
            assert process.stdout and process.stdout.readline()
            process.kill()
        numbers = [event["n"] for event in read_events(str(path))]
        assert numbers == list(range(len(numbers)))


@pytest.mark.slow
def test_memory_does_not_grow_with_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "t"
    line = json.dumps({"type": "result", "content": "x" * 100_000}).encode() + b"\n"
    with path.open("wb") as file:
        file.write(b'{"type":"start"}\n')
        for _ in range(2_000):  # 200 MB
            file.write(line)
    code = (
        "from skilleval.trace.reader import read_events\n"
        f"print(sum(1 for _ in read_events({str(path)!r})))\n"
        "print(open('/proc/self/status').read().partition('VmHWM:')[2].split()[0])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    count, kilobytes = map(int, done.stdout.split())
    assert count == 2_001
    assert kilobytes < 60_000


def test_a_full_disk_leaves_no_half_line(tmp_path: Path) -> None:
    path = tmp_path / "t"
    code = (
        "import signal\n"
        "from skilleval.trace.writer import TraceWriter\n"
        "from skilleval.trace.events import EventType\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"t = TraceWriter({str(path)!r}, 's')\n"
        "t.write(EventType.START)\n"
        "try:\n"
        "    while True: t.write(EventType.PROMPT, content='x' * 1000)\n"
        "except OSError: print('full')\n"
    )

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_500, 10_500))

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, preexec_fn=limited
    )
    assert done.stdout == "full\n", done.stderr
    assert path.read_bytes().endswith(b"\n")
    assert len(list(read_events(str(path)))) > 5
