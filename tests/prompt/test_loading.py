"""A loaded skill is, to the character, what Claude Code gives to a model.

The tables hold what the client (2.1.332) did with each input;
``tests/integration/test_claude_code_loading.py`` asks the real one again.
"""

from __future__ import annotations

import time

import pytest
from conftest import Write
from hypothesis import given, settings
from hypothesis import strategies as st

from skilleval.prompt.arguments import split_arguments
from skilleval.prompt.loading import (
    Loaded,
    already_loaded,
    find_skill,
    launching,
    load_skill,
    loaded_again,
    refusal,
    shown_output,
)
from skilleval.skill import Skill, discover

FRONT = "---\ndescription: d\n---\n"


def skill(write: Write, text: str | bytes, folder: str = "pdf") -> Skill:
    write({f"{folder}/SKILL.md": text})
    return Skill(discover([folder]).skills[0])


def inside(loaded: Loaded, owner: Skill) -> str:
    """The text below its header, with the folder's path cut short."""
    header = f"Base directory for this skill: {owner.folder}\n\n"
    text = loaded.text()
    assert text.startswith(header)
    return text.removeprefix(header).replace(owner.folder, "<DIR>")


BODIES: list[tuple[str | bytes, str]] = [
    (FRONT + "\n\n\nBody\n\n\n", "Body\n\n\n"),
    (FRONT + "\n  indented\n\ttab \n", "indented\n\ttab \n"),
    (FRONT + "\u00a0\x0c\ufeff\u2003Body", "Body"),
    (FRONT + "\x85\x1cBody", "\x85\x1cBody"),
    (FRONT + "<!-- c -->\nBody", "<!-- c -->\nBody"),
    (FRONT, ""),
    (FRONT + "   ", ""),
    ("", ""),
    (" \n", " \n"),
    ("---\r\ndescription: d\r\n---\r\n\r\nBody\r\nx\r\n", "Body\r\nx\r\n"),
    ("\ufeff---\ndescription: d\n---\nBody", "Body"),
    ("\ufeffBody", "\ufeffBody"),
    ("\ufeff\ufeff" + FRONT, "\ufeff\ufeff" + FRONT),
    ("\n\nBody", "\n\nBody"),
    ("\n" + FRONT + "Body", "\n" + FRONT + "Body"),
    (" " + FRONT + "Body", " " + FRONT + "Body"),
    ("---\ndescription: d\nBody", "---\ndescription: d\nBody"),
    ("---\rdescription: d\r---\rBody", "---\rdescription: d\r---\rBody"),
    ("---\n---\nBody", "Body"),
    ("---\n   \n\ndescription: d\n---   \nBody", "Body"),
    ("---\ndescription: d\n--- Body", "Body"),
    ("---\ndescription: d\n---Body", "Body"),
    ("---\ndescription: d\n----\nBody", "-\nBody"),
    ("---\ndescription: one --- two\n---\nBody", "two\n---\nBody"),
    ("---\ndescription: |\n  a\n  ---\n  b\n---\nBody", "b\n---\nBody"),
    ("---\n- a\n---\nBody", "Body"),
    ("---\n: : :\n  - [\n---\nBody", "Body"),
    ("------\nBody", "------\nBody"),
    (
        FRONT.encode() + b"B\xff\xfe\xe9 \xed\xa0\x80 \x00",
        "B\ufffd\ufffd\ufffd \ufffd\ufffd\ufffd \0",
    ),
]


@pytest.mark.parametrize(("text", "expected"), BODIES, ids=ascii)
def test_the_body_follows_the_folder(write: Write, text: str | bytes, expected: str) -> None:
    owner = skill(write, text)
    assert inside(load_skill(owner), owner) == expected


