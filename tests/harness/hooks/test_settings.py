"""Hooks in settings files of Claude Code are read as they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from skilleval.errors import InputError
from skilleval.harness.hooks import Hook, HookEvent, read_hooks

REAL: dict[str, Any] = {
    "$schema": "https://json.schemastore.org/claude-code-settings.json",
    "permissions": {"allow": ["Bash(git *)"]},
    "env": {"A": "1"},
    "hooks": {
        "PreToolUse": [
            {
                "matcher": "Bash",
                "hooks": [
                    {"type": "command", "command": "guard.sh", "timeout": 5, "onFailure": "block"},
                    {"type": "command", "command": "python3", "args": ["log.py", "--all"]},
                ],
            },
            {
                "matcher": "mcp__.*",
                "hooks": [
                    {
                        "type": "http",
                        "url": "http://localhost:8080/hook",
                        "headers": {"Authorization": "Bearer $TOKEN"},
                        "allowedEnvVars": ["TOKEN"],
                    }
                ],
            },
        ],
        "PostToolUse": [
            {
                "matcher": "Edit|Write",
                "hooks": [{"type": "command", "command": "format", "if": "Edit(*.py)"}],
            }
        ],
        "Stop": [{"hooks": [{"type": "prompt", "prompt": "Done? $ARGUMENTS", "timeout": 20}]}],
        "SessionStart": [
            {
                "matcher": "startup",
                "hooks": [
                    {"type": "command", "command": "echo hi", "statusMessage": "…", "shell": "bash"}
                ],
            }
        ],
    },
}


def write(folder: Path, content: Any) -> Path:
    path = folder / "settings.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def one(handler: dict[str, Any], event: str = "PreToolUse", **group: Any) -> dict[str, Any]:
    return {"hooks": {event: [{**group, "hooks": [handler]}]}}


def test_a_real_file(tmp_path: Path) -> None:
    warnings: list[str] = []
    path = write(tmp_path, REAL)
    hooks = read_hooks(path, warnings=warnings)
    assert warnings == []
    assert [(str(h.event), h.kind, h.matcher, h.name) for h in hooks] == [
        ("PreToolUse", "command", "Bash", "PreToolUse[0].hooks[0]"),
        ("PreToolUse", "command", "Bash", "PreToolUse[0].hooks[1]"),
        ("PreToolUse", "http", "mcp__.*", "PreToolUse[1].hooks[0]"),
        ("PostToolUse", "command", "Edit|Write", "PostToolUse[0].hooks[0]"),
        ("Stop", "prompt", "", "Stop[0].hooks[0]"),
        ("SessionStart", "command", "startup", "SessionStart[0].hooks[0]"),
    ]
    assert hooks[0] == Hook(
        HookEvent.PRE_TOOL_USE,
        matcher="Bash",
        command="guard.sh",
        timeout=5,
        on_failure="block",
        name="PreToolUse[0].hooks[0]",
        source=str(path),
    )
    assert hooks[1].args == ("log.py", "--all")
    assert hooks[2].headers == (("Authorization", "Bearer $TOKEN"),)
    assert hooks[2].variables == ("TOKEN",)
    assert (hooks[3].condition, hooks[5].shell) == ("Edit(*.py)", "bash")
    assert len({hook.work for hook in hooks}) == len(hooks)


@pytest.mark.parametrize("content", [{}, {"hooks": {}}, {"hooks": {"Stop": []}}, "\ufeff{}"])
def test_no_hooks(tmp_path: Path, content: Any) -> None:
    assert read_hooks(write(tmp_path, content)) == []


def test_hooks_that_are_switched_off(tmp_path: Path) -> None:
    warnings: list[str] = []
    assert read_hooks(write(tmp_path, REAL | {"disableAllHooks": True}), warnings=warnings) == []
    assert "disableAllHooks" in warnings[0]


RUN = {"type": "command", "command": "x"}


@pytest.mark.parametrize(
    ("settings", "count", "warning"),
    [
        (one(RUN, "MessageDisplay"), 0, "hooks.MessageDisplay: no event of this harness"),
        (one(RUN, "pretooluse"), 0, "hooks.pretooluse: no event of this harness"),
        (one(RUN, extra=1), 1, "hooks.PreToolUse[0].extra: not known here"),
        (one(RUN | {"async": True}), 1, "hooks.PreToolUse[0].hooks[0].async: not known here"),
        (one(RUN, "Stop", matcher="Bash"), 1, "Stop has nothing to match"),
        (one({"type": "agent", "prompt": "x"}), 0, "the type 'agent' is not known here"),
        (one({"type": "prompt", "prompt": "x"}, "Notification"), 0, "blocks nothing"),
        (one(RUN | {"shell": "powershell"}), 0, "the shell 'powershell' is not known here"),
        (one(RUN | {"onFailure": "warn"}), 1, "'warn' is neither"),
        (one(RUN | {"onFailure": "block"}, "SessionEnd"), 1, "SessionEnd blocks nothing"),
    ],
)
def test_what_is_not_known_is_a_warning(
    tmp_path: Path, settings: Any, count: int, warning: str
) -> None:
    warnings: list[str] = []
    path = write(tmp_path, settings)
    assert len(read_hooks(path, warnings=warnings)) == count
    assert len(warnings) == 1 and warnings[0].startswith(f"{path}: ") and warning in warnings[0]


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ("{\n  nonsense", ":2:3: no JSON"),
        ("", ":1:1: no JSON"),
        ("[" * 100_000, ": no JSON"),
        ("[]", ": the file: not an object"),
        ({"hooks": []}, ": hooks: not an object"),
        ({"hooks": {"Stop": {}}}, ": hooks.Stop: not a list"),
        ({"hooks": {"Stop": [RUN]}}, ": hooks.Stop[0].hooks: not a list"),
        ({"hooks": {"Stop": ["x"]}}, ": hooks.Stop[0]: not an object"),
        (one({"command": "x"}), ": hooks.PreToolUse[0].hooks[0].type: not text"),
        (one({"type": "command"}), ": hooks.PreToolUse[0].hooks[0]: a hook of kind"),
        (one(RUN | {"command": 5}), "hooks[0].command: not text"),
        (one(RUN | {"args": "a b"}), "hooks[0].args: not a list"),
        (one(RUN | {"args": [1]}), "hooks[0].args: not a list of texts"),
        (one(RUN | {"timeout": "5"}), "hooks[0].timeout: not a number"),
        (one(RUN | {"timeout": True}), "hooks[0].timeout: not a number"),
        (one(RUN | {"timeout": -1}), "hooks[0]: -1 is no time-out"),
        (one(RUN, matcher=5), "hooks.PreToolUse[0].matcher: not text"),
        (one(RUN, matcher="Edit("), "hooks[0]: the matcher 'Edit(' is no regular expression"),
        (one({"type": "http", "url": "x"}), "hooks[0]: 'x' is no http or https address"),
        (one({"type": "http", "url": "http://x", "headers": {"a": 1}}), "headers: not an object"),
    ],
)
def test_what_is_wrong_is_one_error_with_its_place(
    tmp_path: Path, settings: Any, place: str
) -> None:
    path = write(tmp_path, settings)
    with pytest.raises(InputError) as caught:
        read_hooks(path)
    assert caught.value.message.startswith(str(path)) and place in caught.value.message
    assert caught.value.message.count(str(path)) == 1


def test_files_that_can_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_hooks(tmp_path / "none.json")
    with pytest.raises(InputError, match="is a folder"):
        read_hooks(tmp_path)
    (tmp_path / "x").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="no JSON"):
        read_hooks(tmp_path / "x")
    (tmp_path / "x").write_bytes(b" " * (4 << 20) + b"{}")
    with pytest.raises(InputError, match="larger than 4 MB"):
        read_hooks(tmp_path / "x")
