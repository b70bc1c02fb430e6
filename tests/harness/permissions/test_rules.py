"""Reading rules and settings files; which tools are shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness.permissions.kit import PATH, Asked, World, bash, run

from skilleval.errors import InputError
from skilleval.harness.permissions import (
    Call,
    Mode,
    PermissionPolicy,
    Rule,
    Rules,
    fits,
    read_permissions,
    readable,
    visible_tools,
)

WRONG = {
    "": "a rule is a tool's name",
    "Bash(": "a rule is a tool's name",
    "Bash()": "nothing between the parentheses",
    "Bash(ls) x": "a rule is a tool's name",
    "Bash(curl * | bash)": "joins several",
    "Bash(ls && rm)": "joins several",
    "Bash(git:* push)": "stands at the end only",
    "Bash(echo 'x)": "a quote is never closed",
    "Bash(A=1 :*)": "it names no command",
    "Read(!x)": "an exception to itself",
    "Read(/)": "no pattern for paths",
    "WebFetch(example.com)": "domain:HOST",
    "WebFetch(domain:https://x.com/)": "domain:HOST",
    "mcp__db(x)": "takes nothing in parentheses",
    "Foo(x)": "takes nothing in parentheses",
    "B*": "only names of MCP tools",
}


@pytest.mark.parametrize(("text", "why"), WRONG.items())
def test_what_is_no_rule(text: str, why: str) -> None:
    with pytest.raises(InputError, match=why) as caught:
        Rules.parse(deny=[text])
    assert repr(text.strip()) in caught.value.message or repr(text) in caught.value.message
    assert caught.value.remedy


@pytest.mark.parametrize("text", ["*", "mcp__*"])
def test_to_allow_everything_is_what_a_mode_is_for(text: str) -> None:
    assert Rules.parse(deny=[text]).deny
    with pytest.raises(InputError, match="what a mode is for"):
        Rules.parse(allow=[text])


def test_a_star_in_parentheses_is_the_bare_name() -> None:
    assert Rule.parse("Bash(*)").what == Rule.parse("Bash").what == ""


def test_tools_that_are_denied_by_name_are_not_shown() -> None:
    names = ["Bash", "Read", "Edit", "Task", "mcp__db__query", "mcp__db2__x", "mcp__web__get"]
    rules = Rules.parse(["Bash", "Edit(src/**)", "Agent", "mcp__db", "mcp__web__g*"])
    assert visible_tools(names, rules) == ["Read", "Edit", "mcp__db2__x"]
    assert visible_tools(names, Rules.parse(["Bash(rm:*)"], ["Read"], ["Edit"])) == names
    assert visible_tools(names, Rules.parse(["Bash(*)", "mcp__*"])) == ["Read", "Edit", "Task"]
    assert visible_tools(names, Rules.parse(["*"])) == []


def write_settings(folder: Path, permissions: object) -> str:
    path = folder / ".claude" / "settings.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"permissions": permissions, "env": {}}))
    return str(path)


def test_settings_are_read(place: World) -> None:
    path = write_settings(
        place.workspace,
        {
            "allow": ["Read(/src/**)"],
            "ask": ["Bash(git push:*)"],
            "deny": ["Bash(rm:*)"],
            "defaultMode": "acceptEdits",
            "additionalDirectories": ["../more"],
            "disableBypassPermissionsMode": "disable",
        },
    )
    found = read_permissions(path)
    assert found.mode is Mode.ACCEPT_EDITS
    assert [rule.text for rule in found.rules.deny] == ["Bash(rm:*)"]
    assert [Path(each).resolve() for each in found.additional_directories] == [place.more]
    policy = PermissionPolicy(workspace=str(place.workspace / "docs"), path=PATH).with_settings(
        path
    )
    assert policy.mode is Mode.ACCEPT_EDITS
    source = Call("Read", {"file_path": str(place.workspace / "src/app.py")})
    assert run(source, policy).step == "allow rule"
    chosen = PermissionPolicy(Mode.PLAN, workspace=str(place.workspace)).with_settings(path)
    assert chosen.mode is Mode.PLAN


@pytest.mark.parametrize(
    ("permissions", "why"),
    [
        ({"allow": "Bash"}, "permissions.allow is no list"),
        ({"allow": [1]}, "permissions.allow is no list"),
        ({"deny": ["Bash("]}, "no permission rule"),
        ({"defaultMode": "yolo"}, "defaultMode is none of default, dontAsk"),
        ([], "permissions is no object"),
    ],
)
def test_broken_settings(place: World, permissions: object, why: str) -> None:
    path = write_settings(place.workspace, permissions)
    with pytest.raises(InputError, match=why) as caught:
        read_permissions(path)
    assert path in caught.value.message


def test_settings_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    with pytest.raises(InputError, match="can't be read"):
        read_permissions(str(path))
    for content in ("{", "[" * 100_000, "[]", '{"permissions": []}'):
        path.write_text(content)
        with pytest.raises(InputError):
            read_permissions(str(path))
    path.write_text("{}")
    assert read_permissions(str(path)).rules == Rules()


def test_searching_leaves_out_what_may_not_be_read(place: World) -> None:
    policy = place.policy(rules=Rules.parse(["Read(./secrets/**)", "Read(.env)"]))
    may_read = readable(policy)
    assert may_read
    shown = {name: may_read(str(place.workspace / name)) for name in ("src/app.py", ".env")}
    assert shown == {"src/app.py": True, ".env": False}
    assert not may_read(str(place.workspace / "secrets/key"))
    assert readable(place.policy()) is None


def test_searching_a_sandbox_leaves_out_the_same(place: World) -> None:
    (place.workspace / "link").symlink_to("secrets/key")
    rules = Rules.parse(["Read(./secrets/**)", "Grep(src/**)"])
    policy = place.policy(rules=rules, mounts=(("/workspace", str(place.workspace)),))
    for tool, left in (("Glob", {"src/app.py"}), ("Grep", set[str]())):
        may_read = readable(policy, tool)
        assert may_read
        names = ("src/app.py", "secrets/key", "link", "src/../secrets/key")
        assert {name for name in names if may_read(f"/workspace/{name}")} == left


def test_conditions_of_hooks(place: World) -> None:
    policy = place.policy()
    assert fits("Bash(git push:*)", Call("Bash", {"command": "ls; git push"}), policy)
    assert fits("Bash(git push:*)", Call("Bash", {"command": "$X"}), policy)
    assert not fits("Bash(git push:*)", Call("Bash", {"command": "git pull"}), policy)
    assert fits("Edit(*.py)", Call("Write", {"file_path": "src/app.py"}), policy)


def test_reasons_say_what_fits(place: World) -> None:
    policy = place.policy(rules=Rules.parse(["Bash(rm:*)", "Read(./secrets/**)"]))
    decision = bash("sh -c 'ls; rm x'", policy)
    assert decision.decided_by == "Bash(rm:*)"
    assert decision.reason == "it runs `rm x`, within `sh -c ls; rm x`"
    assert f"{place.workspace}/secrets/key" in bash("cat secrets/key", policy).reason
    asked = Asked()
    bash("ls | wc", place.policy(Mode.DEFAULT, rules=Rules.parse(allow=["Bash(ls:*)"])), asked)
    assert asked.reasons == ["no rule allows `wc`"]


def test_what_a_command_needs(place: World) -> None:
    command = "FOO=1 cat src/app.py > out.txt; curl https://example.com/x; $X; f() { ls; }; f"
    found = {(kind, target) for kind, target in bash(command, place.policy()).capabilities}
    workspace = place.workspace
    assert ("read", f"{workspace}/src/app.py") in found
    assert ("write", f"{workspace}/out.txt") in found
    assert ("variable", "FOO") in found
    assert ("network", "example.com") in found
    assert ("unknown", "…") in found
    programs = {target.rpartition("/")[2] for kind, target in found if kind == "execute"}
    assert {"cat", "ls"} <= programs
    assert "f" not in programs


@pytest.mark.parametrize(
    ("deny", "left"),
    [
        ([], ["Bash", "Read", "Agent", "mcp__db__query", "mcp__db__drop", "mcp__dbx__query"]),
        (["Bash"], ["Read", "Agent", "mcp__db__query", "mcp__db__drop", "mcp__dbx__query"]),
        (["Bash(*)"], ["Read", "Agent", "mcp__db__query", "mcp__db__drop", "mcp__dbx__query"]),
        (["Bash(rm:*)"], ["Bash", "Read", "Agent", *("mcp__db__query", "mcp__db__drop"),
                          "mcp__dbx__query"]),
        (["Task", "Read"], ["Bash", "mcp__db__query", "mcp__db__drop", "mcp__dbx__query"]),
        (["mcp__db"], ["Bash", "Read", "Agent", "mcp__dbx__query"]),
        (["mcp__db__dr*", "Read"], ["Bash", "Agent", "mcp__db__query", "mcp__dbx__query"]),
        (["mcp__*"], ["Bash", "Read", "Agent"]),
        (["*"], []),
    ],
)  # fmt: skip
def test_a_bare_name_that_is_denied_is_not_shown(deny: list[str], left: list[str]) -> None:
    names = ["Bash", "Read", "Agent", "mcp__db__query", "mcp__db__drop", "mcp__dbx__query"]
    assert visible_tools(names, Rules.parse(deny, ["Read"], ["Bash"])) == left
