"""What the tests of the harness share."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.kit import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A workspace with a scripted model."""
    return World(tmp_path)
