"""Commands: real processes that answer, crash, hang, flood us, and leave children behind."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from harness.hooks.kit import PYTHON, facts, fire, sample

from skilleval.harness.hooks import EVENTS, Hook, HookEvent, Hooks, Verdict
from skilleval.harness.hooks.process import KEPT

E = HookEvent
BLOCKING = [event for event in E if EVENTS[event].can_block]


def command(line: str, event: HookEvent = E.PRE_TOOL_USE, **changes: Any) -> Hook:
    return Hook(event, command=line, **changes)


def printing(said: Any) -> str:
    return "printf %s " + shlex.quote(json.dumps(said))


def test_payload_on_standard_input_and_answer_on_standard_output(tmp_path: Path) -> None:
    deny = {"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}}
    verdict = fire(E.PRE_TOOL_USE, command(f"cat > got; {printing(deny)}"), cwd=tmp_path)
    assert (verdict.behavior, verdict.reason) == ("deny", "no")
    outcome = verdict.outcomes[0]
    assert (outcome.status, outcome.exit_code, outcome.answer) == ("answered", 0, deny)
    got = json.loads((tmp_path / "got").read_text())
    assert got["tool_input"] == {"command": "ls"} and got["cwd"] == str(tmp_path)


@pytest.mark.parametrize("event", E)
def test_exit_code_two_means_what_the_contract_says(event: HookEvent) -> None:
    verdict = fire(event, command("echo '{\"continue\": false}'; echo why >&2; exit 2", event))
    contract, outcome = EVENTS[event], verdict.outcomes[0]
    assert outcome.exit_code == 2 and not verdict.stop
    if contract.can_block:
        assert (verdict.behavior, verdict.reason, outcome.status) == ("deny", "why", "answered")
        return
    assert verdict.behavior is None and outcome.status == "crashed" and outcome.stderr == "why"
    assert verdict.system_messages == (("why",) if contract.told else ())


@pytest.mark.parametrize("event", E)
@pytest.mark.parametrize("on_failure", ["continue", "block"])
def test_a_crash_is_silence_or_a_denial(event: HookEvent, on_failure: Any) -> None:
    verdict = fire(event, command("echo oops >&2; exit 1", event, on_failure=on_failure, name="x"))
    outcome = verdict.outcomes[0]
    assert (outcome.status, outcome.error, outcome.exit_code) == ("crashed", "exit code 1", 1)
    if on_failure == "block" and EVENTS[event].can_block:
        assert verdict.behavior == "deny" and "the hook x has failed" in verdict.reason
    else:
        assert verdict.behavior is None
    assert (verdict.system_messages, verdict.stop) == ((), False)


@pytest.mark.parametrize(
    ("line", "status", "error"),
    [
        ("no-such-program-anywhere", "crashed", "exit code 127"),
        ("kill -9 $$", "crashed", "killed by signal 9"),
        ("echo hello", "rubbish", "plain text, which means nothing at PreToolUse: 'hello'"),
        ("printf '\\377\\376{'", "rubbish", "plain text"),
        ("echo '{'", "rubbish", "can't be read"),
        ("echo '{\"decision\": 5}'", "rubbish", "`decision` is not text"),
        ("a\0b", "crashed", "could not be started"),
    ],
)
def test_failures_are_told_apart(line: str, status: str, error: str) -> None:
    verdict = fire(E.PRE_TOOL_USE, command(line), command(f"{line} ", on_failure="block"))
    for outcome in verdict.outcomes:
        assert outcome.status == status and error in outcome.error
    assert verdict.behavior == "deny" and error in verdict.reason


def test_a_directory_that_is_not_there() -> None:
    verdict = fire(E.STOP, command("true", E.STOP), cwd="/no/such/place")
    assert "could not be started" in verdict.outcomes[0].error


def test_text_is_context_at_the_start() -> None:
    verdict = fire(E.SESSION_START, command("echo on main", E.SESSION_START))
    assert verdict.additional_context == ("on main",)


def test_a_megabyte_is_counted_and_not_kept() -> None:
    line = "head -c 1000000 /dev/zero | tr '\\0' x; head -c 1000000 /dev/zero >&2"
    for event in (E.USER_PROMPT_SUBMIT, E.PRE_TOOL_USE):
        verdict = fire(event, command(line, event))
        assert verdict.outcomes[0].cut == 2_000_000 - 2 * KEPT
    line = "printf '{\"a\": \"'; head -c 1000000 /dev/zero | tr '\\0' x; printf '\"}'"
    outcome = fire(E.PRE_TOOL_USE, command(line)).outcomes[0]
    assert outcome.status == "rubbish" and "too long" in outcome.error


def test_context_that_was_cut_says_so() -> None:
    line = "head -c 70000 /dev/zero | tr '\\0' x"
    verdict = fire(E.USER_PROMPT_SUBMIT, command(line, E.USER_PROMPT_SUBMIT))
    assert verdict.additional_context[0].endswith("more characters]")
    assert verdict.outcomes[0].cut == 70000 - KEPT


def test_a_flood_is_stopped() -> None:
    outcome = fire(E.PRE_TOOL_USE, command("yes")).outcomes[0]
    assert outcome.status == "crashed" and "killed after printing 16 MB" in outcome.error
    assert outcome.exit_code is None and outcome.cut > KEPT


@pytest.mark.parametrize(
    "line", ["true", "exec <&-; sleep 0.05", "head -c 5 > /dev/null", "cat > got"]
)
def test_a_huge_payload_that_is_not_always_read(line: str, tmp_path: Path) -> None:
    fields = {"tool_input": {"content": "é\ud800" * 1_000_000}}
    verdict = fire(E.PRE_TOOL_USE, command(line), cwd=tmp_path, fields=fields)
    assert verdict.outcomes[0].status == "silent"
    if "got" in line:
        assert json.loads((tmp_path / "got").read_text())["tool_input"] == fields["tool_input"]


def test_numbers_that_json_does_not_know_break_no_hook(tmp_path: Path) -> None:
    fields = {"tool_input": {"a": [float("nan"), float("-inf")]}}
    fire(E.PRE_TOOL_USE, command("cat > got"), cwd=tmp_path, fields=fields)
    got = json.loads((tmp_path / "got").read_text(), parse_constant=pytest.fail)
    assert got["tool_input"] == {"a": ["nan", "-inf"]}


def test_nothing_of_the_payload_reaches_a_shell(tmp_path: Path) -> None:
    fields = {"tool_name": "$(touch bad)", "tool_input": {"command": "`touch bad`; touch bad"}}
    fire(E.PRE_TOOL_USE, command('x=$(cat); echo "$x" > got'), cwd=tmp_path, fields=fields)
    assert [path.name for path in tmp_path.iterdir()] == ["got"]


def test_arguments_go_round_the_shell(tmp_path: Path) -> None:
    args = ("-c", "import sys; open('got', 'w').write(sys.argv[1])", "$HOME; `id`")
    fire(E.STOP, Hook(E.STOP, command=PYTHON, args=args), cwd=tmp_path)
    assert (tmp_path / "got").read_text() == "$HOME; `id`"


def test_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "s3cret")
    hook = command("env > got", E.STOP)
    fire(E.STOP, hook, cwd=tmp_path)
    got = (tmp_path / "got").read_text()
    assert f"CLAUDE_PROJECT_DIR={tmp_path}\n" in got and "s3cret" not in got
    session = facts(tmp_path, project="/project")
    fire(E.STOP, hook, session=session, environment={"PATH": os.environ["PATH"], "MINE": "1"})
    got = (tmp_path / "got").read_text()
    assert "CLAUDE_PROJECT_DIR=/project\n" in got and "MINE=1\n" in got and "HOME=" not in got


def alive(pid: int) -> bool:
    """Whether a process runs; one that is dead and not yet buried does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