PLACEHOLDERS = [
    ("Body\n", None, "Body\n"),
    ("Body\n", "", "Body\n"),
    ("Body\n", " ", "Body\n\n\nARGUMENTS:  "),
    ("Body", "a b", "Body\n\nARGUMENTS: a b"),
    ("Body\n", "  a\nb\n", "Body\n\n\nARGUMENTS:   a\nb\n"),
    ("", "a", "\n\nARGUMENTS: a"),
    ("Body $x", "$0 \\$0 $ARGUMENTS", "Body $x\n\nARGUMENTS: $0 \\$0 $ARGUMENTS"),
    ("[$ARGUMENTS]", None, "[]"),
    ("[$ARGUMENTS]", " a  'b' ", "[ a  'b' ]"),
    ("$ARGUMENTS", "$ARGUMENTS", "$ARGUMENTS"),
    ("$ARGUMENTSX $ARGUMENTS_ $ARGUMENTS[x] $ARGUMENTS[0", "a", "aX a_ a[x] a[0"),
    ("$ARGUMENTS[0] $ARGUMENTS[01] $ARGUMENTS[-1]", "a b", "a b a b[-1]"),
    ("$ARGUMENTS[0][1] $ARGUMENTS[9]", "a", "a[1] $ARGUMENTS[9]"),
    ("$0|$1|$2|$10", "a 'b c'", "a|b c|$2|$10"),
    ("$10", "0 1 2 3 4 5 6 7 8 9 ten", "ten"),
    ("$00 $01 $0. $0-1 $1.50 x$0 $0é", "a b", "a b a. a-1 b.50 xa aé"),
    ("$0x $0_ ${0} ${ARGUMENTS} $ 0", "a", "$0x $0_ ${0} ${ARGUMENTS} $ 0\n\nARGUMENTS: a"),
    ("$5|$99999999999999999999", "a", "$5|$99999999999999999999\n\nARGUMENTS: a"),
    ("$" + "9" * 5_000, "a", "$" + "9" * 5_000 + "\n\nARGUMENTS: a"),
    ("$0 $ARGUMENTS[0]", None, "$0 $ARGUMENTS[0]"),
    ("`$0` ```\n$ARGUMENTS\n```", "a", "`a` ```\na\n```"),
    ("$$0 $$ARGUMENTS $0$0", "a", "$a $a aa"),
    ("\\$0 \\$ARGUMENTS[0] \\$5.00 \\$0x", None, "$0 $ARGUMENTS[0] $5.00 $0x"),
    ("\\$0|", "a", "$0|\n\nARGUMENTS: a"),
    ("\\$0 $1", "a b", "$0 b"),
    (
        "\\\\$0 \\\\\\$0 \\\\$5 \\x \\$x \\${0} \\$$0",
        "a",
        "\\\\a \\\\\\a \\\\$5 \\x \\$x \\${0} \\$a",
    ),
    ("$0|$1", "'$1' '$ARGUMENTS $0'", "$1|$ARGUMENTS $0"),
    ("$0|$ARGUMENTS", "!y", "\\!y|\\!y"),
    ("x$0", "!y", "x\\!y"),
    (
        "Body",
        "!`x` a!`b` ```! z x! (!b `!`",
        "Body\n\nARGUMENTS: \\! `x` a! `b` ``` \\! z x! (!b ` \\! `",
    ),
    ("$ARGUMENTS", "a\r!b\u00a0!c", "a\r\\!b\u00a0\\!c"),
]


@pytest.mark.parametrize(("body", "arguments", "expected"), PLACEHOLDERS, ids=ascii)
def test_arguments_stand_for_their_placeholders(
    write: Write, body: str, arguments: str | None, expected: str
) -> None:
    owner = skill(write, FRONT + body)
    assert inside(load_skill(owner, arguments), owner) == expected


