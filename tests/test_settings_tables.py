"""Finding a table of settings: the nearest file, and hostile ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import Write

from skilleval.errors import ExitCode, SettingsError
from skilleval.settings import TABLES, find_table


def test_the_table_and_its_file(write: Write, tmp_path: Path) -> None:
    write({"skilleval.toml": "[models.a]\nid = 'b'\n[lint]\nselect = []\n"})
    path = str(tmp_path / "skilleval.toml")
    assert find_table("models") == (path, {"a": {"id": "b"}})
    assert find_table("lint", str(tmp_path)) == (path, {"select": []})


def test_tables_of_different_files(write: Write, tmp_path: Path) -> None:
    write(
        {
            "skilleval.toml": "[models.a]\n",
            "in/pyproject.toml": "[tool.skilleval.lint]\n",
            "in/deep/skilleval.toml": "",
        }
    )
    deep = str(tmp_path / "in" / "deep")
    assert find_table("models", deep) == (str(tmp_path / "skilleval.toml"), {"a": {}})
    assert find_table("lint", deep) == (str(tmp_path / "in" / "pyproject.toml"), {})


def test_no_table(write: Write, tmp_path: Path) -> None:
    write({".git/HEAD": "", "in/a": "", "pyproject.toml": "[tool.other]\nskilleval = 1\n"})
    assert find_table("models", str(tmp_path / "in")) is None
    assert find_table("models", str(tmp_path / "nowhere")) is None


def test_what_is_no_file_is_passed_over(write: Write, tmp_path: Path) -> None:
    write({".git/HEAD": "", "skilleval.toml/a": ""})
    os.mkfifo(tmp_path / "pyproject.toml")
    assert find_table("models") is None


BROKEN: dict[str, bytes] = {
    "no TOML": b"[models",
    "no text": b"\xff\xfe",
    "deep": b"models = " + b"[" * 20_000,
    "deep tables": b"[models" + b".a" * 20_000 + b"]",
    "a huge number": b"[models]\na = " + b"9" * 5_000,
    "twice": b"[models]\n[models]\n",
    "NUL": b"[models]\0",
    "large": b"[models]\n#" + b"x" * (1024 * 1024),
    "a number": b"models = 7",
    "a list of tables": b"[[models]]",
    "another table": b"[modles]",
    "a value": b"x = 1",
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=list(BROKEN))
def test_a_broken_file_is_one_clear_error(write: Write, content: bytes) -> None:
    write({"skilleval.toml": content})
    try:
        found = find_table("models")
    except SettingsError as error:
        assert error.exit_code == ExitCode.USAGE
        assert "skilleval.toml" in error.message
        assert len(error.message) < 500
    else:
        assert content.startswith(b"[models.a") or found is not None  # deep, and yet a table


def test_an_unknown_table_is_told_which_there_are(write: Write) -> None:
    write({"skilleval.toml": "[model]\n"})
    with pytest.raises(SettingsError) as caught:
        find_table("models")
    assert all(name in caught.value.remedy for name in TABLES)


def test_the_project_file_of_others_may_be_large_and_broken(write: Write) -> None:
    write({".git/HEAD": "", "pyproject.toml": b"[other\n#" + b"x" * (2 * 1024 * 1024)})
    assert find_table("models") is None


@pytest.mark.parametrize("content", ["tool = 7", "[tool]\nskilleval = 7", "[[tool.skilleval]]"])
def test_a_project_file_without_our_table(write: Write, content: str) -> None:
    write({".git/HEAD": "", "pyproject.toml": f"# skilleval\n{content}\n"})
    assert find_table("models") is None


def test_a_file_that_can_not_be_read(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write({"skilleval.toml": "[models]\n"})
    import builtins

    def refuse(path: str, mode: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(builtins, "open", refuse)  # root may read everything
    with pytest.raises(SettingsError, match="Permission denied"):
        find_table("models")
