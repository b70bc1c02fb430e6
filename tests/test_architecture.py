"""Rooms import downwards only, and starting up stays cheap."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PROJECT

ROOMS = ["cli", "harness", "evals", "models", "lint", "prompt", "trace", "skill"]
"""From top to bottom: a room imports from itself and from those below it."""
ANYWHERE = {
    "skilleval",
    "skilleval.errors",
    "skilleval.files",
    "skilleval.redaction",
    "skilleval.settings",
    "skilleval.terminal",
}
SOURCES = sorted((PROJECT / "skilleval").rglob("*.py"))


def imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return {name for name in found if name.split(".")[0] == "skilleval"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(PROJECT)))
def test_imports_go_down(path: Path) -> None:
    parts = path.relative_to(PROJECT / "skilleval").parts
    if len(parts) == 1:
        allowed = [] if parts[0] != "__main__.py" else ROOMS
    else:
        allowed = ROOMS[ROOMS.index(parts[0]) :]
    for name in imported(path) - ANYWHERE:
        assert name.split(".")[1] in allowed, f"{path.name} imports {name}"


def test_every_room_is_known() -> None:
    rooms = {p.name for p in (PROJECT / "skilleval").iterdir() if (p / "__init__.py").exists()}
    assert rooms == set(ROOMS)


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["lint", "--help"]])
def test_start_up_is_cheap(words: list[str]) -> None:
    code = (
        "import sys\nfrom skilleval.cli import run\n"
        f"assert run({words!r}) == 0\n"
        "heavy = {'anthropic', 'pandas', 'jinja2', 'pydantic', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_public_names_are_sorted_and_there() -> None:
    import importlib

    for path in SOURCES:
        parts = path.relative_to(PROJECT).with_suffix("").parts
        name = ".".join(parts).removesuffix(".__init__")
        if name.endswith("__main__"):
            continue
        module = importlib.import_module(name)
        public = getattr(module, "__all__", None)
        if public is not None:
            assert list(public) == sorted(public, key=ruff_order), name
            assert all(hasattr(module, each) for each in public), name


def ruff_order(name: str) -> tuple[int, str]:
    """SCREAMING names, then Classes, then the rest: the order that the formatter keeps."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)
