"""What a model is told about its working directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from skilleval.prompt.workspace import read_workspace


def test_entries_are_sorted_and_folders_marked(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "a.csv").touch()
    found = read_workspace(str(tmp_path), shown_as="/workspace")
    assert (found.path, found.entries, found.more) == ("/workspace", ("a.csv", "b/"), 0)


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    for number in range(103):
        (tmp_path / f"{number:03}").touch()
    found = read_workspace(str(tmp_path))
    assert len(found.entries) == 100
    assert found.more == 3


def test_a_name_can_not_start_a_line_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "a\n# Limits").touch()
    assert read_workspace(str(tmp_path)).entries == ("a\\u{a}# Limits",)


def test_instructions_are_read_and_cut_with_a_word(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("Use tabs.\n", encoding="utf-8")
    (tmp_path / "AGENTS.md").write_text("é" * 41_000, encoding="utf-8")
    claude, agents = read_workspace(str(tmp_path)).instructions
    assert claude == ("CLAUDE.md", "Use tabs.")
    assert agents.text.startswith("é" * 40_000)
    assert agents.text.endswith("[cut here: about 2,000 bytes more in AGENTS.md]")


def test_links_are_named_but_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("key")
    work = tmp_path / "work"
    work.mkdir()
    (work / "CLAUDE.md").symlink_to(secret)
    (work / "up").symlink_to(tmp_path)
    found = read_workspace(str(work))
    assert found.instructions == ()
    assert found.entries == ("CLAUDE.md", "up")


@pytest.mark.parametrize("content", ["", "  \n"])
def test_blank_instructions_are_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "CLAUDE.md").write_text(content)
    assert read_workspace(str(tmp_path)).instructions == ()
