"""Sessions for tests: a scripted model behind the whole harness."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from skilleval.harness.loop import State, work
from skilleval.harness.opening import Setup, open_session
from skilleval.harness.permissions import Mode
from skilleval.harness.resume import resume
from skilleval.harness.session import Purse
from skilleval.models.opening import Models
from skilleval.models.settings import ModelSettings
from skilleval.skill import Skill, discover
from skilleval.trace.reader import read_events

Turn = dict[str, Any]


def say(text: str, **more: Any) -> Turn:
    """A turn that says something and calls nothing."""
    return {"text": text, **more}


def call(name: str, **input: Any) -> Turn:
    """A turn that calls one tool."""
    return {"tools": [{"name": name, "input": input}]}


def calls(*pairs: tuple[str, dict[str, Any]]) -> Turn:
    """A turn that calls several tools."""
    return {"tools": [{"name": name, "input": input} for name, input in pairs]}


class World:
    """A workspace, a model that plays turns, and the trace of what came of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = folder / "work"
        self.workspace.mkdir()
        self.trace = folder / "trace.jsonl"
        self.last = State()
        self.purse = Purse()

    def script(self, turns: Sequence[Turn] | dict[str, Any]) -> str:
        """The name of a model that plays turns."""
        path = self.folder / f"script{len(list(self.folder.glob('script*')))}.yaml"
        data = turns if isinstance(turns, dict) else {"turns": list(turns)}
        path.write_text(json.dumps(data), encoding="utf-8")
        return f"offline/script:{path}"

    def settings(self, **parts: Any) -> str:
        """A settings file."""
        path = self.folder / "settings.json"
        path.write_text(json.dumps(parts), encoding="utf-8")
        return str(path)

    def run(
        self,
        turns: Sequence[Turn] | dict[str, Any],
        prompt: str = "Do it.",
        *,
        resuming: bool = False,
        opening: dict[str, Any] | None = None,
        **setup: Any,
    ) -> list[dict[str, Any]]:
        """Work on a prompt; the events of the trace. ``last`` holds the state.

        ``known`` holds the settings of models; ``model`` takes the place of the script.
        """
        known = setup.pop("known", {})
        model = setup.get("model") or self.script(turns)
        skills = setup.pop("skills", None)
        found = [Skill(s) for s in discover([str(skills)]).skills] if skills else []
        what = Setup(
            workspace=str(self.workspace),
            skills=found,
            **{"model": model, "mode": Mode.BYPASS, "sandbox": "auto", **setup},
        )
        asyncio.run(self._run(what, prompt, resuming, opening or {}, known))
        return list(read_events(str(self.trace)))

    async def _run(
        self,
        setup: Setup,
        prompt: str,
        resuming: bool,
        opening: dict[str, Any],
        known: dict[str, ModelSettings] | None = None,
    ) -> None:
        before = resume(str(self.trace)) if resuming else None
        state = State(before.history) if before else None
        async with (
            Models(known or {}) as models,
            open_session(setup, models, str(self.trace), resumed=before, **opening) as session,
        ):
            self.purse = session.purse
            async for item in work(session, prompt, state):
                if isinstance(item, State):
                    self.last = item


def of(events: Sequence[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """The events of a type."""
    return [event for event in events if event["type"] == kind]


def results(events: Sequence[dict[str, Any]]) -> list[str]:
    """What tools gave back."""
    return [str(event["content"]) for event in of(events, "result")]
