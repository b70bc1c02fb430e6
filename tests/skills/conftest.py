"""Run the scripts of the sample skills as a user would: as processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SKILLS = Path(__file__).resolve().parents[2] / "skills"

Completed = subprocess.CompletedProcess[str]
Run = Callable[..., Completed]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that runs `skill/scripts/script` in an empty folder."""

    def start(script: str, *arguments: str | Path) -> Completed:
        skill, name = script.split("/")
        done = subprocess.run(
            [sys.executable, str(SKILLS / skill / "scripts" / name), *map(str, arguments)],
            capture_output=True,
            encoding="utf-8",
            cwd=tmp_path,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "error"},
            timeout=30,
            check=False,
        )
        assert "Traceback (most recent call last)" not in done.stderr, done.stderr
        return done

    return start


@pytest.fixture
def fixture_file(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that copies `skill/file` into the empty folder."""

    def copy(name: str) -> Path:
        skill, file = name.split("/")
        return Path(shutil.copy(SKILLS / skill / "evals" / "files" / file, tmp_path))

    return copy
