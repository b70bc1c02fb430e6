"""What the tests of permissions share."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.permissions.kit import World, make_world


@pytest.fixture
def place(tmp_path: Path) -> World:
    """A workspace with a few files, and folders beside it."""
    return make_world(tmp_path)


@pytest.fixture(scope="session")
def shared_place(tmp_path_factory: pytest.TempPathFactory) -> World:
    """One that no test changes."""
    return make_world(tmp_path_factory.mktemp("permissions"))
