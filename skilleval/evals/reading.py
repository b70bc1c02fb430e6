"""Reading an evaluation file: its bytes, its format, and what is in it.

The format is found from the content. Where a file is of none, the field that keeps it from
being of one is named; nothing in it is run, and its size and depth are bounded.
"""

from __future__ import annotations

import os

from skilleval.errors import InputError
from skilleval.evals import jsontree
from skilleval.evals.layout import is_layout, read_layout
from skilleval.evals.records import Suite
from skilleval.evals.registry import Contents, Format, Shape, formats
from skilleval.evals.values import Reading, Value, closest
from skilleval.skill import Document
from skilleval.skill.disk import NoFile, TooLarge, read
from skilleval.skill.yamltree import Mapping, Node, Scalar, Sequence, YamlProblem
from skilleval.skill.yamltree import parse as parse_yaml

__all__ = ["MAX_FILE", "find_format", "read_bytes", "read_evaluations", "read_suite"]

MAX_FILE = 4 * 1024 * 1024
_MAX_KEYS = 100
_ENOUGH = 3
"""A score from which a format counts as found."""


def read_evaluations(path: str) -> Contents:
    """Read a file of any format, the folder of a case, or that of a benchmark.

    Raises:
        InputError: it can't be read; the message has the line, and what to do.
    """
    if os.path.isdir(path) and is_layout(path):
        return read_layout(path)
    if os.path.isdir(path) or os.path.basename(path) == "prompt.md":
        from skilleval.evals.formats.plugin_eval import read_case_folder

        return read_case_folder(path)
    return read_bytes(path, load(path))


def read_suite(path: str) -> Suite:
    """Read a file of cases.

    Raises:
        InputError: it can't be read, or holds results.
    """
    contents = read_evaluations(path)
    if isinstance(contents, Suite):
        return contents
    kind = type(contents).__name__
    raise InputError(
        f"{path}: holds results ({kind}), not cases",
        remedy="Name a file of cases; `skilleval convert` reads results.",
    )


def load(path: str, limit: int = MAX_FILE) -> bytes:
    """The bytes of a file.

    Raises:
        InputError: it is not there, is no file, or is too large.
    """
    try:
        return read(path, limit, follow=True)
    except NoFile as error:
        raise InputError(f"{path}: {error.strerror}", remedy="Name a file.") from None
    except TooLarge as error:
        raise InputError(f"{path}: {error.strerror}", remedy="Split it.") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(
            f"{path}: can't be read: {reason}", remedy="Check the path and its permissions."
        ) from None


def read_bytes(path: str, data: bytes) -> Contents:
    """Read the bytes of a file; the path says where they are from.

    Raises:
        InputError: they are no evaluation file.
    """
    document = Document(os.path.basename(path), data)
    reading = Reading(path, document)
    if document.bad_byte is not None:
        at = len(data[: document.bad_byte].decode("utf-8", "replace"))
        raise reading.error("not UTF-8 from here on", at, "Save the file as UTF-8.")
    root = tree(reading)
    format = find_format(root, reading)
    return format.read(Value(root, "", reading), reading)


def tree(reading: Reading) -> Node:
    """The tree of a file: JSON where it looks so, else YAML.

    Raises:
        InputError: it is neither, or is blank.
    """
    text = reading.document.text
    ending = os.path.splitext(reading.path)[1].lower()
    is_json = ending == ".json" or (
        ending not in (".yaml", ".yml") and text.lstrip("\ufeff \t\r\n").startswith(("{", "["))
    )
    try:
        root = jsontree.parse_json(text) if is_json else parse_yaml(text, 0, jsontree.MAX_NODES)
    except YamlProblem as problem:
        name = "JSON" if is_json else "YAML"
        raise reading.error(
            f"no {name}: {problem.message}", problem.offset, f"Make it well-formed {name}."
        ) from None
    if root is None or (isinstance(root, Scalar) and root.kind == "null"):
        raise reading.error(
            "the file is empty", 0, "Write a case into it, or remove it; see docs/records.md."
        )
    return root


def find_format(root: Node, reading: Reading) -> Format:
    """The format of a tree.

    Raises:
        InputError: it is of none; where a field is misspelt, the message says which.
    """
    if isinstance(root, Scalar):
        raise reading.error(
            "a single value, not a list of cases", root.start, "See docs/records.md."
        )
    if isinstance(root, Sequence) and not root.items:
        return formats()["native"]
    best = _best(Shape(root))
    if best:
        return best
    words = sorted({word for format in formats().values() for word in format.words})
    wrong = {}
    for key in _keys(root):
        close = closest(key.value, words) if key.value not in words else None
        if close:
            wrong[key.value] = (close, key.start)
    renamed = _best(Shape(root, {name: close for name, (close, _) in wrong.items()}))
    if renamed:
        name, (close, start) = next((n, w) for n, w in wrong.items() if w[0] in renamed.words)
        raise reading.error(
            f"there is no field `{close}` here, but `{name}`",
            start,
            f"Rename `{name}` to `{close}` to make it a file of the format {renamed.name}.",
        )
    raise reading.error(_unknown(Shape(root)), root.start, "See docs/records.md for the formats.")


def _best(shape: Shape) -> Format | None:
    scored = [(format.score(shape), format) for format in formats().values()]
    best = max(scored, key=lambda pair: pair[0])
    return best[1] if best[0] >= _ENOUGH else None


def _unknown(shape: Shape) -> str:
    keys = sorted(shape.inside() if shape.is_list else shape.keys)[:8]
    shown = ", ".join(f"`{key[:40]}`" for key in keys)
    what = "list" if shape.is_list else "mapping"
    return f"of no known format: a {what} with the fields {shown}" if keys else (
        f"of no known format: a {what} without fields"
    )  # fmt: skip


def _keys(root: Node) -> list[Scalar]:
    """The field names of a file, and of the mappings in its lists."""
    found: list[Scalar] = []
    todo: list[tuple[Node, int]] = [(root, 0)]
    while todo and len(found) < _MAX_KEYS:
        node, depth = todo.pop(0)
        if isinstance(node, Mapping):
            pairs = node.pairs[:_MAX_KEYS]
            found += [key for key, _ in pairs if isinstance(key, Scalar)]
            if depth < 2:
                todo += [(value, depth + 1) for _, value in pairs]
        elif isinstance(node, Sequence) and depth < 3:
            todo += [(item, depth + 1) for item in node.items[:20]]
    return found
