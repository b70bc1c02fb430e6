"""Shared by the tests: skills on disk, the corpus and the cases where they are at hand."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
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


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "broken_requests: sends requests on purpose that the API would refuse"
    )


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No colours, no keys and no endpoint from outside; nothing hidden by another test."""
    for name in list(os.environ):
        if name in ("NO_COLOR", "FORCE_COLOR") or name.startswith("ANTHROPIC_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", f"{os.sep}nowhere")
    os.environ.setdefault("COLUMNS", "100")
    if redaction := sys.modules.get("skilleval.redaction"):
        monkeypatch.setattr(redaction, "_hidden", set())


@pytest.fixture(autouse=True)
def _valid_requests(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Check every request to a model against the SDK's own types.

    ``@pytest.mark.broken_requests`` is the way out. Where no test module and no earlier test
    has imported the models, there is nothing to watch, and nothing is imported.
    """
    if "skilleval.models.endpoint" not in sys.modules or request.node.get_closest_marker(
        "broken_requests"
    ):
        yield
        return
    from models.valid_requests import watch

    wrong = watch(monkeypatch)
    yield
    assert not wrong, "requests that the API would refuse:\n" + "\n".join(wrong)
