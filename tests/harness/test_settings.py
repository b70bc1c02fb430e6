"""The settings of the harness: what they change, and what is said of those that make no sense."""

from __future__ import annotations

import asyncio
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from conftest import PROJECT, Write
from harness.kit import World, call, of, results, say
from models.fake_api import FakeApi, message, reply, streamed, tool_use

from skilleval.errors import ExitCode, SettingsError
from skilleval.harness.context.manager import EDITS, Thresholds
from skilleval.harness.loop import State, work
from skilleval.harness.opening import Setup, open_session
from skilleval.harness.permissions import Mode
from skilleval.harness.sandbox import Limits
from skilleval.harness.settings import HarnessSettings, read_harness
from skilleval.harness.tools.budgets import Budgets
from skilleval.models.opening import Models
from skilleval.models.settings import ModelSettings

EVERYTHING = """
[harness]
background = true
context-management = ["compact_20260112", "clear_tool_uses_20250919"]

[harness.budgets]
bash-characters = 500
grep-seconds = 2.5

[harness.thresholds]
results = 0.3
warn = [0.5, 1]

[harness.sandbox-limits]
file-bytes = 1_000_000
wall-seconds = 5
"""


def test_what_a_file_says(write: Write) -> None:
    write({"skilleval.toml": EVERYTHING})
    assert read_harness() == HarnessSettings(
        Budgets(bash_characters=500, grep_seconds=2.5),
        Thresholds(results=0.3, warn=(0.5, 1)),
        Limits(file_bytes=1_000_000, wall_seconds=5),
        True,
        ("clear_tool_uses_20250919", "compact_20260112"),
    )


def test_the_project_file_says_it_too(write: Write, tmp_path: Path) -> None:
    write({"pyproject.toml": "[tool.skilleval.harness]\ncontext-management = true\n", "in/x": ""})
    assert read_harness(str(tmp_path / "in")).context_management == EDITS


def test_without_a_file_all_is_as_it_was(write: Write, tmp_path: Path) -> None:
    write({".git/HEAD": ""})
    plain = Setup("offline/literal", str(tmp_path))
    assert read_harness() == HarnessSettings()
    assert read_harness().applied(plain) == plain


@pytest.mark.parametrize(
    ("table", "said", "remedy"),
    [
        ("budget = {}", "no setting budget", "Did you mean budgets?"),
        ("[harness.budgets]\nbash_characters = 1", "bash_characters", "mean bash-characters?"),
        ("[harness.budgets]\nbash-caracters = 1", "bash-caracters", "mean bash-characters?"),
        ("[harness.sandbox-limits]\nmemory = 1", "no setting memory", "memory-bytes"),
        ("[harness.thresholds]\nzzzz = 1", "no setting zzzz", "There are: results, snip"),
        ("budgets = 3", "[harness.budgets] is not a table", ""),
        ("thresholds = [1]", "[harness.thresholds] is not a table", ""),
        ("background = 1", "true or false", ""),
        ("[harness.budgets]\nread-lines = 1.5", "read-lines must be a whole number", ""),
        ("[harness.budgets]\nread-lines = true", "read-lines must be a whole number", ""),
        ("[harness.budgets]\nread-lines = '9'", "read-lines must be a whole number", ""),
        ("[harness.budgets]\ngrep-seconds = '9'", "grep-seconds must be a number", ""),
        ("[harness.budgets]\nread-lines = 0", "read-lines must lie above 0", ""),
        ("[harness.budgets]\ngrep-seconds = nan", "grep-seconds must lie above 0", ""),
        ("[harness.budgets]\ngrep-seconds = inf", "grep-seconds must lie above 0", ""),
        ("[harness.sandbox-limits]\ncpu-seconds = -1", "cpu-seconds must lie above 0", ""),
        ("[harness.sandbox-limits]\nprocesses = 10000000000000", "processes must lie", ""),
        ("[harness.thresholds]\nsnip = 60", "no share between 0 and 1", ""),
        ("[harness.thresholds]\nwarn = 0.5", "warn must be a list of numbers", ""),
        ("[harness.thresholds]\nwarn = ['x']", "warn must be a number", ""),
        ("[harness.budgets]\nbash-timeout-ms = 700000", "more than bash-longest-ms", ""),
        ("context-management = 'all'", "true, false, or a list of names", ""),
        ("context-management = [1]", "true, false, or a list of names", ""),
        ("context-management = ['compact']", "'compact' is none", "mean compact_20260112?"),
    ],
)
def test_what_makes_no_sense_is_one_clear_error(
    write: Write, table: str, said: str, remedy: str
) -> None:
    write({"skilleval.toml": f"[harness]\n{table}\n"})
    with pytest.raises(SettingsError) as caught:
        read_harness()
    assert caught.value.exit_code == ExitCode.USAGE
    assert "skilleval.toml: [harness" in caught.value.message
    assert said in caught.value.message and remedy in caught.value.remedy


