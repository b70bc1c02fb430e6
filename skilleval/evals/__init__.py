"""Evaluation records and suites: readers and writers of every format, and checks."""

from skilleval.evals.checks import KINDS, Check
from skilleval.evals.evidence import CheckResult, Evidence, Finished, ToolCall
from skilleval.evals.formats.native import record_as_plain
from skilleval.evals.measuring import evaluate, evaluate_all
from skilleval.evals.reading import read_evaluations, read_suite
from skilleval.evals.records import (
    ARMS,
    Behaviour,
    InputFile,
    Limits,
    Origin,
    Record,
    Suite,
)
from skilleval.evals.results import Benchmark, Grading, TriggerReport
from skilleval.evals.suites import Loaded, find_suites, load_suite, load_suites, locate
from skilleval.evals.values import Remark
from skilleval.evals.writing import convert, dump

__all__ = [
    "ARMS",
    "KINDS",
    "Behaviour",
    "Benchmark",
    "Check",
    "CheckResult",
    "Evidence",
    "Finished",
    "Grading",
    "InputFile",
    "Limits",
    "Loaded",
    "Origin",
    "Record",
    "Remark",
    "Suite",
    "ToolCall",
    "TriggerReport",
    "convert",
    "dump",
    "evaluate",
    "evaluate_all",
    "find_suites",
    "load_suite",
    "load_suites",
    "locate",
    "read_evaluations",
    "read_suite",
    "record_as_plain",
]