NAMES = [
    ("a b", "$a|$b|$1|$c|$a-b|\\$a|\\\\$a|$$a", "x y", "x|y|y|$c|x-b|$a|\\\\x|$x"),
    ("[a, b]", "$a.|$a[0]|$ab|$aé|${a}|\\$ab|$A", "x y", "x.|$a[0]|$ab|xé|${a}|\\$ab|$A"),
    ("[a, b]", "$a|$b", "x", "x|"),
    ("[a, b]", "$b", "x", ""),
    ("[a, b]", "$a|$b|$0", None, "||$0"),
    ("a b", "none", "x", "none\n\nARGUMENTS: x"),
    ("a, b", "$a|$b|$a,", "x y", "$a|y|x"),
    ("[a, a-b]", "$a-b|$a-", "x y", "y|x-"),
    ("a a", "$a", "x y", "x"),
    ("[1, '10', b, null, '', ' ', [c], {d: e}, true, no]", "$b|$no|$1", "x y", "x|y|y"),
    ("['a b', 'c(', a?, é]", "$a b|$c(|$a?|$é", "x y z w", "x|y|z|w"),
    ("ARGUMENTS other", "$ARGUMENTS|$ARGUMENTS[1]", "x y", "x|y"),
    ("AR ARGUMENTS", "$ARGUMENTS|$AR|$ARG", "x y", "y|x|$ARG"),
    ("a b", "$a|$b", "'$b' '$0'", "$b|$0"),
    ("{a: b}", "$a|$0", "x", "$a|x"),
    ("true", "$true|$0", "x", "$true|x"),
    ("", "$a|$0", "x", "$a|x"),
]


@pytest.mark.parametrize(("names", "body", "arguments", "expected"), NAMES, ids=ascii)
def test_arguments_have_names(
    write: Write, names: str, body: str, arguments: str | None, expected: str
) -> None:
    owner = skill(write, f"---\ndescription: d\narguments: {names}\n---\n{body}")
    assert inside(load_skill(owner, arguments), owner) == expected


WORDS: dict[str, list[str]] = {
    "": [], "  \n ": [], "  a   b  ": ["a", "b"], "a\tb\rc": ["a", "b", "c"],
    '"a b" c': ["a b", "c"], "'a b' c": ["a b", "c"], "a\"b c\"'d e' f": ["ab cd e", "f"],
    "--flag='a b' --x=1": ["--flag=a b", "--x=1"], "'' \"\" x": ["", "", "x"],
    "a\\ b \\$x \\'y": ["a b", "$x", "'y"], '"a\\"b\\n" c': ['a\\"b\\n', "c"],
    "it's a test": ["it's a test"], "x 'a' b'c d\n": ["x", "a", "b'c d\n"],
    "don't don't do": ["dont dont", "do"], 'x "a b': ["x", '"a b'], "a\\": ["a"], "\\": ["\\"],
    "a\nb": ["a"], "\n\na b\n": ["a", "b"], "a\\\nb": ["a", "b"], '"a\nb" c': ["a\nb", "c"],
    "a | b": ["a"], "a; b": ["a"], "a & b": ["a"], "&& a b || c": ["a", "b"], "|": ["|"],
    "a > b c": ["a"], "a -> b": ["a", "-"], "a 2>&1 b": ["a"], "> a b": ["b"],
    "<a> b": ["<a>", "b"], "2>&1 a": ["a"], ">> a": [">>", "a"], "a 3 > b": ["a", "3"],
    "fix #12 now": ["fix"], "# a": ["#", "a"], "# a\nb c": ["b", "c"], "a#b c": ["a#b", "c"],
    "Fix the bug (urgent), please!": ["Fix", "the", "bug", ",", "please!"],
    "call f(a, b) now": ["call", "now"], "f(a) b": ["f", "b"], "a (b (c) d) e": ["a", "e"],
    "(a b) c": ["a", "b"], "a (b": ["a"], "a b) c": ["a", "b"], "a (b 'c) d": ["a"],
    "https://x.y/z?a=b&c=d e": ["https://x.y/z?a=b"], "https://x.y/#z e": ["https://x.y/#z", "e"],
    "$x $y": ["$x"], "a $x ${y} b": ["a", "b"], "a $x/b": ["a", "$x/b"],
    'a "$x" \'$y\'': ["a", "$x", "$y"],
    "a $(b) c": ["a"], "a `b` c": ["a"], 'a "`b`" c': ["a", "`b`", "c"], "$(a) b": ["$(a)", "b"],
    "a ${b": ["a"], "a $((1)) $$ $ b": ["a", "b"], "a {1..3} {b,c}": ["a", "{b,c}"],
    "a=b c": ["c"], "A=1 B=2": ["A=1", "B=2"], "a=b; c d": ["c", "d"], "a==b c": ["a==b", "c"],
    "x a=b = c": ["x", "a=b", "c"], "export a": ["export"],
    "if the test fails, retry": ["the", "test", "fails,", "retry"], "done": ["done"],
    "if: a": ["if:", "a"], "for a b": ["b"], "for a": ["for", "a"], "{ a b; }": ["a", "b"],
    "! a": ["a"], "!a b": ["!a", "b"], '{"a": 1, "b": "c d"}': ['{"a":', "1,", "b:", "c d}"],
    "[a] b c": ["b", "c"], "[a, b]": ["b]"], "[[ a ]] b": ["]]", "b"], "a [b] ]": ["a", "[b]", "]"],
    "C:\\a b": ["C:a", "b"], "\u00a0a b\u2003c": ["\u00a0a", "b\u2003c"],
    "“a b” 技": ["“a", "b”", "技"],
    " ".join("a" * 5_000) + "\nb": ["a"] * 5_000 + ["b"],
}  # fmt: skip


