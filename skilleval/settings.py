"""Finding a table of settings, in ``skilleval.toml`` or ``pyproject.toml``.

``[lint]`` in the one is ``[tool.skilleval.lint]`` in the other. The nearest file with such a
table holds, from the working directory up to the top of its repository.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from typing import Any

from skilleval.errors import SettingsError

__all__ = ["TABLES", "find_table"]

TABLES = ("lint", "models", "harness")
"""The tables of skilleval.toml."""
_TOOL = ("tool", "skilleval")
_LARGEST = 1024 * 1024
"""Bytes of a settings file."""


def find_table(name: str, folder: str = ".") -> tuple[str, dict[str, Any]] | None:
    """The file that holds a table for a folder, and the table; None where there is none.

    Raises:
        SettingsError: a settings file is broken.
    """
    here = os.path.abspath(folder)
    while True:
        for file_name, keys in (("skilleval.toml", (name,)), ("pyproject.toml", (*_TOOL, name))):
            path = os.path.join(here, file_name)
            if os.path.isfile(path):
                table = _table(path, keys)
                if table is not None:
                    return path, table
        parent = os.path.dirname(here)
        if parent == here or os.path.exists(os.path.join(here, ".git")):
            return None
        here = parent


def _table(path: str, keys: Sequence[str]) -> dict[str, Any] | None:
    own = len(keys) == 1
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
        if not own and b"skilleval" not in data:
            return None
        if len(data) > _LARGEST:
            raise SettingsError(f"can't read {path}: it is larger than 1 MiB")
        table: Any = tomllib.loads(data.decode("utf-8"))
    except RecursionError:
        raise SettingsError(f"can't read {path}: it nests too deeply") from None
    except (OSError, ValueError) as error:
        raise SettingsError(f"can't read {path}: {error}") from None
    strangers = [name for name in table if own and name not in TABLES]
    if strangers:
        raise SettingsError(
            f"{path}: there is no table [{strangers[0]}]",
            remedy=f"The tables are: {', '.join(TABLES)}.",
        )
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    if table is None:
        return None
    if not isinstance(table, dict):
        raise SettingsError(f"{path}: [{'.'.join(keys)}] is not a table")
    return table
