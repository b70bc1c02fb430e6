"""How a lint report is shown, a module for each format; adding one touches nothing else."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Protocol

from skilleval.lint.engine import LintReport

__all__ = ["FORMATS", "Look", "render"]

FORMATS = ("text", "json", "sarif", "junit", "github", "markdown")


class Look(Protocol):
    """A format module's ``render``."""

    def __call__(self, report: LintReport, *, color: bool) -> str: ...


def render(name: str, report: LintReport, *, color: bool = False) -> str:
    """A report in one of the formats; ``color`` is for formats that people read."""
    module = importlib.import_module(f"{__name__}.{name}")
    look: Callable[..., str] = module.render
    return look(report, color=color)
