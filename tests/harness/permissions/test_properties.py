"""What holds for all rules and all commands."""

from __future__ import annotations

import string
from typing import Any

from harness.permissions.kit import PATH, Asked, bash, run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skilleval.harness.permissions import Call, Mode, PermissionPolicy, Rules

QUICK = settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
COMMANDS = [
    "rm x", "git push", "git diff | wc -l", "ls && rm -rf y", "npm test", "sh -c 'git push'", "$X",
    "cat secrets/key", "echo a > src/x", "timeout 5 npm test", "ls", "case (", "curl evil.com",
]  # fmt: skip
RULES = [
    "Bash", "Bash(rm:*)", "Bash(git push:*)", "Bash(git:*)", "Bash(git diff:*)", "Bash(ls)",
    "Bash(npm test)", "Bash(* x)", "Bash(wc:*)", "Bash(sh:*)", "Read(./secrets/**)", "Read",
    "Edit(src/**)", "WebFetch(domain:evil.com)", "mcp__db", "Bash(cat:*)", "Bash(timeout 5 *)",
]  # fmt: skip
CALLS = [
    *(Call("Bash", {"command": command}) for command in COMMANDS),
    Call("Read", {"file_path": "secrets/key"}),
    Call("Edit", {"file_path": "src/x"}),
    Call("mcp__db__query", {}),
    Call("Grep", {"pattern": "x"}),
]
rule_lists = st.lists(st.sampled_from(RULES), max_size=5)
modes = st.sampled_from(list(Mode))


def policy(mode: Mode, deny: Any = (), ask: Any = (), allow: Any = ()) -> PermissionPolicy:
    rules = Rules.parse(deny, ask, allow)
    return PermissionPolicy(mode, rules, "/tmp", path=PATH, home="/home/nobody")


@QUICK
@given(st.data(), modes, rule_lists, rule_lists, rule_lists, st.sampled_from(CALLS))
def test_no_order_of_rules_makes_an_allow_win(
    data: st.DataObject, mode: Mode, deny: Any, ask: Any, allow: Any, call: Call
) -> None:
    decision = run(call, policy(mode, deny, ask, allow), asked=Asked())
    mixed = [data.draw(st.permutations(rules)) for rules in (deny, ask, allow)]
    again = run(call, policy(mode, *mixed), asked=Asked())
    assert (again.allowed, again.step) == (decision.allowed, decision.step)
    alone = any(run(call, policy(mode, [rule])).step == "deny rule" for rule in deny)
    assert alone == (decision.step == "deny rule")
    assert not (alone and decision.allowed)


@QUICK
@given(modes, rule_lists, rule_lists, st.sampled_from(RULES), st.sampled_from(CALLS))
def test_one_more_deny_rule_never_allows_more(
    mode: Mode, deny: Any, allow: Any, more: str, call: Call
) -> None:
    before = run(call, policy(mode, deny, (), allow))
    after = run(call, policy(mode, [*deny, more], (), allow))
    assert before.allowed or not after.allowed


@QUICK
@given(modes, rule_lists, rule_lists, rule_lists, st.sampled_from(CALLS))
def test_an_allow_rule_changes_nothing_of_what_is_denied_or_asked(
    mode: Mode, deny: Any, ask: Any, allow: Any, call: Call
) -> None:
    with_allow = run(call, policy(mode, deny, ask, allow), asked=Asked())
    without = run(call, policy(mode, deny, ask), asked=Asked())
    if without.step == "deny rule" or (ask and without.step == "callback" and without.covered):
        assert not with_allow.allowed


def quoted(command: str) -> str:
    return "'" + command.replace("'", "'\\''") + "'"


WRAPS = [
    "sh -c {q}", "bash -lc {q}", "eval {q}", "env sh -c {q}", "timeout 5 sh -c {q}", "echo $({c})",
    "true && {{ {c}\n}}", "( {c} )", "if true; then {c}\nfi", "for i in 1; do {c}\ndone",
    "f() {{ {c}\n}}; f", "ls | xargs sh -c {q}", "sh <<< {q}", 'echo "$({c})"', "cat <({c})",
    "find . -exec sh -c {q} \\;", "nohup nice bash -c {q} &", "true;\n{c}", "{c} > f", "! {c}",
    "while {c}\ndo break; done", "sudo bash -c {q}", "trap {q} EXIT", "X=$({c})", "{c} || ls",
    "sh <<'END'\n{c}\nEND\n", "cat <<END\n$({c})\nEND\n", "su -c {q}", "ssh host {q}",
    "git -c alias.z='!sh' z; {c}", "awk 1; {c}", "command -p sh -c {q}", "xargs -I% sh -c {q}",
]  # fmt: skip
SPELT = [
    "rm x",
    "'rm' x",
    "r\\m x",
    "/bin/rm x",
    "$'rm' x",
    "xargs rm",
    "env A=1 rm x",
    "exec rm x",
]


@QUICK
@given(st.sampled_from(SPELT), st.lists(st.sampled_from(WRAPS), max_size=4))
def test_a_denied_command_stays_denied_in_whatever_it_is_wrapped(
    command: str, wraps: list[str]
) -> None:
    for wrap in wraps:
        command = wrap.format(c=command, q=quoted(command))
    decision = bash(command, policy(Mode.BYPASS, ["Bash(rm:*)"], (), ["Bash"]))
    assert decision.step == "deny rule", command


PIECES = st.sampled_from(
    [
        *"\"'`$(){}[]<>|&;#\\*?~=!-\n\t abcé\uffff𝔯",
        "rm",
        "$(",
        "<<E",
        "\nE\n",
        "$'",
        "${",
        "((",
        "[[ ",
        "if ",
        "for i in ",
        "case ",
        " in ",
        "esac",
        "done",
        "2>&1",
        "sh -c ",
        "eval ",
        "�",
        "\x00",
    ]
)


@QUICK
@given(st.lists(PIECES, max_size=40).map("".join), modes)
def test_no_command_raises(command: str, mode: Mode) -> None:
    rules = (["Bash(rm:*)", "Read(./secrets/**)"], ["Bash(git:*)"], ["Bash(ls:*)", "Edit(src/**)"])
    decision = bash(command, policy(mode, *rules))
    assert decision.to_event()["step"] == decision.step


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(string.printable, max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
NAMES = ["Bash", "Read", "Edit", "Grep", "Glob", "WebFetch", "Skill", "Agent", "memory", "x"]
KEYS = ["command", "file_path", "path", "pattern", "url", "skill", "subagent_type"]


@QUICK
@given(st.sampled_from(NAMES), st.dictionaries(st.sampled_from(KEYS), anything, max_size=4), modes)
def test_no_input_raises(tool: str, given: dict[str, Any], mode: Mode) -> None:
    rules = (["Read(a/**)", "WebFetch(domain:*.com)"], ["Skill(a*)"], ["Grep", "Agent(x)"])
    run(Call(tool, given), policy(mode, *rules), asked=Asked())
