"""Shared by the tests: skills on disk, the corpus and the cases where they are at hand."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]
SHARED = PROJECT.parent / "shared"

GOOD = """---
name: pdf-tools
description: Extracts text and tables from PDF files. Use when the user asks about a PDF.
---

# PDF tools

Run `pdftotext` on the file.
"""

Write = Callable[[Mapping[str, str | bytes]], Path]


def write_files(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder; a text that starts with ``-> `` becomes a symbolic link."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str) and content.startswith("-> "):
            path.symlink_to(content[3:])
        elif isinstance(content, str):
            path.write_bytes(content.encode("utf-8", "surrogateescape"))
        else:
            path.write_bytes(content)
    return root


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write files below an empty working directory."""
    monkeypatch.chdir(tmp_path)
    return lambda files: write_files(tmp_path, files)


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The public skills that lie beside the checkout on some machines."""
    folder = SHARED / "corpus"
    if not folder.is_dir():
        pytest.skip("the corpus of public skills is not here")
    return folder


@pytest.fixture(scope="session")
def cases() -> Path:
    """The odd skill folders that lie beside the checkout on some machines."""
    folder = SHARED / "cases"
    if not folder.is_dir():
        pytest.skip("the cases are not here")
    return folder


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    os.environ.setdefault("COLUMNS", "100")
