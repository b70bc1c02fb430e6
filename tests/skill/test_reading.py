"""A skill is read whatever lies in its folder, and nothing outside of it is shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import GOOD, Write

from skilleval.skill import Found, Skill, TroubleKind, discover
from skilleval.skill.disk import read_file, read_head
from skilleval.skill.reading import MAX_FILE, MAX_SKILL_FILE, has_binary_name

SECRET = "---\nname: secret\ndescription: The password is swordfish.\n---\n"


def found(path: str = "pdf-tools") -> Found:
    return discover([path]).skills[0]


def read(path: str = "pdf-tools") -> Skill:
    return Skill(found(path))


def test_a_skill_is_taken_apart(write: Write) -> None:
    write({"pdf-tools/SKILL.md": GOOD, "pdf-tools/references/a.md": "# A\n"})
    skill = read()
    assert (skill.name, skill.folder_name) == ("pdf-tools", "pdf-tools")
    assert skill.folder == os.path.abspath("pdf-tools")
    assert skill.description and skill.description.startswith("Extracts text")
    assert skill.body.startswith("\n# PDF tools") and "name:" not in skill.body
    assert [heading.text for heading in skill.markdown.headings] == ["PDF tools"]
    assert [entry.name for entry in skill.entries] == ["references/a.md"]
    assert skill.trouble is None


@pytest.mark.parametrize("value", ["", "2024", "[a]", "~", "''", "!!x y"])
def test_a_name_that_is_no_text_leaves_the_folders_name(write: Write, value: str) -> None:
    write({"pdf-tools/SKILL.md": f"---\nname: {value}\n---\n"})
    assert read().name == ("y" if value == "!!x y" else "pdf-tools")


def test_without_frontmatter_there_is_no_description(write: Write) -> None:
    write({"pdf-tools/SKILL.md": "# Title\n\nText\n"})
    assert read().description is None
    assert read().body == "# Title\n\nText\n"


def test_names_are_every_path_that_a_link_may_name(write: Write) -> None:
    write(
        {
            "pdf-tools/SKILL.md": GOOD,
            "pdf-tools/a/b/c.md": "c",
            "pdf-tools/in/ner/SKILL.md": GOOD,
            "pdf-tools/x.png": "x",
        }
    )
    assert read().names == {
        "SKILL.md", "a", "a/b", "a/b/c.md", "in", "in/ner", "in/ner/SKILL.md", "x.png",
    }  # fmt: skip


def test_an_overlay_is_read_in_place_of_the_files(write: Write) -> None:
    write({"pdf-tools/SKILL.md": GOOD, "pdf-tools/a.md": "old", "pdf-tools/b.md": "kept"})
    overlay = {"SKILL.md": GOOD.replace("pdf-tools", "other").encode(), "a.md": b"new"}
    skill = Skill(found(), overlay)
    assert skill.name == "other"
    assert [(d.name, d.text) for d in skill.texts] == [("a.md", "new"), ("b.md", "kept")]


# What stands in the way of SKILL.md -----------------------------------------------------


def trouble(path: str = "pdf-tools") -> TroubleKind | None:
    skill = read(path)
    if skill.trouble is None:
        return None
    assert skill.document.data == b"" and skill.description is None
    assert skill.trouble.message and "Errno" not in skill.trouble.message
    return skill.trouble.kind


def test_a_folder_called_skill_md(write: Write) -> None:
    write({"pdf-tools/SKILL.md/x": "x"})
    assert trouble() is TroubleKind.FOLDER


@pytest.mark.parametrize("target", ["nowhere.md", "../gone/SKILL.md", "x/y/z", "a.md/b"])
def test_a_link_to_nothing(write: Write, target: str) -> None:
    write({"pdf-tools/SKILL.md": f"-> {target}", "pdf-tools/a.md": "a"})
    assert trouble() is TroubleKind.DANGLING


@pytest.mark.parametrize("target", ["SKILL.md", "loop", "../pdf-tools/SKILL.md"])
def test_a_link_that_goes_round(write: Write, target: str) -> None:
    write({"pdf-tools/SKILL.md": f"-> {target}", "pdf-tools/loop": "-> SKILL.md"})
    assert trouble() is TroubleKind.DANGLING


@pytest.mark.parametrize(
    "target", ["../secret.md", "../away/notes.md", "hop", "../away/SKILL.md/x"]
)
def test_a_link_that_leaves_what_was_named_is_not_read(write: Write, target: str) -> None:
    write(
        {
            "pdf-tools/SKILL.md": f"-> {target}",
            "pdf-tools/hop": "-> ../secret.md",
            "secret.md": SECRET,
            "away/notes.md": SECRET,
            "away/SKILL.md/x": SECRET,
        }
    )
    assert trouble() is TroubleKind.OUTSIDE


def test_a_link_to_a_skill_md_elsewhere_is_read(write: Write) -> None:
    write({"pdf-tools/SKILL.md": "-> ../away/SKILL.md", "away/SKILL.md": GOOD})
    assert trouble() is None and read().name == "pdf-tools"


def test_a_link_that_hops_over_a_skill_md_to_another_file_is_not_read(write: Write) -> None:
    write(
        {
            "pdf-tools/SKILL.md": "-> ../away/SKILL.md",
            "away/SKILL.md": "-> ../secret.md",
            "secret.md": SECRET,
        }
    )
    assert trouble() is TroubleKind.OUTSIDE


def test_a_link_inside_what_was_named_is_read(write: Write) -> None:
    write({"all/pdf-tools/SKILL.md": "-> ../shared/text.md", "all/shared/text.md": GOOD})
    assert trouble("all") is None
    assert trouble("all/pdf-tools") is TroubleKind.OUTSIDE


def test_a_folder_behind_a_link(write: Write) -> None:
    write({"pdf-tools/SKILL.md": "-> x", "pdf-tools/x/y": ""})
    assert trouble() is TroubleKind.FOLDER


@pytest.mark.parametrize("link", [False, True])
def test_a_pipe_does_not_block(write: Write, link: bool) -> None:
    root = write({"pdf-tools/x": ""})
    os.mkfifo(root / "pdf-tools/pipe" if link else root / "pdf-tools/SKILL.md")
    if link:
        (root / "pdf-tools/SKILL.md").symlink_to("pipe")
    assert trouble() is TroubleKind.SPECIAL


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/tty", "/dev/null", "/proc/self/mem"])
def test_a_link_to_a_device_is_not_read(write: Write, device: str) -> None:
    write({"pdf-tools/SKILL.md": f"-> {device}"})
    assert trouble() is TroubleKind.OUTSIDE


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file, whatever its mode")
def test_a_file_without_permission(write: Write) -> None:
    root = write({"pdf-tools/SKILL.md": GOOD})
    (root / "pdf-tools/SKILL.md").chmod(0)
    assert trouble() is TroubleKind.UNREADABLE


def sparse(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.truncate(size)


def test_the_largest_skill_file_is_read_and_a_larger_one_is_not(write: Write) -> None:
    root = write({"pdf-tools/SKILL.md": ""})
    sparse(root / "pdf-tools/SKILL.md", MAX_SKILL_FILE)
    assert len(read().document.data) == MAX_SKILL_FILE == 16 * 1024 * 1024
    sparse(root / "pdf-tools/SKILL.md", MAX_SKILL_FILE + 1)
    assert trouble() is TroubleKind.TOO_LARGE


def test_a_file_that_vanished_after_it_was_found(write: Write) -> None:
    root = write({"pdf-tools/SKILL.md": GOOD, "pdf-tools/a.md": "a"})
    skill_found = found()
    (root / "pdf-tools/SKILL.md").unlink()
    (root / "pdf-tools/a.md").unlink()
    skill = Skill(skill_found)
    assert skill.trouble and skill.trouble.kind is TroubleKind.UNREADABLE
    assert skill.file("a.md") is None and skill.texts == []


def test_a_file_that_became_a_link_after_it_was_found(write: Write) -> None:
    root = write({"pdf-tools/SKILL.md": GOOD, "pdf-tools/a.md": "a", "secret.md": SECRET})
    skill_found = found()
    (root / "pdf-tools/a.md").unlink()
    (root / "pdf-tools/a.md").symlink_to("../secret.md")
    (root / "pdf-tools/SKILL.md").unlink()
    (root / "pdf-tools/SKILL.md").symlink_to("../secret.md")
    skill = Skill(skill_found)
    assert skill.file("a.md") is None
    assert skill.name == "pdf-tools" and skill.trouble is not None


# The other files ------------------------------------------------------------------------


def test_text_files_are_read_and_the_others_are_not(write: Write) -> None:
    root = write(
        {
            "pdf-tools/SKILL.md": GOOD,
            "pdf-tools/a.md": "a",
            "pdf-tools/empty.md": "",
            "pdf-tools/latin.txt": b"\xfcber",
            "pdf-tools/binary": b"\x7fELF\0\0",
            "pdf-tools/picture.PNG": "text inside",
            "pdf-tools/link.md": "-> a.md",
            "pdf-tools/SCRIPT": "#!/bin/sh\n",
        }
    )
    os.mkfifo(root / "pdf-tools/pipe.md")
    sparse(root / "pdf-tools/large.md", MAX_FILE + 1)
    skill = read()
    assert [d.name for d in skill.texts] == ["SCRIPT", "a.md", "latin.txt"]
    assert skill.file("empty.md") is not None
    for name in ("binary", "link.md", "pipe.md", "large.md", "nowhere", "../outside"):
        assert skill.file(name) is None, name
    assert skill.is_binary("binary") and skill.is_binary("picture.PNG")
    assert not skill.is_binary("a.md") and not skill.is_binary("SCRIPT")


def test_a_file_is_read_once(write: Write) -> None:
    root = write({"pdf-tools/SKILL.md": GOOD, "pdf-tools/a.md": "one"})
    skill = read()
    first = skill.file("a.md")
    (root / "pdf-tools/a.md").write_text("two")
    assert first is not None and skill.file("a.md") is first
    assert skill.markdown_of(first) is skill.markdown_of(first)
    assert skill.markdown_of(skill.document) is skill.markdown


@pytest.mark.parametrize(
    ("name", "binary"),
    [
        *((name, True) for name in ("a.png", "b/a.ZIP", "a.skill", "a.tar.gz")),
        *((name, False) for name in ("a.md", "png", "a.png.md", ".png", "")),
    ],
)
def test_endings_of_files_that_are_no_text(name: str, binary: bool) -> None:
    assert has_binary_name(name) is binary


def test_reading_stops_at_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"12345")
    assert read_file(str(path), 5) == b"12345"
    assert read_file(str(path), 4) is None
    assert read_head(str(path), 4) == b"1234"
    assert read_head(str(path), 9) == b"12345"
    assert read_head(str(tmp_path / "nowhere"), 4) == b""
    assert read_file(str(tmp_path), 5) is None and read_head(str(tmp_path), 5) == b""


def test_reading_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"secret")
    (tmp_path / "link").symlink_to("x")
    assert read_file(str(tmp_path / "link"), 100) is None
    assert read_head(str(tmp_path / "link"), 100) == b""


def test_files_that_claim_no_size_have_no_bytes() -> None:
    assert read_file("/proc/self/status", 10_000) in (b"", None)


@pytest.mark.parametrize("name", ["caf\udce9.md", "a\nb.md", "技能.md", "e\u0301.md", "a b.md"])
def test_files_with_any_name_are_read(write: Write, name: str) -> None:
    write({"pdf-tools/SKILL.md": GOOD, f"pdf-tools/{name}": "text"})
    assert [(d.name, d.text) for d in read().texts] == [(name, "text")]
