"""What the tests of permissions share: a workspace, the notation of the table, a run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from skilleval.harness.permissions import (
    Answer,
    Call,
    Capability,
    Decision,
    HookVerdict,
    Mode,
    PermissionPolicy,
    decide,
)

PATH = "/usr/local/bin:/usr/bin:/bin"
ITEMS = {
    "Read": "file_path",
    "Write": "file_path",
    "Edit": "file_path",
    "Grep": "path",
    "Glob": "pattern",
    "WebFetch": "url",
    "Skill": "skill",
    "Agent": "subagent_type",
}


class World(NamedTuple):
    """A workspace, a folder outside, and an additional directory."""

    workspace: Path
    outside: Path
    more: Path

    def fill(self, text: str) -> str:
        """Names such as ``@ws`` as paths."""
        for name, path in zip(("@ws", "@out", "@more"), self, strict=True):
            text = text.replace(f"//{name}", f"/{path}").replace(name, str(path))
        return text

    def policy(self, mode: Mode = Mode.BYPASS, **more: Any) -> PermissionPolicy:
        given = {"home": "/home/nobody", "path": PATH, **more}
        return PermissionPolicy(
            mode=mode,
            workspace=str(self.workspace),
            additional_directories=(str(self.more),),
            **given,
        )


def make_world(root: Path) -> World:
    world = World(root / "ws", root / "out", root / "more")
    for name in ("src/app.py", "docs/readme.md", "secrets/key", ".env", ".git/config"):
        path = world.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n")
    for folder in (world.outside, world.more):
        folder.mkdir()
        (folder / "data").write_text("x\n")
    for name in (".git/hooks/pre-commit", ".claude/settings.json", ".bashrc", ".mcp.json"):
        path = world.workspace / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}\n")
    (world.workspace / "hooks").symlink_to(".git/hooks")
    (world.workspace / "out").symlink_to(world.outside)
    (world.workspace / "in").symlink_to("src")
    return world


class Asked:
    """A callback that notes what it was asked, and answers always the same."""

    def __init__(self, answer: Answer = Answer(False, "no")) -> None:  # noqa: B008 - immutable
        self.answer = answer
        self.reasons: list[str] = []

    async def __call__(self, call: Call, needs: Sequence[Capability], reason: str) -> Answer:
        self.reasons.append(reason)
        return self.answer


def call_of(text: str) -> Call:
    """A call in the notation of the table."""
    tool, _, rest = text.partition(" ")
    if tool == "$":
        return Call("Bash", {"command": rest})
    if not rest or "=" in rest.partition(" ")[0]:
        given = dict(pair.split("=", 1) for pair in rest.split())
        odd: dict[str, Any] = {"1": 1, "nul": "a\0b"}
        return Call(tool, {key: odd.get(value, value) for key, value in given.items()})
    return Call(tool, {ITEMS[tool]: rest})


def run(
    call: Call, policy: PermissionPolicy, hook: str = "", asked: Asked | None = None, **more: Any
) -> Decision:
    """A decision, with a hook that says something."""
    verdict = HookVerdict(hook, "", "guard") if hook else None  # type: ignore[arg-type]
    return asyncio.run(decide(call, policy, hooks=verdict, callback=asked, **more))


def bash(
    command: str, policy: PermissionPolicy, asked: Asked | None = None, **more: Any
) -> Decision:
    return run(Call("Bash", {"command": command}), policy, asked=asked, **more)


def make_tools(folder: Path, names: str) -> str:
    """A folder that holds links to some programs of this machine, and nothing else."""
    folder.mkdir()
    for name in names.split():
        for place in PATH.split(":"):
            if os.access(f"{place}/{name}", os.X_OK):
                (folder / name).symlink_to(f"{place}/{name}")
                break
    return str(folder)
