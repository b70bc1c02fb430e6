"""The folder of a benchmark: ``eval-N/<configuration>/run-K/grading.json``, as runs.

One dialect has no ``run-K`` folders: a configuration has one run then. What the runs add up
to is for others to work out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from skilleval.errors import InputError
from skilleval.evals.results import Benchmark, BenchmarkRun, Grading, RunResult
from skilleval.evals.values import Remark

__all__ = ["is_layout", "read_layout"]

_EVAL = re.compile(r"eval-(.{1,100})\Z")
_RUN = re.compile(r"run-([0-9]{1,9})\Z")
_NUMBER = re.compile("[0-9]{1,9}")
_GRADING = "grading.json"


class _Place(NamedTuple):
    eval: str
    configuration: str
    run: int
    path: str


def is_layout(folder: str) -> bool:
    """Whether a folder holds the grades of runs."""
    return next(_places(folder), None) is not None


def read_layout(folder: str) -> Benchmark:
    """Read the grades of all runs below a folder.

    Raises:
        InputError: one can't be read.
    """
    runs = []
    remarks: list[Remark] = []
    for place in _places(folder):
        grading = _grading(place.path)
        remarks += grading.remarks
        summary = grading.summary
        runs.append(
            BenchmarkRun(
                eval_id=int(place.eval) if re.fullmatch("[0-9]{1,9}", place.eval) else place.eval,
                configuration=place.configuration,
                run_number=place.run,
                result=RunResult(
                    pass_rate=summary.pass_rate if summary else None,
                    passed=summary.passed if summary else None,
                    failed=summary.failed if summary else None,
                    total=summary.total if summary else None,
                ),
                expectations=grading.expectations,
            )
        )
    return Benchmark(runs=tuple(runs), path=folder, remarks=tuple(remarks))


def _grading(path: str) -> Grading:
    from skilleval.evals.reading import load, read_bytes

    contents = read_bytes(path, load(path))
    if not isinstance(contents, Grading):
        raise InputError(f"{path}: holds no grades", remedy="Remove it, or correct it.")
    return contents


def _places(folder: str) -> Iterator[_Place]:
    for name in _folders(folder):
        match = _EVAL.match(name)
        for configuration in _folders(os.path.join(folder, name)) if match else ():
            inside = os.path.join(folder, name, configuration)
            direct = os.path.join(inside, _GRADING)
            if match and os.path.isfile(direct):
                yield _Place(match[1], configuration, 1, direct)
            for run in _folders(inside):
                number, path = _RUN.match(run), os.path.join(inside, run, _GRADING)
                if match and number and os.path.isfile(path):
                    yield _Place(match[1], configuration, int(number[1]), path)


def _folders(folder: str) -> list[str]:
    """The folders in a folder in their natural order; links are not followed."""
    try:
        with os.scandir(folder) as scan:
            names = [entry.name for entry in scan if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return sorted(names, key=_natural)


def _natural(name: str) -> tuple[int, str]:
    number = _NUMBER.search(name)
    return (int(number[0]) if number else 0, name)