@pytest.mark.parametrize("arguments", WORDS, ids=lambda text: ascii(text[:40]))
def test_arguments_are_split_as_a_shell_would(arguments: str) -> None:
    assert split_arguments(arguments) == WORDS[arguments]


def test_variables_are_put_in_behind_the_arguments(write: Write) -> None:
    body = "${CLAUDE_SKILL_DIR}|\\${CLAUDE_SKILL_DIR}|$CLAUDE_SKILL_DIR|${CLAUDE_SESSION_ID}|"
    body += "${CLAUDE_PLUGIN_ROOT}|${CLAUDE_EFFORT}|${CLAUDE_OTHER}|${HOME}|${ CLAUDE_SKILL_DIR }"
    owner = skill(write, FRONT + body)
    loaded = load_skill(
        owner, "${CLAUDE_SKILL_DIR}", session_id="id", variables={"CLAUDE_EFFORT": "high"}
    )
    assert inside(loaded, owner) == (
        "<DIR>|\\<DIR>|$CLAUDE_SKILL_DIR|id|${CLAUDE_PLUGIN_ROOT}|high|${CLAUDE_OTHER}|${HOME}|"
        "${ CLAUDE_SKILL_DIR }\n\nARGUMENTS: <DIR>"
    )


def test_a_plugin_has_a_root(write: Write) -> None:
    write(
        {
            "kit/.claude-plugin/plugin.json": '{"name": "office"}',
            "kit/skills/pdf/SKILL.md": FRONT + "${CLAUDE_PLUGIN_ROOT}",
        }
    )
    owner = Skill(discover(["kit"]).skills[0])
    assert inside(load_skill(owner), owner) == owner.found.catalog.folder
    assert inside(load_skill(owner, plugin_root="/other"), owner) == "/other"


def test_the_folder_itself_may_hold_placeholders(write: Write) -> None:
    owner = skill(write, FRONT + "Body ${CLAUDE_SKILL_DIR}", "x $ARGUMENTS")
    root = owner.folder.removesuffix("x $ARGUMENTS")
    assert load_skill(owner, "A").text() == (
        f"Base directory for this skill: {root}x A\n\nBody {root}x $ARGUMENTS"
    )


