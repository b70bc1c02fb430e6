"""Finding suites, and loading them so that they can be run.

A file that can be read may still name a skill or a file that is not there; here that is
an error, with its line. Loading runs nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from skilleval.errors import InputError, NothingFound
from skilleval.evals.reading import read_suite
from skilleval.evals.records import InputFile, Record, Suite
from skilleval.evals.values import Remark
from skilleval.skill import read_frontmatter
from skilleval.skill.discovery import discover, is_inside
from skilleval.skill.disk import read_file
from skilleval.skill.reading import MAX_SKILL_FILE

__all__ = ["Loaded", "find_suites", "load_suite", "load_suites", "locate"]

_NAMES = (
    "evals.json", "eval.yaml", "eval.yml", "trigger_eval.json", "trigger-eval.json",
    "trigger_evals.json", "trigger-evals.json", "trigger_tests.yaml", "shared-benchmark.json",
)  # fmt: skip
_ENDINGS = (".json", ".yaml", ".yml")
_RESULTS = ("grading.json", "benchmark.json")
_CASES = ("prompt.md", "case.yaml", "case.yml")


def find_suites(paths: Iterable[str] = ()) -> list[str]:
    """The files of cases below some paths, each once.

    A file is taken as it is. In a folder they are looked for in ``evals/``, and in ``evals/`` and
    beside SKILL.md in each skill below it. Without a path, the working directory is meant.

    Raises:
        InputError: a path does not exist.
        NothingFound: there is no file of cases.
    """
    named = list(paths)
    found: list[str] = []
    for path in named or ["."]:
        if not os.path.lexists(path):
            raise InputError(
                f"no such file or folder: {path}",
                remedy="Name a file of cases, a skill, or a folder with an evals folder in it.",
            )
        found += _below(path) if os.path.isdir(path) else [path]
    unique = {os.path.realpath(path): path for path in reversed(found)}
    suites = list(reversed(unique.values()))
    if not suites:
        raise NothingFound(
            f"0 files of cases found in {', '.join(named) or '.'}",
            remedy="Put cases into evals/evals.json of a skill, or name a file.",
        )
    return suites


def _below(folder: str) -> list[str]:
    own = _folder(folder) if os.path.basename(os.path.abspath(folder)) == "evals" else []
    found = own or _folder(os.path.join(folder, "evals"))
    found += [path for name in _NAMES if os.path.isfile(path := _joined(folder, name))]
    if not found and any(os.path.isfile(os.path.join(folder, name)) for name in _CASES):
        return [folder]
    try:
        skills = discover([folder]).skills
    except NothingFound:
        return found
    for skill in skills:
        relative = os.path.relpath(skill.folder, os.path.abspath(folder))
        place = folder if relative == "." else _joined(folder, relative)
        found += _folder(os.path.join(place, "evals"))
        found += [path for name in _NAMES if os.path.isfile(path := _joined(place, name))]
    return found


def _joined(folder: str, name: str) -> str:
    return name if folder == "." else os.path.join(folder, name)


def _folder(folder: str) -> list[str]:
    """The files of cases in an ``evals`` folder, and the folders that are a case."""
    folder = os.path.normpath(folder)
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    found = []
    for name in names:
        path = os.path.join(folder, name)
        if os.path.isdir(path):
            if any(os.path.isfile(os.path.join(path, case)) for case in _CASES):
                found.append(path)
        elif name.lower().endswith(_ENDINGS) and name not in _RESULTS and name[0] != ".":
            found.append(path)
    return found


@dataclass
class Loaded:
    """Some suites, and the errors of those that could not be loaded."""

    suites: list[Suite] = field(default_factory=list)
    errors: list[InputError] = field(default_factory=list)

    @property
    def records(self) -> list[Record]:
        """The cases of all suites."""
        return [record for suite in self.suites for record in suite.records]

    @property
    def remarks(self) -> list[Remark]:
        """What is odd about them."""
        return [remark for suite in self.suites for remark in suite.remarks]


def load_suites(
    paths: Sequence[str],
    *,
    skills: Collection[str] | None = None,
    keep_going: bool = False,
    loaded: Callable[[Suite], None] | None = None,
) -> Loaded:
    """Load the suites at some paths.

    Args:
        paths: what `find_suites` found.
        skills: names of the skills at hand; None where names are not to be looked at.
        keep_going: collect errors, and load the others.
        loaded: called with each suite.

    Raises:
        InputError: one can't be loaded, and ``keep_going`` is off.
        NothingFound: there is no case in any of them.
    """
    result = Loaded()
    for path in paths:
        try:
            suite = load_suite(path, skills=skills)
        except InputError as error:
            if not keep_going:
                raise
            result.errors.append(error)
            continue
        result.suites.append(suite)
        if loaded:
            loaded(suite)
    if not result.records:
        why = f": {result.errors[0].message}" if result.errors else ""
        raise NothingFound(
            f"0 cases found in {len(paths)} files{why}",
            remedy=result.errors[0].remedy if result.errors else "Write a case into one of them.",
        )
    return result


def load_suite(path: str, *, skills: Collection[str] | None = None) -> Suite:
    """Read a file of cases, and see that the skills and files that it names are there.

    A case that names no skill is about the one whose folder the file lies in.

    Raises:
        InputError: it can't be read, has no case, or names what is not there.
    """
    suite = read_suite(path)
    if not suite.records:
        raise InputError(
            f"{path}:1: there is no case in this file", remedy="Write a case into it, or remove it."
        )
    folders = _folders(path)
    own = _skill_name(folders[0]) if len(folders) > 1 else None
    records = []
    for record in suite.records:
        if record.skills is None and own is not None:
            record = replace(record, skills=(own,))
        for name in _names(record) if skills is not None else ():
            _check_skill(name, record, skills or ())
        for file in record.files:
            if file.source is not None and locate(file, suite) is None:
                raise _missing(record, file, folders)
        records.append(record)
    return replace(suite, records=tuple(records))


def _skill_name(folder: str) -> str:
    """What the skill in a folder calls itself."""
    data = read_file(os.path.join(folder, "SKILL.md"), MAX_SKILL_FILE) or b""
    front = read_frontmatter(data.decode("utf-8", "replace"))
    return front.string("name") or os.path.basename(folder)


def _names(record: Record) -> list[str]:
    expected = [record.expected_skill] if record.expected_skill else []
    named = [*(record.skills or ()), *expected, *record.acceptable_skills, *record.distractors]
    return list(dict.fromkeys(named))


def _where(record: Record) -> str:
    origin = record.origin
    return f"{origin.path}:{origin.line}" if origin else "a case"


def _check_skill(name: str, record: Record, skills: Collection[str]) -> None:
    if name in skills or name.rpartition("/")[2] in skills or name.rpartition(":")[2] in skills:
        return
    import difflib

    close = difflib.get_close_matches(name[:80], list(skills), n=1, cutoff=0.6)
    known = ", ".join(sorted(skills)[:8]) or "none"
    raise InputError(
        f"{_where(record)}: there is no skill `{name}`",
        remedy=f"Did you mean `{close[0]}`?" if close else f"The skills at hand are: {known}.",
    )


def _missing(record: Record, file: InputFile, folders: Sequence[str]) -> InputError:
    return InputError(
        f"{_where(record)}: the file {file.source} is not there",
        remedy=f"It was looked for below {' and '.join(folders)}. Add it, or correct the name.",
    )


def _folders(path: str) -> list[str]:
    """Where the files of a suite are looked for: the skill that it lies in, its own folder."""
    absolute = os.path.abspath(path)
    own = absolute if os.path.isdir(absolute) else os.path.dirname(absolute)
    folder = own
    for _ in range(4):
        if os.path.isfile(os.path.join(folder, "SKILL.md")):
            return [folder, own]
        folder = os.path.dirname(folder)
    return [own]


def locate(file: InputFile, suite: Suite) -> str | None:
    """The real path of an input file; None where it is not there, or lies outside.

    It is looked for below the folder of the skill that the suite lies in, then below the
    suite's own. A link that leads out of these is not followed.
    """
    if file.source is None:
        return None
    for folder in _folders(suite.path):
        real = os.path.realpath(folder)
        path = os.path.realpath(os.path.join(real, file.source))
        if is_inside(path, real) and os.path.exists(path):
            return path
    return None
