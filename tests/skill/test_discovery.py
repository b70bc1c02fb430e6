"""Every skill is found once, and nothing outside of what was named is looked at."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
from conftest import GOOD, Write, write_files

from skilleval.errors import ExitCode, InputError, NothingFound
from skilleval.skill import Discovery, Found, discover
from skilleval.skill.discovery import MAX_ENTRIES, is_inside
from skilleval.skill.ignore import IgnoreFile

needs_permissions = pytest.mark.skipif(
    os.geteuid() == 0, reason="root may read every folder, whatever its mode"
)


def found(*paths: str | Path, exclude: tuple[str, ...] = ()) -> list[str]:
    """The folders of the skills found, from the working directory."""
    patterns = [IgnoreFile(os.getcwd(), exclude)] if exclude else []
    return shown(discover([str(path) for path in paths], patterns))


def shown(discovery: Discovery) -> list[str]:
    return [os.path.relpath(skill.folder) for skill in discovery.skills]


def only(*paths: str) -> Found:
    (skill,) = discover(paths).skills
    return skill


def names(skill: Found) -> dict[str, str]:
    return {entry.name: entry.kind for entry in skill.entries}


class Hung(BaseException):
    """Nothing catches this by accident."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Fail where something waits for ever."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise Hung(f"still waiting after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# What may be named ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "pdf",
        "pdf/",
        "./pdf",
        "pdf/SKILL.md",
        "pdf/references/a.md",
        "pdf/references",
        ".",
        "pdf/../pdf",
    ],
)
def test_a_skill_is_found_by_any_path_to_it_or_into_it(write: Write, path: str) -> None:
    write({"pdf/SKILL.md": GOOD, "pdf/references/a.md": "# A\n"})
    if path == "pdf/references":
        with pytest.raises(NothingFound):
            discover([path])
    else:
        assert found(path) == ["pdf"]
        assert names(only(path)) == {"references/a.md": "file"}


def test_an_absolute_path_finds_the_same_as_a_relative_one(write: Write) -> None:
    root = write({"a/SKILL.md": GOOD, "b/SKILL.md": GOOD, "b/x.txt": "x"})
    assert discover([str(root)]).skills == discover(["."]).skills


def test_a_folder_of_skills_is_searched_to_the_bottom_in_order(write: Write) -> None:
    write({f"skills/{name}/SKILL.md": GOOD for name in ("zeta", "alpha", "deep/er/one", "Beta")})
    assert found("skills") == [
        f"skills/{name}" for name in ("Beta", "alpha", "deep/er/one", "zeta")
    ]


def test_several_paths_keep_their_order(write: Write) -> None:
    write({"a/SKILL.md": GOOD, "b/SKILL.md": GOOD, "c/SKILL.md": GOOD})
    assert found("c", "a") == ["c", "a"]


@pytest.mark.parametrize("folder", [".claude/skills", ".agents/skills", ".github/skills"])
def test_the_folders_of_agents_are_searched_though_they_are_hidden(
    write: Write, folder: str
) -> None:
    write({f"{folder}/pdf/SKILL.md": GOOD})
    assert found(".") == found(folder) == found(folder.split("/")[0]) == [f"{folder}/pdf"]


def test_a_tilde_stands_for_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write_files(tmp_path, {".claude/skills/pdf/SKILL.md": GOOD})
    (skill,) = discover(["~/.claude/skills"]).skills
    assert skill.folder == str(tmp_path / ".claude/skills/pdf")


def test_a_plugin_gives_its_skills_its_name(write: Write) -> None:
    write(
        {
            "kit/.claude-plugin/plugin.json": json.dumps({"name": "office-kit"}),
            "kit/skills/pdf/SKILL.md": GOOD,
            "kit/commands/x.md": "x",
        }
    )
    for path in (".", "kit", "kit/skills", "kit/skills/pdf", "kit/skills/pdf/SKILL.md"):
        assert only(path).catalog.plugin == "office-kit", path
        assert only(path).catalog.folder == os.path.abspath("kit")