COMMANDS = [
    ("!`a b`", "<a b>"),
    ("x !`a` y !`b`!`c`", "x <a> y <b>!`c`"),
    ("- !`a`\n> !`b`\n    !`c`\n\u00a0!`d`", "- <a>\n> <b>\n    <c>\n\u00a0<d>"),
    ('x!`a` (!`b`) "!`c`" **!`d` \\!`e`', 'x!`a` (!`b`) "!`c`" **!`d` \\!`e`'),
    ("x ! `a` !`` !` ` !``a`` !`b", "x ! `a` !`` !` ` !``a`` !`b"),
    ("x !` a\nb ` y", "x <a\nb> y"),
    ("x `!`a``", "x `!`a``"),
    ("x ` !`a` `", "x ` !`a` `"),
    ("x `` !`a` `` ``` !`b` ```", "x `` <a> `` ``` <b> ```"),
    ("it`s !`a`\n!`b`", "it`s !`a`\n<b>"),
    ("x `a` b `c` !`d`", "x `a` b `c` <d>"),
    ("x `a` b `c !`d`", "x `a` b `c !`d`"),
    ("x `a``b !`c`", "x `a``b <c>"),
    ("``x`` `y` !`a`\n``x`` `y !`b`\n`` !`c`", "``x`` `y` !`a`\n``x`` `y <b>\n`` <c>"),
    ("!`a\n` !`b`\n` ` !`c`", "<a> !`b`\n` ` <c>"),
    ("`x\r!`a` \u2028 !`b`", "`x\r!`a` \u2028 !`b`"),
    ("x` y` !`a` z` !`b`", "x` y` <a> z` !`b`"),
    ("```\n!`a`\n```\n<!-- !`b` -->", "```\n<a>\n```\n<!-- <b> -->"),
    ("```!\na\nb\n```\nx", "<a\nb>\nx"),
    ("x```! a ```y ```!b```", "x<a>y <b>"),
    ("  ```!\r\n  a\r\n  ```\r\nx", "<a>\r\nx"),
    ("````!\na\n````", "`<a>`"),
    ("```a!\nb\n``` ``` !\nc\n``` ~~~!\nd\n~~~", "```a!\nb\n``` ``` !\nc\n``` ~~~!\nd\n~~~"),
    ("```!\n```\n```!\na", "```!\n```\n```!\na"),
    ("```!\n```!\na\n```", "```!\n```!\na\n```"),
    ("```!\necho 'a!`b`'\n```", "<echo 'a!`b`'>"),
    ("x!`a` b !`a`", "x<a> b !`a`"),
    ("(!`a`) !`a` !`b`", "(<a>) !`a` <b>"),
    ("!`a` !`a` x!`a`", "<a> <a> x!`a`"),
    ("!`a\n```!\nb\n```", "<a>``!\nb\n```"),
]


@pytest.mark.parametrize(("body", "expected"), COMMANDS, ids=ascii)
def test_commands_give_way_to_what_they_printed(write: Write, body: str, expected: str) -> None:
    owner = skill(write, "---\ndescription: d\n---" + ("" if body[0].isspace() else "\n") + body)
    loaded = load_skill(owner)
    outputs = [f"<{command.command}>" for command in loaded.commands]
    assert loaded.text(outputs).split("\n\n", 1)[1] == expected.lstrip(" ")
    assert loaded.text() == loaded.template


def test_a_command_is_found_with_its_arguments_and_where_it_stands(write: Write) -> None:
    owner = skill(write, FRONT + "a !`echo $0 ${CLAUDE_SKILL_DIR}` b !`echo \\$0` c")
    loaded = load_skill(owner, "'x y'")
    first, second = loaded.commands
    assert first.command == f"echo x y {owner.folder}"
    assert loaded.template[first.start : first.end] == f"!`{first.command}`"
    assert second.command == "echo $0"
    assert loaded.text(["1"]).endswith("\n\na 1 b !`echo $0` c")
    assert loaded.text(["!`b`", "2"]).endswith("\n\na !`b` b 2 c")


