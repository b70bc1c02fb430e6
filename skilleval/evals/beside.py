"""Reading what lies beside an evaluation file: task files, rubrics, prompts.

Nothing outside the folder of the file is read, whatever a path or a link says.
"""

from __future__ import annotations

import os

from skilleval.errors import InputError
from skilleval.evals.shared import outside
from skilleval.evals.values import Reading, Value
from skilleval.skill import Document
from skilleval.skill.discovery import is_inside
from skilleval.skill.disk import read

__all__ = ["MAX_FILES", "MAX_TEXT", "matching", "open_beside", "text_beside"]

MAX_FILES = 1_000
MAX_TEXT = 1024 * 1024
_MAX_ENTRIES = 20_000


def text_beside(value: Value) -> str | None:
    """The text of the file that a value names; None where it names none, but is a text itself."""
    name = value.text()
    if "\n" in name or not name.endswith((".md", ".txt")) or outside(name):
        return None
    path = _inside(value.reading.path, name)
    if path is None:
        return None
    try:
        return read(path, MAX_TEXT).decode("utf-8-sig")
    except (OSError, ValueError):
        return None


def _inside(file: str, name: str) -> str | None:
    """The real path of a file below the folder of another, or None where it leads out."""
    folder = os.path.realpath(os.path.dirname(os.path.abspath(file)))
    path = os.path.realpath(os.path.join(folder, name))
    return path if is_inside(path, folder) and os.path.isfile(path) else None


def matching(value: Value) -> list[str]:
    """The files below the folder of an evaluation file that a pattern stands for.

    Raises:
        InputError: the pattern leads out, or stands for none or for too many.
    """
    pattern = value.text()
    wrong = outside(pattern)
    if wrong:
        raise value.fail(f"{pattern!r} {wrong}", "Name files below the folder of this one.")
    from skilleval.evals.globs import matches

    folder = os.path.dirname(os.path.abspath(value.reading.path))
    names = [name for name in _below(folder) if matches(pattern, name)]
    if not names:
        raise value.fail(
            f"no file matches {pattern!r}", "Correct the pattern; it begins at this file's folder."
        )
    if len(names) > MAX_FILES:
        raise value.fail(f"{pattern!r} stands for {len(names):,} files, over {MAX_FILES:,}")
    return [os.path.join(os.path.dirname(value.reading.path), name) for name in names]


def _below(folder: str) -> list[str]:
    names: list[str] = []
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        relative = os.path.relpath(here, folder).replace(os.sep, "/")
        prefix = "" if relative == "." else f"{relative}/"
        names += [prefix + name for name in sorted(files)]
        if len(names) > _MAX_ENTRIES:
            break
    return names


def open_beside(path: str, reading: Reading) -> Value:
    """The root of another file that belongs to one that is read.

    Raises:
        InputError: it can't be read, or is no JSON or YAML.
    """
    from skilleval.evals.reading import load, tree

    if os.path.islink(path):
        raise InputError(f"{path}: a link, which is not followed", remedy="Put the file there.")
    other = Reading(path, Document(os.path.basename(path), load(path)), reading.remarks)
    if other.document.bad_byte is not None:
        raise InputError(f"{path}: not UTF-8", remedy="Save the file as UTF-8.")
    return Value(tree(other), "", other)
