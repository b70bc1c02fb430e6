"""What holds of rules in whatever order they stand, and however a command is wrapped."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest
from harness.permissions.kit import World
from hypothesis import given, settings
from hypothesis import strategies as st

from skilleval.harness.permissions import (
    Answer,
    Call,
    Capability,
    Decision,
    HookVerdict,
    Mode,
    Rules,
    decide,
)

RULES = """
Bash | Bash(rm:*) | Bash(rm -rf:*) | Bash(git:*) | Bash(git push:*) | Bash(git status) | Bash(ls:*)
Bash(sh:*) | Bash(* x) | Bash(touch:*) | Edit | Edit(src/**) | Edit(*.py) | Write(src/*) | Read
Read(src/**) | Read(.env) | Read(//etc/**) | mcp__db | mcp__db__drop | Skill | Skill(pdf) | memory
Agent(Explore) | WebFetch(domain:evil.com) | WebFetch
"""
CALLS = [
    *(Call("Bash", {"command": text}) for text in (
        "rm x", "rm -rf src", "git push", "git status", "ls | wc -l", "ls; rm x", "touch src/a.py",
        "sh -c 'rm x'", "cat .env > x", "$X y", "if true; then", "curl https://evil.com",
        "git status && git -C . push", "echo $(ls) > src/app.py", "cd src && touch x", ":",
    )),
    *(Call("Edit", {"file_path": path}) for path in ("src/app.py", ".git/config", "/etc/passwd")),
    *(Call("Read", {"file_path": path}) for path in ("src/app.py", ".env", "out/data")),
    Call("Write", {"file_path": "src/new"}),
    Call("mcp__db__drop", {}),
    Call("mcp__db__query", {}),
    Call("Skill", {"skill": "pdf"}),
    Call("Agent", {"subagent_type": "Explore"}),
    Call("WebFetch", {"url": "https://evil.com/x"}),
    Call("memory", {"command": "create"}),
    Call("Bash", {"command": 1}),
]  # fmt: skip

rule = st.sampled_from([each.strip() for each in RULES.replace("\n", "|").split("|") if each != ""])
rules = st.lists(rule, max_size=4)
calls = st.sampled_from(CALLS)
modes = st.sampled_from(Mode)
hooks = st.sampled_from([None, *map(HookVerdict, ("allow", "ask", "defer", "deny"))])
few = settings(max_examples=60, deadline=None)


class Lists(NamedTuple):
    deny: list[str]
    ask: list[str]
    allow: list[str]


lists = st.builds(Lists, rules, rules, rules)


def decision(
    world: World,
    call: Call,
    given: Lists,
    mode: Mode,
    hook: HookVerdict | None = None,
    person: bool = True,
) -> Decision:
    async def answer(call: Call, needs: Sequence[Capability], reason: str) -> Answer:
        return Answer(person)

    policy = world.policy(mode, rules=Rules.parse(*given))
    return asyncio.run(decide(call, policy, hooks=hook, callback=answer))


# The order of rules


@few
@given(lists, calls, modes, hooks, st.booleans(), st.randoms(use_true_random=False))
def test_the_order_of_rules_changes_nothing(shared_place, lists, call, mode, hook, person, random):
    before = decision(shared_place, call, lists, mode, hook, person)
    for each in lists:
        random.shuffle(each)
    after = decision(shared_place, call, lists, mode, hook, person)
    assert (before.allowed, before.step, before.covered) == (
        after.allowed, after.step, after.covered,
    )  # fmt: skip
    denied = any(
        decision(shared_place, call, Lists([each], [], []), mode).step == "deny rule"
        for each in lists.deny
    )
    assert not (denied and before.allowed)
    if before.step not in ("schema", "hook"):
        assert denied == (before.step == "deny rule")


@few
@given(lists, rule, st.integers(0, 4), calls, modes, hooks)
def test_what_a_rule_denies_by_itself_it_denies_among_all_others(
    shared_place, lists, rule, at, call, mode, hook
):
    alone = decision(shared_place, call, Lists([rule], [], []), mode)
    lists.deny.insert(at, rule)
    lists.allow.append(rule)
    among = decision(shared_place, call, lists, mode, hook)
    if alone.step in ("deny rule", "schema"):
        assert not among.allowed
        assert among.step in ("deny rule", "schema", "hook")


@few
@given(lists, rule, calls, modes, hooks, st.booleans())
def test_one_more_deny_rule_allows_nothing_more(
    shared_place, lists, rule, call, mode, hook, person
):
    before = decision(shared_place, call, lists, mode, hook, person)
    stricter = lists._replace(deny=[*lists.deny, rule])
    after = decision(shared_place, call, stricter, mode, hook, person)
    assert before.allowed or not after.allowed
    assert after.step in (before.step, "deny rule")


@few
@given(lists, rule, calls, modes, hooks)
def test_one_more_allow_rule_leaves_denied_what_is_denied(
    shared_place, lists, rule, call, mode, hook
):
    before = decision(shared_place, call, lists, mode, hook)
    after = decision(
        shared_place, call, lists._replace(allow=[rule, *lists.allow]), mode, hook
    )  # fmt: skip
    if before.step in ("deny rule", "hook", "schema"):
        assert after[:4] == before[:4]
    else:
        assert before.allowed <= after.allowed


@few
@given(lists, calls, modes)
def test_a_hook_that_allows_skips_no_rule(shared_place, lists, call, mode):
    without = decision(shared_place, call, lists, mode, None, False)
    with_it = decision(shared_place, call, lists, mode, HookVerdict("allow"), False)
    if lists.ask and without.step == "callback" and "ask rule" in without.reason:
        assert with_it[:4] == without[:4]
    if without.step in ("deny rule", "schema"):
        assert with_it[:4] == without[:4]


# Commands in commands


class Text(NamedTuple):
    """A command; ``plain`` if it is one program with its arguments, ``simple`` if one command."""

    text: str
    plain: bool = False
    simple: bool = False


Wrapping = Callable[[Text], Text]


def started(form: str, plain: bool = True) -> Wrapping:
    """Something that starts a program."""

    def wrap(inner: Text) -> Text:
        text = inner.text if inner.plain else f"sh -c {shlex.quote(inner.text)}"
        return Text(form.replace("@", text), plain, plain)

    return wrap


def builtin(form: str) -> Wrapping:
    """Something of the shell that starts a command."""

    def wrap(inner: Text) -> Text:
        text = inner.text if inner.simple else f"sh -c {shlex.quote(inner.text)}"
        return Text(form.replace("@", text), simple=True)

    return wrap


def quoted(form: str, plain: bool = True) -> Wrapping:
    """Something that takes a whole program as a text."""
    return lambda inner: Text(form.replace("@", shlex.quote(inner.text)), plain, True)


def around(form: str) -> Wrapping:
    """Syntax that stands around any commands."""
    return lambda inner: Text(form.replace("@", inner.text))


def backticks(inner: Text) -> Text:
    text = inner.text.replace("\\", "\\\\").replace("`", "\\`").replace("$", "\\$")
    return Text(f"echo `{text}`")


WRAPPINGS: dict[str, Wrapping] = {
    "sh -c": quoted("sh -c @"),
    "bash -c": quoted("bash -c @"),
    "bash -lc": quoted("/bin/bash -l -c @"),
    "eval": quoted("eval @", plain=False),
    "env": started("env @"),
    "env with variables": started("env -i A=b @"),
    "nice": started("nice -n 5 @"),
    "nohup": started("nohup @"),
    "timeout": started("timeout 5 @"),
    "timeout with options": started("timeout -k 1 --signal=KILL 5s @"),
    "sudo": started("sudo @"),
    "sudo with options": started("sudo -u root -- @"),
    "xargs": started("xargs @"),
    "xargs in a pipe": started("echo x | xargs -n 1 @", plain=False),
    "find": started("find . -name x -exec @ \\;", plain=False),
    "find +": started("find . -exec @ {} +", plain=False),
    "command": builtin("command @"),
    "exec": builtin("exec @"),
    "variable": around("A=b @"),
    "subshell": around("( @\n)"),
    "braces": around("{ @\n}"),
    "substitution": around("echo $( @\n)"),
    "quoted substitution": around('echo "$( @\n)"'),
    "assigned": around("A=$( @\n)"),
    "backticks": backticks,
    "process": around("cat <( @\n)"),
    "pipe": around("ls | @"),
    "front of a pipe": around("@ | cat"),
    "list": around("ls; @"),
    "and": around("ls && @"),
    "or": around("false || @"),
    "background": around("@ & ls"),
    "not": around("! @"),
    "if": around("if @\nthen ls; fi"),
    "then": around("if true; then @\nfi"),
    "else": around("if true; then ls; else @\nfi"),
    "for": around("for i in 1 2; do @\ndone"),
    "while": around("while @\ndo break; done"),
    "function": around("f() { @\n}; f"),
    "trap": quoted("trap @ EXIT", plain=False),
    "su": quoted("su -c @"),
    "ssh": quoted("ssh host @"),
    "here string": quoted("sh <<< @", plain=False),
    "here document": around("sh <<'END'\n@\nEND\n"),
    "substitution in a document": around("cat <<END\n$( @\n)\nEND\n"),
    "case": around("case x in (x) @\n;; esac"),
}
NAMES = r"""
rm 'rm' "rm" r"m" r'm' r''m \rm r\m $'rm' $'\x72m' $'\162m' "r"'m' ${X:-rm}
/usr/bin/rm /bin/rm //usr/bin/rm /usr/./bin/rm /usr/lib/../bin/rm "/usr/bin/r"m
/proc/self/root/usr/bin/rm /proc/self/root/proc/self/root/bin/rm /usr/bin/[r]m /usr/bin/r?
""".split()

names = st.sampled_from(NAMES)
wrappings = st.lists(st.sampled_from(sorted(WRAPPINGS)), max_size=2)


def is_denied(world: World, command: str) -> None:
    given = Lists(["Bash(rm:*)"], [], ["Bash", "Bash(rm:*)"])
    found = decision(world, Call("Bash", {"command": command}), given, Mode.BYPASS)
    assert (found.allowed, found.step) == (False, "deny rule"), command


@few
@given(names, wrappings)
def test_a_denied_program_stays_denied_in_every_wrapping(shared_place, name, wrappings):
    text = Text(f"{name} x", True, True)
    for each in wrappings:
        text = WRAPPINGS[each](text)
    is_denied(shared_place, text.text)


@pytest.mark.parametrize(("at", "outer"), list(enumerate(WRAPPINGS)))
def test_each_wrapping_around_some(shared_place: World, at: int, outer: str) -> None:
    plain = Text("rm x", True, True)
    is_denied(shared_place, WRAPPINGS[outer](plain).text)
    for inner in list(WRAPPINGS.values())[at % 10 :: 10]:
        is_denied(shared_place, WRAPPINGS[outer](inner(plain)).text)


@pytest.mark.parametrize("name", NAMES)
def test_each_name_of_the_program(shared_place: World, name: str) -> None:
    is_denied(shared_place, f"{name} x")
    is_denied(shared_place, f"ls; {name}")


@pytest.mark.parametrize("outer", sorted(WRAPPINGS))
def test_another_program_is_not_denied_for_its_wrapping(shared_place: World, outer: str) -> None:
    text = WRAPPINGS[outer](Text("wc x", True, True)).text
    given = Lists(["Bash(rm:*)"], [], [])
    assert decision(shared_place, Call("Bash", {"command": text}), given, Mode.BYPASS).allowed


# Any input at all

letters = st.text(st.characters(), max_size=30)
pieces = st.sampled_from(
    "rm git ls x $X ${X ${X:-rm} $( ) ` \" ' \\ ; | || && & > >> < << <<< <( ( { } [[ ]] if then "
    "fi for in do done case esac ;; function EOF \n \t # ! = * ? [ ~ - -- -c -exec {} sh eval env "
    "/ .. . \ud800 \ufeff é 0 $(( )) $' \r".split(" ")
)
commands = st.lists(pieces, max_size=14).map(" ".join) | letters
guards = Lists(
    ["Bash(rm:*)", "Read(secrets/**)", "Edit(*.key)", "WebFetch(domain:evil.com)", "Skill(pdf)"],
    ["Bash(git push:*)", "Read(.env)"],
    ["Bash(ls:*)", "Bash(git * x)", "Edit(src/**)", "Read", "Agent(Explore)"],
)


@few
@given(commands, modes)
def test_no_command_raises(shared_place, command, mode):
    found = decision(shared_place, Call("Bash", {"command": command}), guards, mode)
    assert found.reason and isinstance(found.to_event(), dict)


@few
@given(
    st.sampled_from(
        "Read Write Edit Grep Glob LS NotebookEdit WebFetch Skill Agent memory".split()
    ),
    st.dictionaries(
        st.sampled_from("file_path path pattern notebook_path url skill subagent_type".split()),
        letters | st.lists(pieces, max_size=4).map("/".join) | st.none() | st.integers(),
        max_size=4,
    ),
    modes,
)
def test_no_input_of_a_tool_raises(shared_place, tool, data, mode):
    found = decision(shared_place, Call(tool, data), guards, mode)
    assert found.reason and isinstance(found.to_event(), dict)


@few
@given(letters, st.dictionaries(letters, letters, max_size=3))
def test_no_name_of_a_tool_raises(shared_place, tool, data):
    assert decision(shared_place, Call(tool, data), guards, Mode.DEFAULT).reason
