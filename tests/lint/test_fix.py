"""Fixes: what they change, that they change nothing else, and that they end."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from cli.kit import DESCRIPTION, Result, lint, run, skill_md, snapshot
from conftest import Write
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from skilleval.errors import ExitCode, InputError
from skilleval.lint.engine import Options
from skilleval.lint.fix import fix_skill, write_fixes
from skilleval.skill import discover

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and modes of POSIX")
not_root = pytest.mark.skipif(
    hasattr(os, "geteuid") and os.geteuid() == 0, reason="nothing is forbidden to root"
)

WORDS = f"description: {DESCRIPTION}\n"


def fix(*words: str) -> Result:
    return run("lint", "--fix", *words)


def diff(*words: str) -> Result:
    return run("lint", "--diff", *words)


# What safe fixes do, byte by byte

SAFE = {
    "a number for a name keeps its comment": (
        "2024",
        f"---\n# the year\nname:   2024   # not 2023\n{WORDS}---\n\nBody  \n",
        f'---\n# the year\nname:   "2024"   # not 2023\n{WORDS}---\n\nBody  \n',
    ),
    "a boolean for a name": (
        "on",
        f"---\nname: on\n{WORDS}---\nBody\n",
        f'---\nname: "on"\n{WORDS}---\nBody\n',
    ),
    "a date in metadata among other styles": (
        "a",
        f"---\nmetadata:\n    'b':  'x'\n    a:  2024-01-01\n    \"c\": 'y'\n"
        f"name: 'a'\n{WORDS}---\n",
        f"---\nmetadata:\n    'b':  'x'\n    a:  \"2024-01-01\"\n    \"c\": 'y'\n"
        f"name: 'a'\n{WORDS}---\n",
    ),
    "a number in a map on one line": (
        "a",
        f"---\nname: a\n{WORDS}metadata: {{ version: 1.0 , x: 'y' }}\n---\nBody\n",
        f"---\nname: a\n{WORDS}metadata: {{ version: \"1.0\" , x: 'y' }}\n---\nBody\n",
    ),
    "a colon in a description": (
        "a",
        '---\nname: a\ndescription: Use when: the user says "go" or C:\\x\n---\nBody\n',
        '---\nname: a\ndescription: "Use when: the user says \\"go\\" or C:\\\\x"\n---\nBody\n',
    ),
    "brackets in a hint": (
        "a",
        f"---\nname: a\n{WORDS}argument-hint: [<id>[,<id>]]\n---\nBody\n",
        f'---\nname: a\n{WORDS}argument-hint: "[<id>[,<id>]]"\n---\nBody\n',
    ),
    "tools in a list on one line": (
        "a",
        f"---\nname: a\n{WORDS}allowed-tools: [Read, Bash(git add *)] # both\n---\nBody\n",
        f'---\nname: a\n{WORDS}allowed-tools: "Read Bash(git add *)" # both\n---\nBody\n',
    ),
    "tools in a list of lines": (
        "a",
        f"---\nname: a\nallowed-tools:\n  - Read\n  - Grep\n{WORDS}---\nBody\n",
        f"---\nname: a\nallowed-tools: Read Grep\n{WORDS}---\nBody\n",
    ),
    "tools with commas": (
        "a",
        f"---\nname: a\nallowed-tools: Read, Bash(git add *), Grep\n{WORDS}---\nBody\n",
        f"---\nname: a\nallowed-tools: Read Bash(git add *) Grep\n{WORDS}---\nBody\n",
    ),
    "a missing name": ("a", f"---\n{WORDS}---\nBody\n", f"---\nname: a\n{WORDS}---\nBody\n"),
    "a missing name with Windows line endings": (
        "a",
        f"---\n{WORDS}---\n\nBody\n".replace("\n", "\r\n"),
        f"---\nname: a\n{WORDS}---\n\nBody\n".replace("\n", "\r\n"),
    ),
    "a missing name with line endings of old": (
        "a",
        f"---\n{WORDS}---\n\nBody\n".replace("\n", "\r"),
        f"---\nname: a\n{WORDS}---\n\nBody\n".replace("\n", "\r"),
    ),
    "a byte order mark": (
        "a",
        f"\ufeff---\nname: a\n{WORDS}---\nBody\n",
        f"---\nname: a\n{WORDS}---\nBody\n",
    ),
    "blank lines above": (
        "a",
        f"\n \n---\nname: a\n{WORDS}---\nBody\n",
        f"---\nname: a\n{WORDS}---\nBody\n",
    ),
    "several things, without a final line break": (
        "7",
        "\ufeff---\nname: 7\r\ndescription: Use when: asked\nmetadata:\n  v: 1.0\n---\n\t Body",
        '---\nname: "7"\r\ndescription: "Use when: asked"\nmetadata:\n  v: "1.0"\n---\n\t Body',
    ),
}


@pytest.mark.parametrize("case", SAFE)
def test_a_safe_fix_changes_this_and_no_other_byte(write: Write, case: str) -> None:
    folder, before, after = SAFE[case]
    path = write({f"{folder}/SKILL.md": before}) / folder / "SKILL.md"
    fix()
    assert path.read_bytes() == after.encode()


def test_a_path_with_back_slashes_is_mended_where_the_file_is_there(write: Write) -> None:
    body = "Run `scripts\\go.py`, not `scripts\\gone.py`.\n"
    root = write({"a/SKILL.md": skill_md("a", body=body), "a/scripts/go.py": "pass\n"})
    fix("--select", "backslash-path")
    assert "Run `scripts/go.py`, not `scripts\\gone.py`." in (root / "a/SKILL.md").read_text()
    fix("--select", "backslash-path", "--unsafe")
    assert "Run `scripts/go.py`, not `scripts/gone.py`." in (root / "a/SKILL.md").read_text()


def test_a_fix_of_an_indented_frontmatter_leaves_it_readable(write: Write) -> None:
    write({"a/SKILL.md": f"---\n  {WORDS}  license: MIT\n---\n\nBody\n"})
    assert "yaml-error" not in lint().rules
    fix()
    assert "yaml-error" not in lint().rules


def test_a_fix_of_keys_behind_question_marks_leaves_them_readable(write: Write) -> None:
    root = write({"a/SKILL.md": f"---\n? description\n: {DESCRIPTION}\n---\n\nBody\n"})
    fix()
    once = snapshot(root)
    assert not {"yaml-error", "description-missing"} & lint().rules
    fix()
    assert snapshot(root) == once


# What unsafe fixes do

UNSAFE = {
    "another name than the folder's": (
        f"---\nname: 'b'\n{WORDS}---\nBody\n",
        f"---\nname: 'a'\n{WORDS}---\nBody\n",
    ),
    "a misspelt key": (
        f"---\nname: a\ndescriptoin: {DESCRIPTION}\n---\nBody\n",
        f"---\nname: a\ndescription: {DESCRIPTION}\n---\nBody\n",
    ),
    "text lost behind a hash": (
        "---\nname: a\ndescription: Settles issue #42 when asked  \n---\nBody\n",
        '---\nname: a\ndescription: "Settles issue #42 when asked"\n---\nBody\n',
    ),
    "hidden characters": (
        f"---\nname: a\n{WORDS}---\nBo\u200bdy\u2060\n",
        f"---\nname: a\n{WORDS}---\nBody\n",
    ),
    "line endings of old": (
        f"---\rname: a\r{WORDS[:-1]}\r---\r\rBody\r",
        f"---\nname: a\n{WORDS}---\n\nBody\n",
    ),
}


@pytest.mark.parametrize("case", UNSAFE)
def test_an_unsafe_fix_waits_to_be_asked_for(write: Write, case: str) -> None:
    before, after = UNSAFE[case]
    path = write({"a/SKILL.md": before}) / "a" / "SKILL.md"
    fix()
    assert path.read_bytes() == before.encode()
    fix("--unsafe")
    assert path.read_bytes() == after.encode()


def test_a_comment_in_a_list_of_tools_is_not_lost_without_asking(write: Write) -> None:
    text = f"---\nname: a\nallowed-tools:\n  - Read # why\n  - Grep\n{WORDS}---\nBody\n"
    path = write({"a/SKILL.md": text}) / "a" / "SKILL.md"
    fix()
    assert path.read_text() == text


def test_a_wrong_file_name_is_mended_when_asked(write: Write) -> None:
    root = write({"a/skill.md": skill_md("a")})
    fix()
    assert os.listdir(root / "a") == ["skill.md"]
    shown = diff("--unsafe").out
    assert "rename from a/skill.md\nrename to a/SKILL.md\n" in shown
    assert os.listdir(root / "a") == ["skill.md"]
    applied = apply(shown)
    (root / "a/SKILL.md").rename(root / "a/skill.md")
    fix("--unsafe")
    assert snapshot(root) == applied
    assert os.listdir(root / "a") == ["SKILL.md"]
    assert (root / "a/SKILL.md").read_text() == skill_md("a")


def test_a_file_is_edited_and_renamed_in_one_go(write: Write) -> None:
    root = write({"2024/Skill.md": skill_md("2024")})
    result = fix("--unsafe")
    assert result.err == "fixed: 2 findings in 1 skill\n"
    assert os.listdir(root / "2024") == ["SKILL.md"]
    assert (root / "2024/SKILL.md").read_text() == skill_md('"2024"')


# What is never changed


@posix
def test_nothing_is_written_through_a_linked_skill_file(write: Write) -> None:
    root = write({"s/2024/SKILL.md": "-> ../../t/SKILL.md", "t/SKILL.md": skill_md("2024")})
    before = snapshot(root)
    assert "name-type" in lint("s").rules
    fix("s", "--unsafe")
    assert snapshot(root) == before


@posix
def test_nothing_is_written_through_links_to_files_and_folders(write: Write) -> None:
    root = write(
        {
            "s/a/SKILL.md": skill_md("a", body="See more.md and refs/.\n"),
            "s/a/more.md": "-> ../../t/more.md",
            "s/a/refs": "-> ../../t",
            "s/b": "-> ../t/b",
            "t/more.md": "Hid\u200bden\n",
            "t/b/SKILL.md": skill_md("2024"),
        }
    )
    before = snapshot(root)
    fix("s", "--unsafe")
    assert snapshot(root) == before


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755, 0o664])
def test_a_fix_keeps_the_mode_of_the_file(write: Write, mode: int) -> None:
    path = write({"2024/SKILL.md": skill_md("2024")}) / "2024" / "SKILL.md"
    path.chmod(mode)
    fix()
    assert path.read_text() == skill_md('"2024"')
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_fix_leaves_no_other_file_behind(write: Write) -> None:
    root = write({"2024/SKILL.md": skill_md("2024")})
    fix()
    assert list(snapshot(root)) == ["2024/SKILL.md"]


def test_a_file_without_fixes_is_not_written(write: Write) -> None:
    path = write({"a/SKILL.md": skill_md("a")}) / "a" / "SKILL.md"
    before = path.stat()
    assert fix("--unsafe").err == "fixed: 0 findings in 0 skills\n"
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


def test_bytes_that_are_not_utf8_stay(write: Write) -> None:
    root = write(
        {
            "2024/SKILL.md": skill_md("2024").encode() + b"\xff\xfe\n",
            "a/SKILL.md": skill_md("a", body="See more.md.\n"),
            "a/more.md": "Hid\u200bden\n".encode() + b"\xff\n",
        }
    )
    assert "hidden-characters" in lint().rules
    before = snapshot(root)
    fix("--unsafe")
    assert snapshot(root) == before


def test_a_rule_that_is_switched_off_fixes_nothing(write: Write) -> None:
    off = "# skilleval: ignore-file name-type -- a year\n"
    root = write({"2024/SKILL.md": skill_md("2024", extra=off)})
    before = snapshot(root)
    fix()
    assert snapshot(root) == before
    fix("--no-suppressions")
    assert snapshot(root) != before


@pytest.mark.parametrize("words", [["--ignore", "name-type"], ["--select", "body"]])
def test_a_rule_that_is_not_chosen_fixes_nothing(write: Write, words: list[str]) -> None:
    root = write({"2024/SKILL.md": skill_md("2024")})
    before = snapshot(root)
    fix(*words)
    assert snapshot(root) == before


def test_a_rule_that_no_chosen_target_minds_fixes_nothing(write: Write) -> None:
    root = write({"a/SKILL.md": f"---\n{WORDS}---\nBody\n"})
    before = snapshot(root)
    fix("--target", "claude-code")
    assert snapshot(root) == before


def test_a_rule_that_is_off_for_a_path_fixes_nothing_there(write: Write) -> None:
    root = write(
        {
            "skilleval.toml": "[lint.per-path]\n'old/*' = ['name-type']\n",
            "old/2024/SKILL.md": skill_md("2024"),
            "new/2025/SKILL.md": skill_md("2025"),
        }
    )
    fix()
    assert (root / "new/2025/SKILL.md").read_text() == skill_md('"2025"')
    assert (root / "old/2024/SKILL.md").read_text() == skill_md("2024")


def test_a_file_that_changed_meanwhile_is_not_overwritten(write: Write) -> None:
    path = write({"2024/SKILL.md": skill_md("2024")}) / "2024" / "SKILL.md"
    fixes = fix_skill(discover(["2024"]).skills[0], Options())
    path.write_text("something else")
    with pytest.raises(InputError, match="changed while it was being fixed"):
        write_fixes(fixes)
    assert path.read_text() == "something else"


@posix
@not_root
def test_a_file_that_can_not_be_written_is_an_error(write: Write) -> None:
    root = write({"2024/SKILL.md": skill_md("2024")})
    (root / "2024").chmod(0o500)
    result = fix()
    (root / "2024").chmod(0o700)
    assert result.code == ExitCode.USAGE
    assert "can't write 2024/SKILL.md" in result.err


# How it ends


def test_the_exit_code_is_about_what_is_left(write: Write) -> None:
    write({"2024/SKILL.md": skill_md("2024"), "a/SKILL.md": skill_md("b")})
    assert fix("2024").code == 0
    assert fix("a").code == 1
    assert fix("a", "--unsafe").code == 0


def test_only_what_is_named_is_fixed(write: Write) -> None:
    root = write({"2024/SKILL.md": skill_md("2024"), "2025/SKILL.md": skill_md("2025")})
    fix("2024")
    assert (root / "2025/SKILL.md").read_text() == skill_md("2025")


# Looking first

MANY = {
    "2024/SKILL.md": skill_md("2024", "Use when: asked for a year.", body="Text.\n" * 20),
    "crlf/SKILL.md": f"---\n{WORDS}---\n\nBody\n".replace("\n", "\r\n"),
    "end/SKILL.md": f"---\n{WORDS}---\n\nBody\n",
    "other/SKILL.md": skill_md("name", body="Bo\u200bdy — é\n"),
    "other/more.md": "More te\u200bxt\n",
    "fine/SKILL.md": skill_md("fine"),
}


@pytest.mark.parametrize("unsafe", [[], ["--unsafe"]], ids=["safe", "unsafe"])
def test_a_difference_is_what_fixing_does(write: Write, unsafe: list[str]) -> None:
    root = write(MANY)
    before = snapshot(root)
    shown = diff(*unsafe)
    assert shown.code == ExitCode.FAILED
    assert snapshot(root) == before
    assert apply(shown.out) != before
    applied = snapshot(root)
    write(MANY)
    fix(*unsafe)
    assert snapshot(root) == applied


def test_a_difference_says_where_there_is_no_final_line_break(write: Write) -> None:
    files = {"2024/SKILL.md": "---\nname: 2024\ndescription: Use when: asked\n---\nBody"}
    root = write(files)
    applied = apply(diff().out)
    write(files)
    fix()
    assert snapshot(root) == applied


def apply(patch: str) -> dict[str, tuple[int, bytes | str]]:
    """The working directory after git has applied a patch to it."""
    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"], input=patch.encode(), capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()
    return snapshot(Path.cwd())


def test_a_difference_shows_old_and_new_lines(write: Write) -> None:
    write({"s/2024/SKILL.md": skill_md("2024")})
    result = diff("s")
    assert result.out.splitlines()[:5] == [
        "--- a/s/2024/SKILL.md",
        "+++ b/s/2024/SKILL.md",
        "@@ -1,5 +1,5 @@",
        " ---",
        "-name: 2024",
    ]
    assert '+name: "2024"' in result.out
    assert result.err == "1 fix to make\n"


def test_nothing_to_fix_is_no_difference(write: Write) -> None:
    write({"a/SKILL.md": skill_md("b")})
    result = diff()
    assert (result.code, result.out, result.err) == (0, "", "nothing to fix\n")


# Fixing twice


def test_fixing_twice_changes_nothing_more(write: Write) -> None:
    root = write(MANY)
    fix("--unsafe")
    once = snapshot(root)
    assert fix("--unsafe").err == "fixed: 0 findings in 0 skills\n"
    assert snapshot(root) == once
    assert diff("--unsafe").code == 0


@pytest.mark.parametrize("unsafe", [[], ["--unsafe"]], ids=["safe", "unsafe"])
def test_fixing_the_cases_twice_changes_nothing_more(
    cases: Path, tmp_path: Path, unsafe: list[str]
) -> None:
    subprocess.run([sys.executable, cases / "materialize.py", tmp_path], check=True)
    before = snapshot(tmp_path)
    fix(str(tmp_path), *unsafe)
    once = snapshot(tmp_path)
    assert once != before
    assert fix(str(tmp_path), *unsafe).err == "fixed: 0 findings in 0 skills\n"
    assert snapshot(tmp_path) == once


# The same for frontmatter that nobody thought of

KEYS = st.sampled_from(
    [
        "name", "description", "'name'", '"description"', "license", "compatibility", "metadata",
        "allowed-tools", "argument-hint", "when_to_use", "paths", "descriptoin", "tags", "on",
        "disable-model-invocation",
    ]
)  # fmt: skip
VALUES = st.one_of(
    st.sampled_from(
        [
            "", "a", "2024", "1.0", "1e3", "0x1F", "1:30", "yes", "null", "~", "2024-01-01",
            "[a, b]", "[a, 'b c', 1]", "[<id>[,<id>]]", "{a: 1.5, b: yes}", "a: b", "a: b: c",
            "Read, Grep", "Read, Bash(git add *)", "[Read, 'Bash(a, b)']", "'it''s'", "'x'",
            "'x' y: z", '"x" y: z', '"a\\tb": c', "x # y", "x: y # z", "# x", "&a b", "*a",
            "!!str 1", "|", ">-", "- x", "`x`", "@x", "%x", "x\ty", "[x", "{x", "\u2028: x",
            "C:\\x: y", "\u00e9: \u5831", "x \u200b: y", "'", '"',
        ]
    ),
    st.text("ab1 :#'\"[]{},&*!|>%@`\\-\t\u2028\u200b\u00e9", max_size=12),
)  # fmt: skip
LINES = st.one_of(
    st.builds(
        "{}:{}{}{}".format,
        KEYS,
        st.sampled_from([" ", "  ", "\t", ""]),
        VALUES,
        st.sampled_from(["", "", "", "  # why", " "]),
    ),
    st.builds("  {}: {}".format, st.sampled_from(["version", "author", "'x'"]), VALUES),
    st.builds("  - {}".format, VALUES),
    st.sampled_from(["", "# a comment", "  more text", "---", "..."]),
)
FRONTMATTER = st.builds(
    lambda above, lines, body, newline: newline.join([above, *lines, "---", "", *body]),
    st.sampled_from(["---", "---", "---", "\ufeff---", "\n---", "--- ", "----"]),
    st.lists(LINES, max_size=6),
    st.sampled_from([["Body"], ["Body", ""], ["# T", "", "`scripts\\x.py`", ""], []]),
    st.sampled_from(["\n", "\n", "\r\n", "\r"]),
)
READABLE_VALUES = st.sampled_from(
    [
        "a", "2024", "1.0", "1e3", "0x1F", "1:30", "yes", "null", "~", "2024-01-01", "1_000",
        "[a, b]", "[a, 'b c', 1]", "{a: 1.5, b: yes}", "Read, Grep", "Read, Bash(git add *)",
        "[Read, 'Bash(a, b)']", "'it''s'", "'x'", '"x\\ty"', "x # y", "x  ", "|\n  a\n  b",
        ">-\n  a", "\n  a\n  b", "\u00e9 \u5831", "x\u200by", "-1", "+1.5e3", ".inf", "C:\\x",
        "'2024'", '"yes"',
    ]
)  # fmt: skip
READABLE = st.builds(
    lambda above, entries, metadata, newline: newline.join(
        [
            above,
            *(f"{key}: {value}" for key, value in entries.items()),
            *(["metadata:", *(f"  {k}: {v}" for k, v in metadata.items())] if metadata else []),
            "---",
            "",
            "Body",
        ]
    ),
    st.sampled_from(["---", "---", "\ufeff---", "\n---", "---\n# a comment"]),
    st.dictionaries(KEYS.filter(lambda key: key != "metadata"), READABLE_VALUES, max_size=5),
    st.dictionaries(
        st.sampled_from(["version", "author", "'x'", "2", "on"]),
        READABLE_VALUES.filter(lambda value: "\n" not in value),
        max_size=3,
    ),
    st.sampled_from(["\n", "\r\n"]),
)
GENERATED = settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)


def fixed(text: bytes, *, unsafe: bool) -> tuple[bytes, list[str]]:
    """A SKILL.md in the folder ``a`` after fixing it, and what was done."""
    with tempfile.TemporaryDirectory() as root:
        path = Path(root, "a", "SKILL.md")
        path.parent.mkdir()
        path.write_bytes(text)
        fixes = fix_skill(discover([str(path)]).skills[0], Options(), unsafe)
        write_fixes(fixes)
        return path.read_bytes(), fixes.titles


@GENERATED
@given(FRONTMATTER, st.booleans())
def test_fixing_any_frontmatter_twice_changes_nothing_more(text: str, unsafe: bool) -> None:
    once, _ = fixed(text.encode(), unsafe=unsafe)
    assert fixed(once, unsafe=unsafe) == (once, [])


@GENERATED
@given(FRONTMATTER)
def test_a_safe_fix_leaves_the_body_alone(text: str) -> None:
    body = "\n---\n\nThe   body\t — kept.  \r\n\r\n"
    data = text.split("\n---")[0].encode() + body.encode()
    assert fixed(data, unsafe=False)[0].endswith(body.encode())


def plain(data: bytes) -> dict[str, Any] | None:
    """The frontmatter with every single value as the text it was written with."""
    parts = data.decode().removeprefix("\ufeff").replace("\r\n", "\n").split("---\n")
    if len(parts) < 3 or parts[0].strip():
        return None
    try:
        values = yaml.load(parts[1], yaml.BaseLoader)
    except (yaml.YAMLError, ValueError):
        return None
    return values if isinstance(values, dict) else None


@GENERATED
@given(READABLE)
def test_a_safe_fix_changes_no_text(text: str) -> None:
    before = plain(text.encode())
    after = plain(fixed(text.encode(), unsafe=False)[0])
    assume(before is not None)
    assert before is not None and after is not None
    rewritten = {"allowed-tools", "argument-hint", "when_to_use"}  # lists become text there
    kept = before.keys() - rewritten
    assert {key: after[key] for key in kept} == {key: before[key] for key in kept}
    assert after.keys() - before.keys() <= {"name"}


def test_no_fix_breaks_the_frontmatter(write: Write) -> None:
    hidden = "\u200b%\n ."
    root = write({"a/SKILL.md": f"---\nname: a\n{WORDS}w: {hidden}\n---\n\nBo\u200bdy\n"})
    fix("--unsafe")
    assert (root / "a/SKILL.md").read_text().endswith(f"w: {hidden}\n---\n\nBo\u200bdy\n")
    assert "yaml-error" not in lint().rules
