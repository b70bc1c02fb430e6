"""memory: the six commands, in the words of the SDK's own tool, and no way out of the store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from harness.tools.kit import call, make_context, text, trouble

from skilleval.harness.tools import Budgets, ToolContext, check_input
from skilleval.harness.tools.memory import Memory


def do(context: ToolContext, command: str, **given: Any) -> str:
    return text(call(context, "memory", command=command, **given))


def refused(context: ToolContext, command: str, **given: Any) -> str:
    return trouble(call(context, "memory", command=command, **given))


def test_the_definition_is_the_api_s_own() -> None:
    assert Memory().definition == {"type": "memory_20250818", "name": "memory"}


def test_a_note_from_start_to_end(context: ToolContext, work: Path) -> None:
    note = "/memories/notes/a.md"
    made = do(context, "create", path=note, file_text="one\ntwo\nthree\n")
    assert made == f"File created successfully at: {note}"
    assert (work / ".memories/notes/a.md").read_text() == "one\ntwo\nthree\n"
    shown = do(context, "view", path=note)
    assert shown == (
        f"Here's the content of {note} with line numbers:\n"
        "     1\tone\n     2\ttwo\n     3\tthree\n     4\t"
    )
    assert do(context, "view", path=note, view_range=[2, 3]).endswith(
        ":\n     2\ttwo\n     3\tthree"
    )
    assert do(context, "view", path=note, view_range=[3, -1]).endswith("     3\tthree\n     4\t")
    edited = do(context, "str_replace", path=note, old_str="two", new_str="2")
    assert edited == (
        "The memory file has been edited. Here is the snippet showing the change (with line "
        "numbers):\n     1\tone\n     2\t2\n     3\tthree\n     4\t"
    )
    put = do(context, "insert", path=note, insert_line=0, insert_text="zero\n")
    assert put == f"The file {note} has been edited."
    assert (work / ".memories/notes/a.md").read_text() == "zero\none\n2\nthree\n"
    moved = do(context, "rename", old_path=note, new_path="/memories/old/b.md")
    assert moved == f"Successfully renamed {note} to /memories/old/b.md"
    assert do(context, "delete", path="/memories/old") == "Successfully deleted /memories/old"
    assert [path.name for path in (work / ".memories").iterdir()] == ["notes"]


def test_the_empty_store_can_be_viewed(context: ToolContext) -> None:
    first, own, *rest = do(context, "view", path="/memories").split("\n")
    assert first == (
        "Here're the files and directories up to 2 levels deep in /memories, "
        "excluding hidden items:"
    )
    assert own.endswith("\t/memories") and not rest


def test_two_levels_are_listed(context: ToolContext, work: Path) -> None:
    for name, size in {"a/b/c/d": 1, "a/x": 2_048, "z": 1_600, ".hidden": 1}.items():
        path = work / ".memories" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
    (work / ".memories/link").symlink_to("/etc")
    lines = do(context, "view", path="/memories").split("\n")[2:]
    assert [line.split("\t")[1] for line in lines] == [
        "/memories/a/",
        "/memories/a/b/",
        "/memories/a/x",
        "/memories/z",
    ]
    assert lines[2].startswith("2K\t") and lines[3].startswith("1.6K\t")


def test_errors(context: ToolContext) -> None:
    do(context, "create", path="/memories/a", file_text="x\ny\nx\n")
    assert "already exists" in refused(context, "create", path="/memories/a", file_text="")
    assert refused(context, "view", path="/memories/b") == (
        "The path /memories/b does not exist. Please provide a valid path."
    )
    assert "does not exist" in refused(context, "delete", path="/memories/b")
    assert "does not exist" in refused(
        context, "rename", old_path="/memories/b", new_path="/memories/c"
    )
    do(context, "create", path="/memories/c", file_text="")
    assert "already exists" in refused(
        context, "rename", old_path="/memories/a", new_path="/memories/c"
    )
    assert refused(context, "str_replace", path="/memories/a", old_str="q", new_str="") == (
        "No replacement was performed, old_str `q` did not appear verbatim in /memories/a."
    )
    assert "in lines: 1, 3. Please ensure it is unique" in refused(
        context, "str_replace", path="/memories/a", old_str="x", new_str=""
    )
    assert "within the range [0, 3]" in refused(
        context, "insert", path="/memories/a", insert_line=4, insert_text="z"
    )
    assert "Cannot delete the /memories directory" in refused(context, "delete", path="/memories")
    assert "Cannot rename the /memories directory" in refused(
        context, "rename", old_path="/memories/", new_path="/memories/x"
    )
    assert "is not a file" in refused(
        context, "str_replace", path="/memories", old_str="x", new_str=""
    )


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "memories/a",
        "/memoriesx/a",
        "/memories/../secret",
        "/memories/a/../../secret",
        "/memories/%2e%2e/secret",
        "/memories/..\\secret",
        "/memories/out/secret",
        "/memories/far",
    ],
)
def test_no_way_out(context: ToolContext, work: Path, path: str) -> None:
    (work / ".memories").mkdir()
    (work / "secret").write_text("secret")
    (work / ".memories/out").symlink_to("..")
    (work / ".memories/far").symlink_to("/etc/passwd")
    refused(context, "view", path=path)
    refused(context, "create", path=path, file_text="x")
    refused(context, "str_replace", path=path, old_str="secret", new_str="x")
    refused(context, "insert", path=path, insert_line=0, insert_text="x")
    refused(context, "rename", old_path=path + "/x", new_path="/memories/new")
    refused(context, "rename", old_path="/memories/x", new_path=path)
    assert (work / "secret").read_text() == "secret"
    assert sorted(p.name for p in work.iterdir()) == [".memories", "secret"]


def test_a_store_that_is_a_link_is_refused(context: ToolContext, work: Path) -> None:
    (work / "real").mkdir()
    (work / ".memories").symlink_to("real")
    assert "would escape" in refused(context, "create", path="/memories/a", file_text="x")
    assert not list((work / "real").iterdir())


def test_no_folder_is_made_for_a_link(context: ToolContext, work: Path) -> None:
    (work / ".memories").symlink_to("new")
    assert "would escape" in refused(context, "view", path="/memories")
    assert not (work / "new").exists()


def test_links_in_the_store_are_removed_not_followed(context: ToolContext, work: Path) -> None:
    (work / ".memories").mkdir()
    (work / "kept").mkdir()
    (work / ".memories/link").symlink_to("../kept")
    do(context, "delete", path="/memories/link")
    assert (work / "kept").is_dir() and not (work / ".memories/link").is_symlink()


def test_files_are_bounded(tmp_path: Path) -> None:
    context = make_context(tmp_path, budgets=Budgets(memory_characters=20))
    said = refused(context, "create", path="/memories/a", file_text="x" * 21)
    assert "21 characters" in said and "20 at most" in said
    (tmp_path / "work/.memories").mkdir()
    (tmp_path / "work/.memories/a").write_text("12345\n" * 9)
    shown = do(context, "view", path="/memories/a")
    assert "Cut at 20 characters" in shown and "view_range [2, 10]" in shown


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({}, "command is missing"),
        ({"command": "erase"}, "command must be one of"),
        ({"command": "view"}, "path is missing"),
        ({"command": "rename", "path": "/memories/a"}, "old_path and new_path are missing"),
        ({"command": "view", "path": "/memories", "view_range": [1]}, "minItems"),
    ],
)
def test_arguments_are_checked(given: dict[str, Any], wrong: str) -> None:
    said = check_input(Memory().definition, given)
    assert wrong in said and '{"command": "view", "path": "/memories"}' in said