BROOD = "for i in 1 2 3; do sh -c 'sleep 300; :' & echo $! >> pids; done; echo $$ >> pids; "


def brood(folder: Path) -> list[int]:
    path = folder / "pids"
    return [int(word) for word in path.read_text().split()] if path.exists() else []


def survivors(folder: Path) -> list[int]:
    """Who is left; being killed takes a moment."""
    end = time.monotonic() + 2
    while (left := [pid for pid in brood(folder) if alive(pid)]) and time.monotonic() < end:
        time.sleep(0.01)
    return left


@pytest.mark.parametrize("line", ["wait", "trap '' TERM INT HUP; while :; do wait; done"])
def test_a_hang_is_cut_short_and_nobody_survives(line: str, tmp_path: Path) -> None:
    start = time.monotonic()
    hook = command(BROOD + line, timeout=0.7, on_failure="block")
    verdict = fire(E.PRE_TOOL_USE, hook, cwd=tmp_path)
    assert time.monotonic() - start < 5
    outcome = verdict.outcomes[0]
    assert (outcome.status, outcome.error) == ("timed out", "it took longer than 0.7 s")
    assert outcome.exit_code is None and verdict.behavior == "deny"
    assert len(brood(tmp_path)) == 4 and survivors(tmp_path) == []


def test_what_stays_behind_is_killed_when_the_hook_ends(tmp_path: Path) -> None:
    start = time.monotonic()
    verdict = fire(E.STOP, command(BROOD, E.STOP), cwd=tmp_path)
    assert verdict.outcomes[0].status == "silent" and time.monotonic() - start < 5
    assert len(brood(tmp_path)) == 4 and survivors(tmp_path) == []


def test_one_that_left_the_group_does_not_hold_us_up(tmp_path: Path) -> None:
    line = (
        "setsid sh -c 'echo $$ > pids; exec sleep 300' & while ! test -s pids; do :; done; exit 3"
    )
    try:
        outcome = fire(E.STOP, command(line, E.STOP, timeout=30), cwd=tmp_path).outcomes[0]
        assert outcome.exit_code == 3 and outcome.ms < 10_000
    finally:
        for pid in brood(tmp_path):
            os.kill(pid, signal.SIGKILL)


def test_cancelling_kills_them_all(tmp_path: Path) -> None:
    hooks = Hooks([command(BROOD + "wait", E.STOP)], session=facts(tmp_path))

    async def cancelled() -> None:
        task = asyncio.create_task(hooks.fire(E.STOP, **sample(E.STOP)))
        while len(brood(tmp_path)) < 4:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(cancelled(), 20))
    assert survivors(tmp_path) == []


def test_hooks_run_at_the_same_time_and_the_loop_goes_on(tmp_path: Path) -> None:
    """Each hook waits for the other, and a task beside them lets both go."""
    lines = ["echo > a; while ! test -e b -a -e go; do :; done"]
    lines += ["echo > b; while ! test -e a -a -e go; do :; done"]
    hooks = Hooks([command(line, E.STOP, timeout=20) for line in lines], session=facts(tmp_path))

    async def both() -> Verdict:
        task = asyncio.create_task(hooks.fire(E.STOP, **sample(E.STOP)))
        while not ((tmp_path / "a").exists() and (tmp_path / "b").exists()):
            await asyncio.sleep(0.01)
        (tmp_path / "go").touch()
        return await task

    assert [outcome.status for outcome in asyncio.run(both()).outcomes] == ["silent", "silent"]
