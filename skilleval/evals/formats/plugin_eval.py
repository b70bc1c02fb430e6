"""``claude plugin eval``: a folder for each case, with ``prompt.md``, ``case.yaml`` or both.

Graders stand in case.yaml or in ``graders/<name>.md``. The JSON that the command writes holds
the cases, too, and is read as well; what became of them is in ``extra``.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from skilleval.errors import InputError
from skilleval.evals.beside import MAX_FILES, MAX_TEXT, open_beside
from skilleval.evals.checks import Check, FileExists, OutputMatches, ToolOrder, ToolUsed
from skilleval.evals.records import Behaviour, Limits, Record, Suite
from skilleval.evals.registry import Shape, reader
from skilleval.evals.shared import finish, read_files, usable
from skilleval.evals.values import Fields, Reading, Value
from skilleval.skill import Document

__all__ = ["read", "read_case_folder", "read_result"]

FORMAT = "plugin-eval"
_CASE = ("case.yaml", "case.yml")
Found = list[Check | Behaviour]


def _score(shape: Shape) -> int:
    if "execution" in shape.keys and not shape.is_list:
        return 6
    return 4 if {"prompt", "graders"} <= shape.keys else 0


@reader(
    FORMAT,
    11,
    "`claude plugin eval`: a folder for each case",
    words="execution graders prompt",
    score=_score,
)
def read(root: Value, reading: Reading) -> Suite:
    """Read a case.yaml, with what lies beside it."""
    folder = os.path.dirname(reading.path)
    case, files = _case(root, folder, reading)
    return finish(reading, FORMAT, [(case, root)], files)


def _text(path: str, reading: Reading) -> str | None:
    """A text file of a case; None where there is none."""
    from skilleval.evals.reading import load

    if not os.path.lexists(path):
        return None
    if os.path.islink(path):
        raise InputError(f"{path}: a link, which is not followed", remedy="Put the file there.")
    try:
        return load(path, MAX_TEXT).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8", remedy="Save the file as UTF-8.") from None


def _case(value: Value, folder: str, reading: Reading) -> tuple[Record, list[str]]:
    fields = Fields(value)
    execution = fields.fields("execution")
    inner = execution or fields
    turns = inner.take("max_turns", "maxTurns")
    seconds = inner.number("timeout_seconds", "timeoutSeconds", "timeout")
    prompt, files = inner.take("prompt"), []
    text = prompt.text() if prompt else None
    if text is None:
        beside = os.path.join(folder, "prompt.md")
        text = _text(beside, reading)
        files = [beside] if text is not None else []
    if text is None or not text.strip():
        raise value.fail("no prompt: neither `execution.prompt` nor prompt.md", "Add one.")
    found, kept = _graders(fields.items("graders"))
    more, names = _grader_files(folder, reading)
    extra: dict[str, Any] = {"graders": kept} if kept else {}
    if execution is not None:
        left = execution.rest("model", "permission_mode")
        extra |= {"execution": left} if left else {}
    made = Record(
        query=text,
        files=read_files(fields.take("files")),
        id=os.path.basename(os.path.abspath(folder or ".")),
        title=fields.text("name"),
        limits=Limits(turns=turns.whole() if turns else None, seconds=seconds),
        tags=fields.texts("tags"),
        note=fields.text("description"),
        extra={**extra, **fields.rest("scaffold", "threshold", "runs")},
    )
    return _with_graders(made, [*found, *more]), [*files, *names]


def _with_graders(record: Record, found: Found) -> Record:
    return replace(
        record,
        expected_behavior=tuple(each for each in found if isinstance(each, Behaviour)),
        checks=tuple(each for each in found if isinstance(each, Check)),
    )


def _grader_files(folder: str, reading: Reading) -> tuple[Found, list[str]]:
    """The graders that are files: what a judge is to look for."""
    place = os.path.join(folder, "graders")
    try:
        names = sorted(name for name in os.listdir(place) if name.endswith(".md"))
    except OSError:
        return [], []
    paths = [os.path.join(place, name) for name in names[:MAX_FILES]]
    texts = [_text(path, reading) or "" for path in paths]
    found: Found = [
        Behaviour(text.strip(), id=os.path.splitext(os.path.basename(path))[0])
        for path, text in zip(paths, texts, strict=True)
        if text.strip()
    ]
    return found, paths


def _graders(values: list[Value]) -> tuple[Found, list[Any]]:
    found: Found = []
    kept = []
    for value in values:
        made = _grader(value)
        if made is None:
            kept.append(value.plain())
            value.reading.remark(
                "unmeasurable", f"{value.path}: this grader is kept, not run", value.start
            )
        else:
            found.append(usable(made, value) if isinstance(made, Check) else made)
    return found, kept


def _grader(value: Value) -> Check | Behaviour | None:
    fields = Fields(value)
    sort = fields.need("type").text()
    name, number = fields.text("name"), fields.number("weight")
    config = fields.fields("config")
    inner = config or fields
    made: Check | Behaviour | None = None
    if sort == "llm" and inner.has("criteria"):
        made = Behaviour(inner.need("criteria").text())
    elif sort == "regex":
        made = _regex(inner)
    elif sort == "tool_used":
        least, most = inner.take("min"), inner.take("max")
        made = ToolUsed(
            tool=inner.need("tool").text(),
            min=least.whole() if least else 1,
            max=most.whole() if most else None,
        )
    elif sort == "tool_order" and inner.has("tools", "order"):
        made = ToolOrder(tools=inner.texts("tools", "order"))
    elif sort == "file_exists":
        made = FileExists(path=inner.need("path").text())
    if made is None:
        return None
    left = {} if config is None else config.rest("focus", "flags", "target", "match")
    left |= fields.rest("graderMarkdown", "focus", "flags", "target", "match")
    return replace(made, id=name, weight=1 if number is None else number, extra=left)


def _regex(config: Fields) -> Check | None:
    """A pattern on the last message; on anything else there is no check for it."""
    target, match = config.take("target"), config.take("match")
    flags = config.take("flags")
    word = match.text().replace("-", "_") if match else "contains"
    if (target and target.text() not in ("last_message", "output")) or word not in (
        "contains", "not_contains",
    ):  # fmt: skip
        return None
    letters = flags.text() if flags else ""
    check = OutputMatches(
        pattern=config.need("pattern").text(),
        ignore_case="i" in letters,
        negate=word == "not_contains",
    )
    config.left |= {"flags": flags} if flags and set(letters) - {"i"} else {}
    return check


def read_case_folder(path: str) -> Suite:
    """Read the folder of a case, its prompt.md, or a folder of such folders.

    Raises:
        InputError: there is no case in it, or one can't be read.
    """
    folder = os.path.dirname(path) or "." if os.path.basename(path) == "prompt.md" else path
    folders = [folder] if _is_case(folder) else _case_folders(folder)
    if not folders:
        raise InputError(
            f"{path}: a folder without a case",
            remedy="A case is a folder with a prompt.md or a case.yaml; or name a file.",
        )
    whole = Reading(path, Document(os.path.basename(path), b""))
    cases: list[tuple[Record, Value]] = []
    files: list[str] = []
    for each in folders:
        file = next((f for name in _CASE if os.path.isfile(f := os.path.join(each, name))), None)
        value = open_beside(file, whole) if file else _bare(each, whole)
        case, beside = _case(value, each, whole)
        cases.append((case, value))
        files += [value.reading.path, *beside] if file else beside
    suite = finish(whole, FORMAT, cases)
    return replace(suite, files=tuple(dict.fromkeys(files)))


def _is_case(folder: str) -> bool:
    return any(os.path.isfile(os.path.join(folder, name)) for name in ("prompt.md", *_CASE))


def _case_folders(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    inside = [os.path.join(folder, name) for name in names if not name.startswith(".")]
    found = [path for path in inside if not os.path.islink(path) and _is_case(path)]
    return found[:MAX_FILES]


def _bare(folder: str, whole: Reading) -> Value:
    """An empty mapping in the place of the case.yaml that a case does without."""
    from skilleval.skill.yamltree import Mapping

    path = os.path.join(folder, "prompt.md")
    reading = Reading(path, Document("prompt.md", b""), whole.remarks)
    return Value(Mapping(0, 0, [], False), "", reading)


@reader(
    "plugin-eval-result",
    11,
    "what `claude plugin eval` writes",
    words="schemaVersion claudeVersion suite cases arms",
    score=lambda s: 9 if {"schemaVersion", "suite", "cases"} <= s.keys else 0,
)
def read_result(root: Value, reading: Reading) -> Suite:
    """Read the result of a run as its cases."""
    fields = Fields(root)
    cases = []
    for item in fields.items("cases"):
        inner = Fields(item)
        turns = inner.take("maxTurns")
        found, kept = _graders(inner.items("graders"))
        extra: dict[str, Any] = {"graders": kept} if kept else {}
        record = Record(
            query=inner.need("promptMarkdown", "prompt").text(),
            title=inner.text("name"),
            limits=Limits(turns.whole() if turns else None, inner.number("timeoutSeconds")),
            extra={**extra, **inner.rest("dir", "source", "runsPerCase", "arms", "aggregates")},
        )
        cases.append((_with_graders(record, found), item))
    extra = fields.rest(*fields.left)
    return finish(reading, "plugin-eval-result", cases, extra=extra)