def test_a_session_keeps_to_them(world: World, write: Write) -> None:
    write({"skilleval.toml": EVERYTHING})
    kept = read_harness()
    turns = [
        call("Bash", command="seq 1 2000"),
        call("Bash", command="echo later", run_in_background=True),
        call("Bash", command="head -c 2000000 /dev/zero > large"),
        say("ok"),
    ]
    given = {each.name: getattr(kept, each.name) for each in fields(kept)}
    events = world.run(turns, **given)
    cut, started, killed = of(events, "result")
    assert len(cut["content"]) < 1_000 and "Bash shows 500 characters" in cut["content"]
    assert "Started." in started["content"] and not started["is_error"]
    assert killed["is_error"] and "more than 1,000,000 bytes" in killed["content"]


def test_commands_in_the_background_are_off_by_default(world: World) -> None:
    turns = [call("Bash", command="echo later", run_in_background=True), say("ok")]
    assert "off here" in results(world.run(turns))[0]


async def asked(tmp_path: Path, model: str, **given: Any) -> list[Any]:
    """What an endpoint receives of a session that calls a tool and then answers."""
    summary = [{"type": "compaction", "content": "They want tea."}] if given else []
    use = {**tool_use(command="echo"), "name": "Bash"}
    first = message(*summary, use, stop_reason="tool_use")
    (tmp_path / "work").mkdir()
    async with FakeApi(streamed(first), reply(message("done"))) as fake:
        known = {model: ModelSettings(base_url=fake.url, key_env="", max_output=64_000)}
        setup = Setup(model, str(tmp_path / "work"), mode=Mode.BYPASS, **given)
        async with (
            Models(known) as models,
            open_session(setup, models, str(tmp_path / "trace.jsonl")) as session,
        ):
            async for item in work(session, "Do it."):
                last = item
        assert isinstance(last, State) and last.ended and last.ended.text == "done"
        return fake.received


@pytest.mark.parametrize(
    ("model", "edits"), [("claude-haiku-4-5", EDITS), ("team-model", EDITS[1:])]
)
def test_the_api_is_asked_to_make_room(tmp_path: Path, model: str, edits: tuple[str, ...]) -> None:
    """With the beta headers that it wants; thinking is cleared only where there is some."""
    received = asyncio.run(
        asked(tmp_path, model, context_management=EDITS, thresholds=Thresholds(results=0.25))
    )
    sent = received[0].body["context_management"]["edits"]
    assert tuple(edit["type"] for edit in sent) == edits
    triggers = [edit["trigger"]["value"] for edit in sent if "trigger" in edit]
    assert triggers == [50_000, 180_000]
    assert received[0].headers["anthropic-beta"] == (
        "context-management-2025-06-27,compact-2026-01-12"
    )
    assert "betas" not in received[0].body
    assert received[1].body["messages"][1]["content"][0] == {
        "type": "compaction",
        "content": "They want tea.",
    }


def test_only_what_was_asked_for_is_asked_of_the_api(tmp_path: Path) -> None:
    received = asyncio.run(asked(tmp_path, "claude-haiku-4-5"))
    assert "context_management" not in received[0].body
    assert "anthropic-beta" not in received[0].headers


def test_offline_models_still_get_room(world: World) -> None:
    """They can't make any by themselves, so that our shapers do it."""
    (world.workspace / "long.txt").write_text("x" * 30_000)
    turns = [*[call("Bash", command=f"cat long.txt; : {n}") for n in range(9)], say("ok")]
    soon = Thresholds(results=0.1)
    events = world.run(turns, context_management=EDITS, thresholds=soon)
    assert [event["shaper"] for event in of(events, "shaped")][:1] == ["results"]


def test_every_setting_is_documented() -> None:
    page = (PROJECT / "docs" / "harness.md").read_text(encoding="utf-8")
    for each in fields(HarnessSettings()):
        name = each.name.replace("_", "-")
        assert f"`{name}`" in page or f"`[harness.{name}]`" in page
    for part in (Budgets(), Thresholds(), Limits()):
        for number in fields(part):
            assert f"| `{number.name.replace('_', '-')}` | `" in page