def test_an_argument_is_no_command_but_may_become_a_part_of_one(write: Write) -> None:
    owner = skill(write, FRONT + "$ARGUMENTS")
    assert load_skill(owner, "!`a` x !`b` ```!\nc\n```").commands == ()
    owner = skill(write, FRONT + "a !$ARGUMENTS", "other")
    assert [command.command for command in load_skill(owner, "`b`").commands] == ["b"]


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("hi\n", "hi"),
        ("\n \n  a b \n\n \r\n", "  a b"),
        ("\ta\t\n", "\ta"),
        ("a\r\nb\r\n", "a\r\nb"),
        ("", "(Bash completed with no output)"),
        (" \n", "(Bash completed with no output)"),
    ],
)
def test_output_is_shown_without_blank_lines_around_it(printed: str, shown: str) -> None:
    assert shown_output(printed) == shown


def catalog(write: Write) -> list[Skill]:
    def text(name: str, more: str = "") -> str:
        return f"---\nname: {name}\ndescription: d\n{more}---\nBody"

    files = {
        "own/folder/SKILL.md": text("name"),
        "own/swap-a/SKILL.md": text("swap-b"),
        "own/swap-b/SKILL.md": text("swap-a"),
        "own/same-a/SKILL.md": text("same"),
        "own/same-b/SKILL.md": text("same"),
        "own/spaced/SKILL.md": text("two words"),
        "own/hidden/SKILL.md": text("hidden", "disable-model-invocation: true\n"),
        "own/waiting/SKILL.md": text("waiting", "paths: src/**\n"),
        "own/number/SKILL.md": text("1.0"),
        "own/twin/SKILL.md": text("twin"),
        "p/.claude-plugin/plugin.json": '{"name": "office"}',
        "p/skills/twin/SKILL.md": text("twin"),
        "p/skills/solo/SKILL.md": text("solo"),
        "p/skills/inner/SKILL.md": text("outer"),
        "p/skills/nameless/SKILL.md": FRONT,
        "p/skills/prefixed/SKILL.md": text("office:given"),
        "p/skills/foreign/SKILL.md": text("x:y"),
        "p/skills/shared/SKILL.md": text("shared"),
        "p/skills/unseen/SKILL.md": text("unseen", "disable-model-invocation: true\n"),
        "q/.claude-plugin/plugin.json": '{"name": "kit"}',
        "q/skills/any/SKILL.md": text("shared"),
    }
    write(files)
    return [Skill(found) for found in discover(["own", "p", "q"]).skills]


@pytest.mark.parametrize(
    ("called", "folder"),
    [
        ("folder", "own/folder"), ("name", "own/folder"), ("/folder", "own/folder"),
        (" name\n", "own/folder"), ("swap-a", "own/swap-a"), ("swap-b", "own/swap-b"),
        ("same", "own/same-a"), ("same-b", "own/same-b"), ("two words", "own/spaced"),
        ("1", "own/number"), ("twin", "own/twin"), ("office:twin", "p/skills/twin"),
        ("solo", "p/skills/solo"), ("office:inner", "p/skills/inner"),
        ("office:outer", "p/skills/inner"), ("outer", "p/skills/inner"),
        ("office:nameless", "p/skills/nameless"), ("office:given", "p/skills/prefixed"),
        ("office:prefixed", "p/skills/prefixed"), ("office:x:y", "p/skills/foreign"),
        ("kit:shared", "q/skills/any"), ("/office:solo", "p/skills/solo"),
    ],
)  # fmt: skip
def test_a_skill_has_several_names(write: Write, called: str, folder: str) -> None:
    found = find_skill(catalog(write), called)
    assert found is not None and found.folder.endswith("/" + folder)


@pytest.mark.parametrize(
    ("called", "said"),
    [
        ("Folder", "Unknown skill: Folder"),
        ("folder (name)", "Unknown skill: folder (name)"),
        ("//folder", "Unknown skill: /folder"),
        ("waiting", "Unknown skill: waiting"),
        ("1.0", "Unknown skill: 1.0"),
        ("", "Invalid skill format: "),
        (" ", "Invalid skill format: "),
        ("/", "Unknown skill: "),
        ("x:y", "Unknown skill: x:y"),
        ("given", "Unknown skill: given"),
        (
            "inner",
            "Unknown skill: inner. Did you mean office:inner? Invoke it by that full name.",
        ),
        (
            "shared",
            "Unknown skill: shared. Several skills match that name: office:shared, kit:any — "
            "invoke one by its full name.",
        ),
    ],
)
def test_an_unknown_name_is_refused(write: Write, called: str, said: str) -> None:
    skills = catalog(write)
    assert find_skill(skills, called) is None
    assert refusal(skills, called) == f"<tool_use_error>{said}</tool_use_error>"


