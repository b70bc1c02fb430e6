"""Fixtures of the tests of tools."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.tools.kit import make_context

from skilleval.harness.tools import ToolContext


@pytest.fixture
def context(tmp_path: Path) -> ToolContext:
    """A session with an empty workspace."""
    return make_context(tmp_path)


@pytest.fixture
def work(context: ToolContext) -> Path:
    """Its workspace."""
    return Path(context.workspace)
