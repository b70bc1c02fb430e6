"""Tool calls in a session: hooks, permissions, results, and what the trace keeps of them."""

from __future__ import annotations

import shlex
import sys
from typing import Any

import pytest
from harness.kit import World, call, calls, of, results, say

from skilleval.harness.permissions import Answer, Capability, Mode, Rules
from skilleval.harness.permissions import Call as PermissionCall


def hook(code: str) -> dict[str, Any]:
    """A hook that runs Python with its payload in ``p``."""
    whole = f"import json,sys\np=json.load(sys.stdin)\n{code}"
    return {"hooks": [{"type": "command", "command": shlex.join([sys.executable, "-c", whole])}]}


def test_a_denied_call_is_a_routing_signal(world: World) -> None:
    events = world.run(
        [call("Bash", command="rm -rf data"), say("I leave it.")],
        rules=Rules.parse(deny=["Bash(rm:*)"]),
    )
    decision = of(events, "permission")[0]
    assert (decision["allowed"], decision["step"], decision["decided_by"]) == (
        False, "deny rule", "Bash(rm:*)",
    )  # fmt: skip
    assert any(c["kind"] == "execute" for c in decision["capabilities"])
    assert "That is no reason to stop" in results(events)[0]
    assert of(events, "result")[0]["is_error"]
    assert of(events, "end")[0]["denials"] == 1
    assert world.last.ended and world.last.ended.outcome == "completed"


def test_a_tool_that_is_denied_by_name_is_not_shown(world: World) -> None:
    start = world.run([say("ok")], rules=Rules.parse(deny=["Bash", "memory"]))[0]
    names = {tool["name"] for tool in start["tools"]}
    assert "Bash" not in names and "memory" not in names and "Read" in names


def test_nobody_to_ask_is_a_denial(world: World) -> None:
    events = world.run([call("Bash", command="touch x"), say("ok")], mode=Mode.DEFAULT)
    assert not of(events, "permission")[0]["allowed"]
    assert not (world.workspace / "x").exists()


def test_somebody_is_asked_with_what_it_needs(world: World) -> None:
    asked: list[Any] = []

    async def person(call: PermissionCall, needs: Any, why: str) -> Answer:
        asked.append((call.tool, [c for c in needs if isinstance(c, Capability)], why))
        return Answer(True, "fine", "Bash(touch:*)")

    turns = [call("Bash", command="touch x"), call("Bash", command="touch y"), say("ok")]
    events = world.run(turns, mode=Mode.DEFAULT, opening={"callback": person})
    assert len(asked) == 1  # the second call is covered by what was granted
    assert asked[0][0] == "Bash" and asked[0][1]
    steps = [event["step"] for event in of(events, "permission")]
    assert steps == ["callback", "allow rule"]
    assert (world.workspace / "y").exists()


def test_accepted_edits_count_where_the_model_sees_the_workspace(world: World) -> None:
    turns = [
        call("Write", file_path="a.txt", content="1"),
        call("Write", file_path="/workspace/b.txt", content="2"),
        call("Bash", command="mkdir -p sub && touch sub/c"),
        call("Bash", command="cd sub; mv c d"),
        call("Write", file_path=".git/config", content="evil"),
        say("ok"),
    ]
    events = world.run(turns, mode=Mode.ACCEPT_EDITS, sandbox="bubblewrap")
    allowed = [event["allowed"] for event in of(events, "permission")]
    assert allowed == [True, True, True, True, False], results(events)
    assert (world.workspace / "sub" / "d").exists()


@pytest.mark.parametrize(
    "command",
    [
        "cat secrets/key",
        "cat /workspace/secrets/key",
        "cd secrets && cat key",
        "cd /; cat workspace/secrets/key",
        "cat /tmp/../workspace/secrets/key",
        "cat /proc/self/root/workspace/secrets/key",
    ],
)
def test_a_denied_path_is_denied_by_its_name_inside(world: World, command: str) -> None:
    (world.workspace / "secrets").mkdir()
    (world.workspace / "secrets" / "key").write_text("hunter2")
    events = world.run(
        [
            call("Bash", command=command),
            call("Read", file_path="/workspace/secrets/key"),
            say("ok"),
        ],
        rules=Rules.parse(deny=["Read(./secrets/**)"]),
        sandbox="bubblewrap",
    )
    assert [event["allowed"] for event in of(events, "permission")] == [False, False]
    assert "hunter2" not in str(results(events))


