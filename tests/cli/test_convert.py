"""``skilleval convert``"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.kit import assert_one_clear_error, run, snapshot
from conftest import Write
from evals.kit import FILES

from skilleval.errors import ExitCode


def test_to_standard_output(write: Write) -> None:
    write({"evals.json": FILES["skill-creator"]})
    result = run("convert", "evals.json", "--to", "native")
    assert (result.code, result.err) == (ExitCode.OK, "")
    assert result.json["records"] == [
        {"skills": ["a"], "query": "p", "files": [], "expected_behavior": ["e"], "id": 1}
    ]


def test_to_a_file_once(write: Write) -> None:
    root = write({"evals.json": FILES["trigger"]})
    assert run("convert", "evals.json", "--to", "native", "-o", "out.json").code == ExitCode.OK
    before = snapshot(root)
    assert json.loads((root / "out.json").read_bytes())[0]["should_trigger"] is True
    again = run("convert", "evals.json", "--to", "skill-creator", "-o", "out.json")
    assert_one_clear_error(again, "out.json is there already")
    assert "--force" in again.err
    assert snapshot(root) == before
    forced = run("convert", "evals.json", "--to", "skill-creator", "-o", "out.json", "--force")
    assert forced.code == ExitCode.OK
    assert "evals" in json.loads((root / "out.json").read_bytes())
    assert sorted(path.name for path in root.iterdir()) == ["evals.json", "out.json"]


def test_what_is_lost_is_named(write: Write) -> None:
    root = write({"evals.json": FILES["native"].replace('"query"', '"turns": ["t"], "query"')})
    result = run("convert", "evals.json", "--to", "skill-creator")
    assert result.code == ExitCode.OK
    assert result.err == "lost: skill-creator has no place for `turns` of case 1\n"
    strict = run("convert", "evals.json", "--to", "skill-creator", "--strict", "-o", "x.json")
    assert strict.code == ExitCode.USAGE
    assert "not everything can be written" in strict.err
    assert not (root / "x.json").exists()


def test_remarks_are_shown_and_harmless(write: Write) -> None:
    write({"e.json": FILES["native"].replace('"query"', '"x\\u001b[31m": 1, "query"')})
    result = run("convert", "e.json", "--to", "native")
    assert result.code == ExitCode.OK
    assert result.err == (
        "e.json:1:35: [0].x\\u{1b}[31m: an unknown field, kept as it is [unknown-field]\n"
    )


@pytest.mark.parametrize(
    ("files", "words", "message"),
    [
        ({}, ["gone.json", "--to", "native"], "gone.json: can't be read"),
        ({"e.json": "{"}, ["e.json", "--to", "native"], "e.json:1:2: no JSON"),
        ({"e.json": FILES["native"]}, ["e.json", "--to", "grading"], "can't be written as grading"),
        ({"e.json": FILES["native"]}, ["e.json", "--to", "native", "-o", "no/x"], "no/x"),
    ],
)
def test_errors_are_clear(
    write: Write, files: dict[str, str], words: list[str], message: str
) -> None:
    write(files)
    result = run("convert", *words)
    assert result.code == ExitCode.USAGE
    assert result.out == ""
    assert "internal error" not in result.err
    assert message in result.err or "No such file" in result.err


def test_the_folder_of_a_case(write: Write, tmp_path: Path) -> None:
    write({"one/prompt.md": "Do it.", "one/graders/a.md": "It is done."})
    result = run("convert", "one", "--to", "native")
    assert result.json[0]["expected_behavior"] == [{"text": "It is done.", "id": "a"}]
    assert result.json[0]["id"] == "one"


def test_unknown_target_and_no_target(write: Write) -> None:
    write({"e.json": FILES["native"]})
    assert run("convert", "e.json", "--to", "waza").code == ExitCode.USAGE
    assert run("convert", "e.json").code == ExitCode.USAGE
