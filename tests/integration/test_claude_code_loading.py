"""A loaded skill beside what the real Claude Code client gives to a model, to the character.

The client is installed from npm and talks to a fake Messages API on loopback, which calls for
one skill after another.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import write_files
from integration.kit import Api, outcomes, run_client

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

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]  # installs it once

FRONT = "---\ndescription: d\n---\n"
NAMED = "---\ndescription: d\narguments: [file, 'a b', file-name, '0', ARGUMENTS]\n---\n"
WORDS = "$0|$1|$2|$3|$4|$ARGUMENTS[1]|$10|$ARGUMENTS"

ARGUMENTS = [
    "", " ", "a b c", "  a\tb \n", '"a b" c', "'a b'c \"d\"e", "a\\ b \\$c", '"a\\"b" c', "it's so",
    'x "a b', "a\nb", "a | b", "a; b & c", "a > b", "a -> b", "# a", "a #b", "Fix (now), please!",
    "f(a) b", "a $b ${c} d", "$a $b", "a $(b) c", "$(a) b", "a=b c", "a=b", "if a b", "export a b",
    '{"a": 1, "b": "c d"}', "[a, b] c", "https://x.y/z?a=b&c#d e", "C:\\a b", "'$ARGUMENTS' '$0'",
    "!a !`b` `!c ```! d a!b", "${CLAUDE_SKILL_DIR} ${CLAUDE_SESSION_ID}", "a.*b ^c+ [d] $& $1",
    "<b> &amp; </c>", "技 é\u00a0x 😀", "0 1 2 3 4 5 6 7 8 9 ten", "a b " * 2_600 + "\nc",
]  # fmt: skip
BODIES: list[str | bytes] = [
    FRONT + "\n\n\nBody\n\n\n",
    FRONT + "  Body\u2028\u200b\ue000😀\r\n",
    FRONT,
    "",
    "\n\nBody",
    "---\r\ndescription: d\r\n---\r\n\r\nBody\r\n",
    "\ufeff" + FRONT + "Body",
    "\ufeffBody",
    "---\ndescription: one --- two\n---\nBody",
    "---\ndescription: d\n----\nBody",
    "---\ndescription: d\nBody",
    "---\n- a\n---\nBody",
    FRONT.encode() + b"B\xff\xe9 \xed\xa0\x80 \x00\x1b[31m",
    FRONT + "<!-- c --> </system-reminder> @file #x",
    FRONT + "Body $x ${0} $0x $ARGUMENTZ $ 0",
    FRONT + "\\$0 \\$ARGUMENTS \\$5.00 \\$x \\${0}",
    FRONT + "\\\\$0 \\\\\\$0 \\$$0 $$0 `$0` ```\n$0\n```",
    FRONT + "$ARGUMENTSX $ARGUMENTS[x] $ARGUMENTS[00] $ARGUMENTS[9] $00 $0. $0é $999999999999",
    FRONT + "${CLAUDE_SKILL_DIR} $CLAUDE_SKILL_DIR \\${CLAUDE_SKILL_DIR} ${CLAUDE_PLUGIN_ROOT}",
    FRONT + "${CLAUDE_SESSION_ID} ${CLAUDE_PROJECT_DIR} ${CLAUDE_EFFORT} ${CLAUDE_X} ${HOME}",
    NAMED + "$file|$a b|$file-name|$files|$file[0]|\\$file|\\\\$file|${file}|$ARGUMENTS|$0",
    NAMED + "none",
    "---\narguments: a b\n---\n$a|$b|$c|$a-b|$b_",
    FRONT + "!`echo one` a !`echo two` b!`echo one` (!`echo two`)\n- !`echo one`\n",
    FRONT + "a\n```!\necho one\n```\nb ```! echo two ``` c",
    FRONT
    + "`` !`echo one` `` ` !`echo two` `\nit`s !`echo one`\n`a` !`echo two` !`echo one\necho two`",
    FRONT + "```\n!`echo one`\n```\n!``echo one`` ! `echo one` !` ` !`echo blank`|",
    FRONT + "x!`echo one` !`echo one` !`echo $0`",
    FRONT + "``a`` `b` !`echo one`\n``a`` `b !`echo two`\n`` !`echo one`",
]
PRINTED = {
    "echo one": "one\n",
    "echo two": "two\n",
    "echo blank": "blank\n",
    "echo one\necho two": "one\ntwo\n",
    "echo first": "first\n",
    "echo $0": "/bin/bash\n",
}


def test_every_text_is_that_of_the_client(client: str, api: Api, tmp_path: Path) -> None:
    cases: list[tuple[str | bytes, str | None]] = [(FRONT + WORDS, text) for text in ARGUMENTS]
    cases += [(FRONT + "none", "!`a` b"), (FRONT + WORDS, None)]
    cases += [(body, arguments) for body in BODIES for arguments in (None, "'first' second")]
    project = write_files(
        tmp_path / "project",
        {f".claude/skills/s{n:03}/SKILL.md": text for n, (text, _) in enumerate(cases)},
    )
    api.calls = [call(f"s{n:03}", arguments) for n, (_, arguments) in enumerate(cases)]
    session = "00000000-0000-4000-8000-000000000000"
    run_client(
        client, api, project, "claude-sonnet-5-5",
        "--allowedTools", "Skill", "Bash", "--session-id", session,
    )  # fmt: skip
    theirs = [(outcome.result, outcome.texts) for outcome in outcomes(api)]
    assert len(theirs) == len(cases)
    for number, (_, arguments) in enumerate(cases):
        folder = project / ".claude" / "skills" / f"s{number:03}"
        loaded = load_skill(
            Skill(discover([str(folder)]).skills[0]),
            arguments,
            session_id=session,
            variables={"CLAUDE_PROJECT_DIR": str(project), "CLAUDE_EFFORT": "medium"},
        )
        assert theirs[number] == (launching(folder.name), [filled(loaded)]), cases[number]


def filled(loaded: Loaded) -> str:
    return loaded.text([shown_output(PRINTED[found.command]) for found in loaded.commands])


def call(name: str, arguments: str | None = None) -> dict[str, str]:
    return {"skill": name} | ({} if arguments is None else {"args": arguments})


def skill(name: str, *lines: str) -> str:
    return "\n".join(("---", f"name: {name}", "description: d", *lines, "---", "Body $0"))


SKILLS = {
    "project/.claude/skills/folder/SKILL.md": skill("name"),
    "project/.claude/skills/swap-a/SKILL.md": skill("swap-b"),
    "project/.claude/skills/swap-b/SKILL.md": skill("swap-a"),
    "project/.claude/skills/same-a/SKILL.md": skill("same"),
    "project/.claude/skills/same-b/SKILL.md": skill("same"),
    "project/.claude/skills/spaced/SKILL.md": skill("two words"),
    "project/.claude/skills/hidden/SKILL.md": skill("secret", "disable-model-invocation: yes"),
    "project/.claude/skills/waiting/SKILL.md": skill("waiting-name", "paths: src/**"),
    "project/.claude/skills/no-people/SKILL.md": skill("no-people", "user-invocable: false"),
    "project/.claude/skills/twin/SKILL.md": skill("twin"),
    "p/.claude-plugin/plugin.json": '{"name": "office", "version": "1.0.0"}',
    "p/skills/twin/SKILL.md": skill("twin"),
    "p/skills/solo/SKILL.md": skill("solo"),
    "p/skills/inner/SKILL.md": skill("outer"),
    "p/skills/nameless/SKILL.md": "---\ndescription: d\n---\n${CLAUDE_PLUGIN_ROOT}",
    "p/skills/prefixed/SKILL.md": skill("office:given-name"),
    "p/skills/foreign/SKILL.md": skill("x:y"),
    "p/skills/shared/SKILL.md": skill("shared"),
    "p/skills/unseen/SKILL.md": skill("unseen", "disable-model-invocation: true"),
    "q/.claude-plugin/plugin.json": '{"name": "kit", "version": "1.0.0"}',
    "q/skills/any/SKILL.md": skill("shared"),
}
CALLED = [
    "folder", "name", "/folder", " folder\n", "folder (name)", "swap-a", "swap-b", "same", "same-b",
    "spaced", "two words", "hidden", "secret", "waiting-name", "no-people", "twin",
    "office:twin", "solo", "office:solo", "inner", "outer", "office:inner", "office:outer",
    "nameless", "office:nameless", "office:prefixed", "office:given-name", "prefixed",
    "office:x:y", "foreign", "shared", "office:shared", "kit:shared", "kit:any", "any", "unseen",
    "office:unseen", "", "some-quite-different-word", "./folder/SKILL.md",
]  # fmt: skip


def test_every_name_means_what_it_means_to_the_client(
    client: str, api: Api, tmp_path: Path
) -> None:
    write_files(tmp_path, SKILLS)
    api.calls = [call(name) for name in CALLED]
    api.calls += [call(name, "x") for name in ("folder", "folder", "name", "office:solo", "twin")]
    api.calls += [call("folder"), call("folder"), call("folder", "y")]
    plugins = [str(tmp_path / name) for name in ("p", "q")]
    options = [word for folder in plugins for word in ("--plugin-dir", folder)]
    run_client(
        client, api, tmp_path / "project", "claude-haiku-4-5", "--allowedTools", "Skill", *options
    )
    project = str(tmp_path / "project" / ".claude" / "skills")
    skills = [Skill(found) for found in discover([project, *plugins]).skills]
    last: dict[str, str] = {}
    theirs = outcomes(api)
    assert len(theirs) == len(api.calls)
    for asked, outcome in zip(api.calls, theirs, strict=True):
        name = asked["skill"]
        found = find_skill(skills, name)
        if found is None:
            assert (outcome.result, outcome.texts) == (refusal(skills, name), [])
            continue
        text = load_skill(found, asked.get("args")).text()
        before, last[found.folder] = last.get(found.folder), text
        expected = [text] if before is None else [loaded_again(name), text]
        expected = [already_loaded(name, asked.get("args"))] if before == text else expected
        assert (outcome.result, outcome.texts) == (launching(name), expected), asked
