"""Nothing gets out: every attempt fails in every sandbox that has a way to stop it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Iterator

import pytest
from harness.sandbox.attempts import ATTEMPTS, PRELUDE, Attempt
from harness.sandbox.kit import CONFINED, need, settled
from harness.sandbox.world import Scene, World

pytestmark = pytest.mark.xdist_group("escapes")  # each mechanism tries them all once

MISTAKES = ("SyntaxError", "NameError", "TypeError", "AttributeError", "KeyError")
"""An attempt with one of these was none."""
Outcomes = dict[str, tuple[bool, str]]
"""For each attempt whether it got through, and what it wrote."""
_AT_ONCE = 4


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Outcomes]]:
    """Every attempt in every sandbox, each run when it is first asked for."""
    with contextlib.ExitStack() as closing, pytest.MonkeyPatch.context() as patch:
        yield _Outcomes(tmp_path_factory, closing, patch)


class _Outcomes(dict[str, Outcomes]):
    def __init__(
        self,
        folders: pytest.TempPathFactory,
        closing: contextlib.ExitStack,
        patch: pytest.MonkeyPatch,
    ) -> None:
        self.folders, self.closing, self.patch = folders, closing, patch

    def __missing__(self, kind: str) -> Outcomes:
        world = World(kind, self.folders.mktemp(kind), self.closing)
        self.patch.setenv("OUTER_SECRET", world.secret_text)
        self.patch.chdir(world.secret.parent)
        self[kind] = asyncio.run(_try_all(world))
        return self[kind]


async def _try_all(world: World) -> Outcomes:
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(attempt: Attempt) -> tuple[bool, str]:
        async with gate:
            return await _try(attempt, world)

    wanted = [a for a in ATTEMPTS if world.kind in CONFINED or _controls(a)]
    results = await asyncio.gather(*map(one, wanted))
    return {attempt.name: result for attempt, result in zip(wanted, results, strict=True)}


async def _try(attempt: Attempt, world: World) -> tuple[bool, str]:
    scene = Scene(world)
    try:
        sandbox = scene.sandbox
        done = await sandbox.run(
            [sys.executable, "-I", "-S", "-c", PRELUDE + attempt.code],
            cwd=sandbox.policy.mounts[0].inside,
            timeout=20,
            environment=scene.environment(),
        )
        said = done.output.decode("utf-8", "replace")
        assert not done.timed_out, said
        if not attempt.seen:
            return "ESCAPED" in said.split(), said
        patience = 10 if world.kind == "none" or attempt.cannot else 0
        return await settled(lambda: scene.changed(attempt.seen), patience), said
    finally:
        scene.close()


def _controls(attempt: Attempt) -> bool:
    return attempt.control == "yes" or (attempt.control == "root" and os.geteuid() == 0)


NAMES = {attempt.name: attempt for attempt in ATTEMPTS}


def test_there_are_many_and_no_two_are_called_the_same() -> None:
    assert len(NAMES) == len(ATTEMPTS) >= 40


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", CONFINED)
def test_attempt_fails(kind: str, name: str, outcomes: dict[str, Outcomes]) -> None:
    need(kind)
    through, said = outcomes[kind][name]
    stopped = not (kind == "landlock" and NAMES[name].cannot)
    assert through is not stopped, said
    assert not any(mistake in said for mistake in MISTAKES), said


@pytest.mark.parametrize("name", [attempt.name for attempt in ATTEMPTS if _controls(attempt)])
def test_attempt_gets_through_without_a_sandbox(name: str, outcomes: dict[str, Outcomes]) -> None:
    """Otherwise its failure would say nothing."""
    through, said = outcomes["none"][name]
    if not through and NAMES[name].control == "root":
        pytest.skip("root is not allowed to do this here")
    assert through, said