@pytest.mark.parametrize("called", ["hidden", "office:unseen", "unseen"])
def test_a_skill_that_only_people_may_call_is_refused(write: Write, called: str) -> None:
    skills = catalog(write)
    assert find_skill(skills, called) is None
    told = f"Skill {called} cannot be used with Skill tool due to disable-model-invocation. "
    assert told in refusal(skills, called) and f" /{called} " in refusal(skills, called)


def test_what_stands_around_a_text_names_the_skill_as_it_was_called() -> None:
    assert launching(" /office:pdf ") == "Launching skill: office:pdf"
    assert already_loaded("/pdf") == "Skill /pdf is already loaded above; instructions unchanged."
    assert already_loaded("pdf", "!`x` ").endswith(" unchanged. Arguments: !`x` ")
    assert loaded_again("pdf") == (
        "(Re-invocation of /pdf — the skill instructions were previously loaded; the arguments "
        "or dynamic output below are new.)\n"
    )


HOSTILE = {
    "dashes": ("---\n" + "-- " * 200_000, "", None),
    "spaces": ("---" + "\n" * 400_000, "", None),
    "open commands": (FRONT + " !`" * 200_000, "", None),
    "one line of commands": (FRONT + " !`a`" * 100_000, "", None),
    "hidden commands": (FRONT + "x!`a`" * 50_000 + " !`a`" * 50_000, "", None),
    "open blocks": (FRONT + "```!\n" * 100_000, "", None),
    "wide block": (FRONT + "```!" + " " * 400_000, "", None),
    "placeholders": (FRONT + "$0$1$ARGUMENTS[3]\\$4" * 20_000, "", "a 'b c' d"),
    "digits": (FRONT + "$" + "1" * 400_000, "", "a"),
    "names": (FRONT + "$" * 200_000, " ".join("$" * n + "x" for n in range(1, 400)), "a"),
    "variables": (FRONT + "${CLAUDE_A" * 50_000, "", "a"),
    "quotes": (FRONT + "$0", "", "\"'" * 200_000),
    "brackets": (FRONT + "$0", "", "a " + "(" * 9_900),
    "expansions": (FRONT + "$0", "", "a " + "${" * 4_900),
    "exclamations": (FRONT + "$0 $ARGUMENTS", "", "!`" * 200_000),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_text_takes_no_more_than_linear_time(write: Write, case: str) -> None:
    text, names, arguments = HOSTILE[case]
    if names:
        text = text.replace("\n---\n", f"\narguments: {names}\n---\n", 1)
    owner = skill(write, text)
    start = time.process_time()
    loaded = load_skill(owner, arguments)
    loaded.text(["x"] * len(loaded.commands))
    assert time.process_time() - start < 2


SHELL_LIKE = st.text("a b$01'\"\\`!()[]{}<>|&;#=\n/:ARGUMENTS", max_size=60)


@settings(max_examples=200, deadline=None)
@given(body=SHELL_LIKE, arguments=SHELL_LIKE)
def test_any_text_can_be_loaded(
    tmp_path_factory: pytest.TempPathFactory, body: str, arguments: str
) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / "SKILL.md").write_text(f"---\narguments: a b\n---\n{body}", encoding="utf-8")
    loaded = load_skill(Skill(discover([str(folder)]).skills[0]), arguments)
    ends = [0] + [command.end for command in loaded.commands]
    assert all(
        end <= command.start < command.end
        for end, command in zip(ends, loaded.commands, strict=False)
    )
    assert loaded.text() == loaded.template