def test_a_hook_can_refuse_change_and_comment(world: World) -> None:
    settings = world.settings(
        hooks={
            "PreToolUse": [
                {"matcher": "Bash", **hook(
                    "c=p['tool_input']['command']\n"
                    "o={'hookEventName':'PreToolUse'}\n"
                    "d={'permissionDecision':'deny','permissionDecisionReason':'no bad'}\n"
                    "if 'bad' in c: o.update(d)\n"
                    "if 'old' in c: o.update(updatedInput={'command': c.replace('old','new')})\n"
                    "print(json.dumps({'hookSpecificOutput': o}))"
                )},
            ],
            "PostToolUse": [
                {"matcher": "Bash", **hook(
                    "print(json.dumps({'hookSpecificOutput':{'hookEventName':'PostToolUse',"
                    "'additionalContext':'checked '+p['tool_use_id']}}))"
                )},
            ],
        }
    )  # fmt: skip
    turns = [call("Bash", command="echo bad"), call("Bash", command="echo old"), say("ok")]
    events = world.run(turns, settings=[settings])
    bad, old = results(events)
    assert "no bad" in bad and "new" in old
    assert of(events, "permission")[0]["step"] == "hook"
    assert "checked toolu_" in str(of(events, "reminder")[0]["content"])
    assert {event["event"] for event in of(events, "hook")} >= {"PreToolUse", "PostToolUse"}


def test_an_allowing_hook_does_not_skip_deny_rules(world: World) -> None:
    allow = (
        "print(json.dumps({'hookSpecificOutput':{'hookEventName':'PreToolUse',"
        "'permissionDecision':'allow'}}))"
    )
    settings = world.settings(hooks={"PreToolUse": [{"matcher": "*", **hook(allow)}]})
    events = world.run(
        [call("Bash", command="touch x"), call("Bash", command="echo hi"), say("ok")],
        settings=[settings],
        mode=Mode.DEFAULT,
        rules=Rules.parse(deny=["Bash(touch:*)"]),
    )
    assert [event["allowed"] for event in of(events, "permission")] == [False, True]


def test_a_changed_call_is_validated_again(world: World) -> None:
    code = (
        "print(json.dumps({'hookSpecificOutput':{'hookEventName':'PreToolUse',"
        "'updatedInput':{'nonsense':1}}}))"
    )
    settings = world.settings(hooks={"PreToolUse": [{"matcher": "Bash", **hook(code)}]})
    events = world.run([call("Bash", command="echo hi"), say("ok")], settings=[settings])
    assert of(events, "result")[0]["is_error"]


def test_a_stop_hook_sends_it_back_a_bounded_number_of_times(world: World) -> None:
    code = "print(json.dumps({'decision':'block','reason':'run the tests'}))"
    settings = world.settings(hooks={"Stop": [hook(code)]})
    events = world.run([say("done", repeat="forever")], settings=[settings])
    told = [event for event in of(events, "prompt") if event.get("internal")]
    assert len(told) == 3 and "run the tests" in str(told[0]["content"])
    assert world.last.ended and "3 times" in world.last.ended.reason


def test_a_prompt_can_be_blocked_and_a_session_greeted(world: World) -> None:
    settings = world.settings(
        hooks={
            "SessionStart": [hook("print('the build is red')")],
            "UserPromptSubmit": [
                hook(
                    "no={'decision':'block','reason':'no'}\n"
                    "if 'drop' in p['prompt']: print(json.dumps(no))"
                )
            ],
        }
    )
    events = world.run([say("ok")], settings=[settings])
    assert "the build is red" in str(of(events, "prompt")[0]["content"])
    world.trace.unlink()
    events = world.run([say("ok")], "drop the table", settings=[settings])
    assert world.last.ended and world.last.ended.reason == "no"
    assert not of(events, "request")


def test_secrets_of_the_environment_do_not_reach_commands(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret-secret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "aws-secret")
    events = world.run([call("Bash", command="env"), say("ok")])
    assert "PATH=" in results(events)[0]
    assert "ant-secret" not in str(events) and "aws-secret" not in str(events)


def test_a_long_output_is_cut_and_the_rest_can_be_read(world: World) -> None:
    turns = [
        call("Bash", command="seq 1 20000; echo THE-END"),
        say("ok"),
    ]
    events = world.run(turns)
    result = of(events, "result")[0]
    assert len(result["content"]) < 32_000
    assert result["full_output"].startswith("/")
    assert result["full_output"] in result["content"]


