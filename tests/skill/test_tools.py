"""Tools are told apart the way Claude Code does it: parentheses keep what is in them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skilleval.skill import read_frontmatter
from skilleval.skill.tools import split_tools, tool_names


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ("", []),
        ("   ", []),
        (",", []),
        ("Read", ["Read"]),
        ("Read Grep", ["Read", "Grep"]),
        ("Read, Grep", ["Read", "Grep"]),
        ("Read,Grep", ["Read", "Grep"]),
        ("Read\nGrep\tGlob", ["Read", "Grep", "Glob"]),
        ("  Read ,, Grep  ,", ["Read", "Grep"]),
        ("Bash(git add *) Read", ["Bash(git add *)", "Read"]),
        ("Bash(git add *),Read", ["Bash(git add *)", "Read"]),
        ("Bash(git:*), Bash(npm run a, b), Edit", ["Bash(git:*)", "Bash(npm run a, b)", "Edit"]),
        ("Bash(echo $(date)) Read", ["Bash(echo $(date))", "Read"]),
        ("Bash(a (b) c (d) e)", ["Bash(a (b) c (d) e)"]),
        ("Bash()", ["Bash()"]),
        ("mcp__github__create_issue", ["mcp__github__create_issue"]),
        (
            "GitHub:create_issue WebFetch(domain:a.b)",
            ["GitHub:create_issue", "WebFetch(domain:a.b)"],
        ),
        ("Read(./docs/**) *", ["Read(./docs/**)", "*"]),
        ("Bash(git add *", ["Bash", "(", "git", "add", "*"]),
        ("Bash) Read", ["Bash", ")", "Read"]),
    ],
)
def test_tools_are_told_apart(text: str, tools: list[str]) -> None:
    assert split_tools(text) == tools


NAMES = st.from_regex(r"[A-Za-z_*][A-Za-z0-9_:*.-]{0,8}", fullmatch=True)
INSIDE = st.text("ab *:,/$-", max_size=10)
TOOLS = st.one_of(
    NAMES,
    st.builds("{}({})".format, NAMES, INSIDE),
    st.builds("{}({}({}){})".format, NAMES, INSIDE, INSIDE, INSIDE),
)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(TOOLS, st.sampled_from([" ", ", ", ",", "\n", "  ,  "])), max_size=6))
def test_any_tools_come_back_whole_whatever_separates_them(tools: list[tuple[str, str]]) -> None:
    text = "".join(tool + separator for tool, separator in tools)
    assert split_tools(text) == [tool for tool, _ in tools]


@settings(max_examples=150, deadline=None)
@given(st.text("ab(), \n*", max_size=40))
def test_nothing_is_lost_but_separators(text: str) -> None:
    kept = "".join(split_tools(text))
    bare = str.maketrans("", "", ", \n")
    assert kept.translate(bare) == text.translate(bare)


@pytest.mark.parametrize(
    ("value", "tools"),
    [
        ("Read, Bash(git add *)", ["Read", "Bash(git add *)"]),
        ("'Read Grep'", ["Read", "Grep"]),
        ("[Read, Grep]", ["Read", "Grep"]),
        ("['Bash(git add *)', \" Read \"]", ["Bash(git add *)", "Read"]),
        ("\n  - Read\n  - Bash(a, b)", ["Read", "Bash(a, b)"]),
        ("|\n  Read\n  Grep", ["Read", "Grep"]),
        (">-\n  Read,\n  Grep", ["Read", "Grep"]),
        ("[Read, [Grep], {Glob: 1}]", ["Read"]),
        ("", []),
        ("[]", []),
        ("{Read: 1}", []),
        ("12", ["12"]),
    ],
)
def test_every_way_to_write_them(value: str, tools: list[str]) -> None:
    front = read_frontmatter(f"---\nallowed-tools: {value}\n---\n")
    assert tool_names(front.fields["allowed-tools"]) == tools


def test_tools_behind_an_alias() -> None:
    front = read_frontmatter("---\nx: &t [Read, Grep]\nallowed-tools: *t\n---\n")
    assert tool_names(front.fields["allowed-tools"]) == ["Read", "Grep"]


@pytest.mark.parametrize(
    "text", ["(" * 20_000, "a(" * 20_000, "a(b" + "(c)" * 20_000, "()" * 20_000]
)
def test_many_parentheses_are_no_trap(text: str) -> None:
    assert "".join(split_tools(text)) == text