@pytest.mark.parametrize("manifest", ["{", "[]", '{"name": 5}', "\0", "[" * 5_000, ""])
def test_a_plugin_with_a_broken_manifest_is_named_after_its_folder(
    write: Write, manifest: str
) -> None:
    write({"kit/.claude-plugin/plugin.json": manifest, "kit/skills/pdf/SKILL.md": GOOD})
    assert only("kit").catalog.plugin == "kit"


def test_a_marketplace_finds_the_skills_of_all_its_plugins(write: Write) -> None:
    write(
        {
            ".claude-plugin/marketplace.json": json.dumps({"name": "market", "plugins": []}),
            "plugins/a/.claude-plugin/plugin.json": '{"name": "a-kit"}',
            "plugins/a/skills/one/SKILL.md": GOOD,
            "plugins/b/.claude-plugin/plugin.json": '{"name": "b-kit"}',
            "plugins/b/skills/two/SKILL.md": GOOD,
            "skills/three/SKILL.md": GOOD,
        }
    )
    plugins = {os.path.basename(s.folder): s.catalog.plugin for s in discover(["."]).skills}
    assert plugins == {"one": "a-kit", "two": "b-kit", "three": None}


def test_skills_outside_a_plugin_are_visible_with_their_neighbours(write: Write) -> None:
    write({"x/a/SKILL.md": GOOD, "x/b/SKILL.md": GOOD, "y/c/SKILL.md": GOOD})
    catalogs = [skill.catalog.folder for skill in discover(["."]).skills]
    assert catalogs == [os.path.abspath("x"), os.path.abspath("x"), os.path.abspath("y")]


# What is an error -----------------------------------------------------------------------


def test_a_missing_path_is_named(write: Write) -> None:
    write({"a/SKILL.md": GOOD})
    with pytest.raises(InputError, match=r"nowhere/at-all") as caught:
        discover(["a", "nowhere/at-all"])
    assert caught.value.exit_code == ExitCode.USAGE == 2


@pytest.mark.parametrize("path", ["empty", "notes.txt", "other"])
def test_no_skill_is_an_error_that_counts_to_zero(write: Write, path: str) -> None:
    write({"other/README.md": "x", "notes.txt": "x", ".git/HEAD": ""})
    Path("empty").mkdir()
    with pytest.raises(NothingFound, match="0 skills") as caught:
        discover([path])
    assert caught.value.exit_code == 2 and path in str(caught.value)


def test_ignored_paths_are_counted_where_nothing_is_left(write: Write) -> None:
    write({"a/SKILL.md": GOOD, "b/SKILL.md": GOOD})
    with pytest.raises(NothingFound, match="2 ignored"):
        found(".", exclude=("a", "b"))


# Each once ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "paths",
    [
        (".", "skills", "skills/pdf"),
        ("skills/pdf/SKILL.md", "skills/pdf/a.md", "skills"),
        ("skills", "skills"),
        ("skills", "linked"),
        ("linked/pdf", "skills"),
    ],
)
def test_a_skill_is_found_once_however_many_names_lead_to_it(
    write: Write, paths: tuple[str, ...]
) -> None:
    write({"skills/pdf/SKILL.md": GOOD, "skills/pdf/a.md": "a", "linked": "-> skills"})
    assert len(found(*paths)) == 1