def test_the_condition_of_a_hook_is_a_rule(world: World) -> None:
    code = (
        "print(json.dumps({'hookSpecificOutput':{'hookEventName':'PreToolUse',"
        "'permissionDecision':'deny'}}))"
    )
    guard = hook(code)
    guard["hooks"][0]["if"] = "Bash(touch:*)"
    settings = world.settings(hooks={"PreToolUse": [{"matcher": "Bash", **guard}]})
    turns = [call("Bash", command="echo hi"), call("Bash", command="touch x"), say("ok")]
    events = world.run(turns, settings=[settings])
    assert [event["allowed"] for event in of(events, "permission")] == [True, False]


@pytest.mark.parametrize("engine", ["rg", "python3"])
def test_searches_leave_out_what_a_rule_forbids_to_read(world: World, engine: str) -> None:
    for name in ("open.txt", "secret/key.txt", ".env"):
        (world.workspace / name).parent.mkdir(exist_ok=True)
        (world.workspace / name).write_text("token\n")
    (world.workspace / "link").symlink_to("secret/key.txt")
    searches = [
        call("Grep", pattern="token"),
        call("Grep", pattern="token", output_mode="content"),
        call("Grep", pattern="token", output_mode="count", response_format="detailed"),
        call("Glob", pattern="**/*"),
        call("Glob", pattern="/workspace/**/*.txt"),
        call("Grep", pattern="no such text"),
        call("Grep", pattern="token", path="secret"),
    ]
    rules = Rules.parse(["Read(./secret/**)", "Read(.env)"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skilleval.harness.tools.search._programs", _only(engine))
        found = results(world.run([*searches, say("ok")], rules=rules))
    for text in found[:5]:
        assert "open.txt" in text and "key.txt" not in text and ".env" not in text
        assert "link" not in text
        assert "that a rule forbids to read are left out" in text
    # the same is said where nothing is left out: or else a search could find out what is in them
    assert "are left out" in found[5] and "No line matches" in found[5]
    assert "denies it" in found[6]
    world.trace.unlink()
    assert "left out" not in results(world.run([searches[0], say("ok")]))[0]


def _only(engine: str) -> Any:
    async def programs(context: Any) -> dict[str, bool]:
        return {name: name == engine for name in ("rg", "python3")}

    return programs


def test_a_bad_call_is_answered_before_anybody_is_asked(world: World) -> None:
    asked: list[str] = []

    async def person(*_: object) -> Answer:
        asked.append("asked")
        return Answer(True)

    turns = [call("Write", file_path="a"), call("Bash", command=7), say("ok")]
    settings = world.settings(hooks={"PreToolUse": [hook("open('ran', 'w')")]})
    events = world.run(
        turns, mode=Mode.DEFAULT, settings=[settings], opening={"callback": person}
    )  # fmt: skip
    assert not asked and not of(events, "permission") and not of(events, "hook")
    assert "content is missing" in results(events)[0] and "A right call" in results(events)[0]
    assert "command must be a string, not 7" in results(events)[1]


def test_an_input_that_a_hook_has_changed_is_checked_again(world: World) -> None:
    changed = {"hookEventName": "PreToolUse", "permissionDecision": "allow"}
    changed |= {"updatedInput": {"file_path": "x", "content": 5}}
    answer = f"print(json.dumps({{'hookSpecificOutput': {changed!r}}}))"
    settings = world.settings(hooks={"PreToolUse": [hook(answer)]})
    turns = [call("Write", file_path="a", content="b"), say("ok")]
    events = world.run(turns, settings=[settings])
    assert "A hook changed the call to one that makes no sense" in results(events)[0]
    assert not list(world.workspace.iterdir())


def test_results_come_first_and_what_follows_from_them_after_all(world: World) -> None:
    for name in ("one", "two"):
        folder = world.folder / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Does.\n---\nGo {name}.")
    turn = calls(("Skill", {"skill": "one"}), ("Skill", {"skill": "two"}))
    world.run([turn, say("ok")], skills=world.folder / "skills")
    kinds = [block["type"] for block in world.last.history.messages[2]["content"]]
    assert kinds == ["tool_result", "tool_result", "text", "text"]
