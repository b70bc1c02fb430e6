"""The real Claude Code client, answered by an offline model: skills load, run, and report.

The client is installed from npm and talks to ``skilleval serve`` on loopback.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import PROJECT
from models.offline.served import Served

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]  # installs it once

TABLE = "name;city\nAnn;Oslo\nAnn;Oslo\nBob;Rome\n"
MODELS = ["claude-haiku-4-5", "claude-sonnet-5-5"]
"""One that is told of its skills in a user message, one in a system message."""


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    started = Served("offline/literal")
    yield started
    assert started.stop()[0] == 0


def run_client(client: str, served: Served, project: Path, model: str, query: str) -> list[Any]:
    """The events of a run with the sample skills, as a fresh user without anything else."""
    skills = project / ".claude" / "skills"
    for folder in (PROJECT / "skills").iterdir():
        if folder.is_dir():
            shutil.copytree(folder, skills / folder.name)
    (project / "members.csv").write_text(TABLE, encoding="utf-8")
    home = project.parent / "home"
    home.mkdir()
    off = {"enabledPlugins": {"cc-plugin-plugin-authoring@builtin": False}}
    (home / "settings.json").write_text(json.dumps(off), encoding="utf-8")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home),
        "ANTHROPIC_BASE_URL": served.url,
        "ANTHROPIC_API_KEY": "any",
        "DISABLE_TELEMETRY": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS": "1",
        "IS_SANDBOX": "1",
    }
    words = [client, "-p", query, "--model", model, "--permission-mode", "bypassPermissions"]
    done = subprocess.run(
        [*words, "--output-format", "stream-json", "--verbose"], cwd=project, env=environment,
        timeout=120, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def tools(events: list[Any]) -> list[tuple[str, dict[str, Any]]]:
    """The tools that were called."""
    return [
        (block["name"], block["input"])
        for event in events
        if event["type"] == "assistant"
        for block in event["message"]["content"]
        if block["type"] == "tool_use"
    ]


@pytest.mark.parametrize("model", MODELS)
def test_a_skill_is_loaded_and_its_command_run(
    client: str, served: Served, tmp_path: Path, model: str
) -> None:
    project = tmp_path / "project"
    query = "Tidy up members.csv before I import it, and tell me what you changed."
    events = run_client(client, served, project, model, query)
    assert events[0]["model"] == model
    (_, skill), (_, ran) = tools(events)
    assert skill == {"skill": "csv-tidy", "args": "members.csv"}
    script = project / ".claude" / "skills" / "csv-tidy" / "scripts" / "tidy.py"
    assert ran["command"] == f"python3 {script} members.csv"
    assert "Ann,Oslo\n" in (project / "members.tidy.csv").read_text(encoding="utf-8")
    end = events[-1]
    assert (end["subtype"], end["is_error"]) == ("success", False)
    assert "1 removed" in end["result"] and "no language model" in end["result"]
    assert end["usage"]["cache_read_input_tokens"] > end["usage"]["cache_creation_input_tokens"]


@pytest.mark.parametrize("model", MODELS)
def test_no_skill_is_loaded_for_something_else(
    client: str, served: Served, tmp_path: Path, model: str
) -> None:
    query = "Write a haiku about a quiet harbour."
    events = run_client(client, served, tmp_path / "project", model, query)
    assert tools(events) == []
    assert "No skill" in events[-1]["result"]


def test_a_skill_that_the_user_calls(client: str, served: Served, tmp_path: Path) -> None:
    events = run_client(client, served, tmp_path / "project", MODELS[1], "/csv-tidy members.csv")
    assert [name for name, _ in tools(events)] == ["Bash"]
    assert "1 removed" in events[-1]["result"]