def test_the_working_directory_may_be_the_skill(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write({"pdf/SKILL.md": GOOD, "pdf/a.md": "a"})
    monkeypatch.chdir("pdf")
    assert found(".") == found("a.md") == ["."]


# Wrong case, nested, folders ------------------------------------------------------------


@pytest.mark.parametrize("name", ["skill.md", "Skill.md", "SKILL.MD", "sKiLl.Md"])
def test_a_wrong_case_is_found_and_told(write: Write, name: str) -> None:
    write({f"pdf/{name}": GOOD})
    assert only(".").file == only("pdf").file == only(f"pdf/{name}").file == name


def test_the_right_case_wins_and_the_other_is_a_file_beside_it(write: Write) -> None:
    write({"pdf/skill.md": "wrong", "pdf/SKILL.md": GOOD, "pdf/Skill.md": "wrong"})
    assert only(".").file == "SKILL.md"
    assert set(names(only("."))) == {"skill.md", "Skill.md"}


@pytest.mark.parametrize("name", ["SKILL.md.bak", "MYSKILL.md", "SKILL.mdx", "SKILL", ".SKILL.md"])
def test_similar_names_are_no_skill(write: Write, name: str) -> None:
    write({f"pdf/{name}": GOOD})
    with pytest.raises(NothingFound):
        discover(["pdf"])


def test_a_nested_skill_is_a_skill_of_its_own_with_its_own_files(write: Write) -> None:
    write(
        {
            "outer/SKILL.md": GOOD,
            "outer/a.md": "a",
            "outer/sub/inner/SKILL.md": GOOD,
            "outer/sub/inner/b.md": "b",
            "outer/sub/inner/deep/SKILL.md": GOOD,
            "outer/sub/c.md": "c",
        }
    )
    outer, inner, deep = discover(["."]).skills
    assert (outer.nested, inner.nested, deep.nested) == (["sub/inner"], ["deep"], [])
    assert list(names(outer)) == ["a.md", "sub/c.md"]
    assert list(names(inner)) == ["b.md"]
    assert found("outer/sub/inner/b.md")[0] == "outer/sub/inner"


def test_a_skill_file_that_is_a_folder_is_still_a_skill(write: Write) -> None:
    write({"pdf/SKILL.md/notes.txt": "x"})
    assert found(".") == ["pdf"]


# Ignoring -------------------------------------------------------------------------------

MANY = {f"{name}/SKILL.md": GOOD for name in ("a", "b", "build/c", "build/keep/d")}


def test_gitignore_takes_skills_and_files_out(write: Write) -> None:
    write({**MANY, ".gitignore": "build/\n*.log\n", "a/x.log": "x", "a/y.txt": "y"})
    discovery = discover(["."])
    assert shown(discovery) == ["a", "b"]
    assert list(names(discovery.skills[0])) == ["y.txt"]
    assert sorted(map(os.path.relpath, discovery.ignored)) == ["a/x.log", "build"]


def test_an_inner_gitignore_takes_back_what_an_outer_one_said(write: Write) -> None:
    write(
        {
            "a/SKILL.md": GOOD,
            ".gitignore": "*.log\n",
            "a/.gitignore": "!keep.log\n/only-here.txt\n",
            "a/keep.log": "x",
            "a/other.log": "x",
            "a/only-here.txt": "x",
            "a/sub/only-here.txt": "x",
        }
    )
    assert list(names(only("."))) == [".gitignore", "keep.log", "sub/only-here.txt"]


def test_the_last_matching_pattern_of_a_file_wins(write: Write) -> None:
    write({**MANY, ".gitignore": "build/*\n!build/keep/\n"})
    assert found(".") == ["a", "b", "build/keep/d"]


@pytest.mark.parametrize("lines", ["*\n!*/\n!*.md\n", "*\n!a\n!SKILL.md\n", "/*\n!/a/\n"])
def test_a_gitignore_that_lists_what_to_keep(write: Write, lines: str) -> None:
    write({"a/SKILL.md": GOOD, ".gitignore": lines})  # git itself keeps a/SKILL.md with each
    assert found(".") == ["a"]


def test_a_gitignore_above_what_is_named_counts_up_to_the_top_of_the_repository(
    write: Write,
) -> None:
    write(
        {
            ".gitignore": "*.txt\n",
            "repo/.git/HEAD": "",
            "repo/.gitignore": "*.log\n",
            "repo/skills/a/SKILL.md": GOOD,
            "repo/skills/a/x.log": "x",
            "repo/skills/a/y.txt": "y",
        }
    )
    assert list(names(only("repo/skills/a"))) == ["y.txt"]
    assert list(names(only("repo/skills"))) == ["y.txt"]


def test_gitignore_above_a_folder_without_repository_means_nothing(write: Write) -> None:
    write({".gitignore": "*.log\n", "skills/a/SKILL.md": GOOD, "skills/a/x.log": "x"})
    assert list(names(only("skills/a"))) == ["x.log"]


@pytest.mark.parametrize(
    ("exclude", "left"),
    [
        (("a",), ["b", "build/c", "build/keep/d"]),
        (("build",), ["a", "b"]),
        (("build/c/",), ["a", "b", "build/keep/d"]),
        (("**/d",), ["a", "b", "build/c"]),
        (("[ab]",), ["build/c", "build/keep/d"]),
        (("*", "!b"), ["b"]),
        (("/c",), ["a", "b", "build/c", "build/keep/d"]),
    ],
)
def test_exclude_patterns_are_those_of_git(
    write: Write, exclude: tuple[str, ...], left: list[str]
) -> None:
    write(MANY)
    assert found(".", exclude=exclude) == left


def test_patterns_count_from_the_folder_that_they_are_given_for(write: Write) -> None:
    write(MANY)
    assert found("build", exclude=("build/c",)) == ["build/keep/d"]
    assert found(os.path.abspath("build"), exclude=("build/c",)) == ["build/keep/d"]


@pytest.mark.parametrize(
    "junk", [".git", ".hg", "node_modules", ".DS_Store", ".venv", "venv", ".mypy_cache", ".tox"]
)
def test_junk_is_passed_over_at_any_depth(write: Write, junk: str) -> None:
    write({"a/SKILL.md": GOOD, f"a/{junk}/x.py": "x", f"sub/{junk}/p/SKILL.md": GOOD, "a/b.py": ""})
    assert found(".") == ["a"]
    assert list(names(only("."))) == ["b.py"]


def test_build_and_byte_code_are_no_junk(write: Write) -> None:
    write({"a/SKILL.md": GOOD, "a/build/x.py": "x", "a/__pycache__/x.pyc": "y"})
    assert list(names(only("."))) == ["__pycache__/x.pyc", "build/x.py"]


@pytest.mark.parametrize(
    "lines",
    [
        b"\xff\xfe\0bad",
        b"[\n[a-\n\\\n",
        b"*" * 3_000,
        b"!\n!!\n/\n//\n",
        b"a\r\nb\r\n",
        b"**/**/**\n!**",
    ],
)
def test_an_odd_gitignore_does_no_harm(write: Write, lines: bytes) -> None:
    write({"pdf/SKILL.md": GOOD, "pdf/.gitignore": lines})
    assert found(".") == ["pdf"]


def test_gitignore_with_crlf_line_endings(write: Write) -> None:
    write(
        {
            "a/SKILL.md": GOOD,
            "a/.gitignore": "*.log\r\n!keep.log\r\n",
            "a/x.log": "",
            "a/keep.log": "",
        }
    )
    assert list(names(only("."))) == [".gitignore", "keep.log"]


# Links ----------------------------------------------------------------------------------


def test_a_link_to_a_folder_inside_is_found_where_it_leads(write: Write) -> None:
    write({"real/pdf/SKILL.md": GOOD, "skills/pdf": "-> ../real/pdf"})
    assert found(".") == ["real/pdf"]


def test_a_link_to_a_folder_outside_is_not_followed_but_named(write: Write) -> None:
    write({"away/pdf/SKILL.md": GOOD, "here/a/SKILL.md": GOOD, "here/pdf": "-> ../away/pdf"})
    discovery = discover(["here"])
    assert shown(discovery) == ["here/a"]
    assert list(map(os.path.relpath, discovery.outside)) == ["here/pdf"]


def test_a_link_that_is_named_itself_is_followed(write: Write) -> None:
    write({"away/pdf/SKILL.md": GOOD, "here/pdf": "-> ../away/pdf", "here/all": "-> ../away"})
    assert len(found("here/pdf")) == len(found("here/all")) == len(found("here/pdf/SKILL.md")) == 1


@pytest.mark.parametrize("target", [".", "..", "../a", "loop", "../../a/loop"])
def test_links_that_go_round_end(write: Write, target: str) -> None:
    write({"top/a/SKILL.md": GOOD, "top/a/loop": f"-> {target}", "top/loop": f"-> {target}"})
    assert found("top") == ["top/a"]
    assert names(only("top"))["loop"] == "link"


def test_a_link_inside_a_skill_is_a_file_of_kind_link(write: Write) -> None:
    write(
        {"a/SKILL.md": GOOD, "a/passwd": "-> /etc/passwd", "a/gone": "-> nowhere", "a/d": "-> ../a"}
    )
    assert names(only(".")) == {"passwd": "link", "gone": "link", "d": "link"}


@pytest.mark.parametrize("target", ["x.md", "../real/SKILL.md", "nowhere.md", "SKILL.md"])
def test_a_linked_skill_file_makes_a_skill(write: Write, target: str) -> None:
    write({"a/SKILL.md": f"-> {target}", "a/x.md": GOOD, "real/SKILL.md": GOOD})
    assert only("a").linked
    assert not only("real").linked


def test_is_inside_is_not_fooled_by_a_common_beginning() -> None:
    assert is_inside("/a/b", "/a/b") and is_inside("/a/b/c", "/a/b") and is_inside("/a", "/")
    assert not is_inside("/a/bc", "/a/b") and not is_inside("/a", "/a/b")


# Odd files and folders ------------------------------------------------------------------


def test_pipes_and_sockets_are_named_as_special(write: Write) -> None:
    root = write({"a/SKILL.md": GOOD})
    os.mkfifo(root / "a/pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("a/socket")
        assert names(only("a")) == {"pipe": "special", "socket": "special"}


def test_a_pipe_in_place_of_skill_md_is_a_skill_that_does_not_block(write: Write) -> None:
    root = write({"a/x.md": "x"})
    os.mkfifo(root / "a/SKILL.md")
    with at_most(5.0):
        assert found(".") == ["a"]


@pytest.mark.parametrize("name", [".gitignore", ".claude-plugin/plugin.json", "plugin.json"])
def test_a_pipe_in_place_of_a_file_that_is_read_does_not_block(write: Write, name: str) -> None:
    root = write({"a/SKILL.md": GOOD, "a/.claude-plugin/x": "", "a/x.log": ""})
    os.mkfifo(root / "a" / name)
    with at_most(5.0):
        assert found(".") == ["a"]


@pytest.mark.parametrize(
    "name", ["caf\udce9", "a\nb", "a\x1b[31mb", "技能", "e\u0301", " ", "a\\b", "-x"]
)
def test_any_file_name_is_found(write: Write, name: str) -> None:
    write({f"skills/{name}/SKILL.md": GOOD, f"skills/{name}/{name}.txt": "x"})
    assert only(".").folder == os.path.abspath(f"skills/{name}")
    assert list(names(only("."))) == [f"{name}.txt"]


@needs_permissions
def test_an_unreadable_folder_is_passed_over_and_named(write: Write) -> None:
    root = write({"a/SKILL.md": GOOD, "locked/b/SKILL.md": GOOD})
    (root / "locked").chmod(0)
    try:
        discovery = discover(["."])
    finally:
        (root / "locked").chmod(0o755)
    assert shown(discovery) == ["a"]
    assert list(map(os.path.relpath, discovery.unread)) == ["locked"]


def test_very_deep_folders_are_named_and_end_nothing(write: Write) -> None:
    write({"a/SKILL.md": GOOD, "/".join(["a", *["d"] * 300, "x.txt"]): "x"})
    discovery = discover(["."])
    assert shown(discovery) == ["a"]
    assert [path.count("/d") > 30 for path in discovery.unread] == [True]


def test_files_are_listed_by_path_in_order_without_the_skill_file(write: Write) -> None:
    write(
        {f"a/{name}": "" for name in ("z.md", "b/y.md", "b/a/x.md", "B.md")} | {"a/SKILL.md": GOOD}
    )
    assert list(names(only("."))) == ["B.md", "b/a/x.md", "b/y.md", "z.md"]


@pytest.mark.slow
def test_what_lies_beyond_the_bound_is_counted(write: Write) -> None:
    root = write({"a/SKILL.md": GOOD})
    for number in range(MAX_ENTRIES + 3):
        (root / f"a/{number:06}").touch()
    skill = only("a")
    assert (len(skill.entries), skill.beyond) == (MAX_ENTRIES, 3)
