"""``skilleval lint``

What only some options need is imported where they are used: most runs are short.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

import click

from skilleval.errors import ExitCode, InputError
from skilleval.lint.engine import Linter, LintReport, Options
from skilleval.lint.formats import FORMATS, render
from skilleval.lint.model import ALL, Severity, Target
from skilleval.lint.settings import FAIL_ON, LintSettings, read_settings
from skilleval.lint.wording import plural
from skilleval.skill import Discovery, discover
from skilleval.skill.ignore import IgnoreFile
from skilleval.terminal import escape, write_out

__all__ = ["command"]


@click.command("lint")
@click.argument("paths", nargs=-1, metavar="[PATHS]...")
@click.option(
    "--target",
    "targets",
    multiple=True,
    type=click.Choice([*(target.value for target in Target), "all"]),
    help="Whose contract counts; may be repeated. [default: all]",
)
@click.option("--select", multiple=True, metavar="RULES", help="Run only these rules or groups.")
@click.option("--ignore", multiple=True, metavar="RULES", help="Leave out these rules or groups.")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Do not search these paths.")
@click.option("--format", "format_", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option("--fix", is_flag=True, help="Settle what can be settled safely.")
@click.option("--unsafe", is_flag=True, help="With --fix or --diff: also what may change meaning.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing.")
@click.option("--baseline", metavar="FILE", help="Findings in FILE are known and do not count.")
@click.option("--write-baseline", is_flag=True, help="Write all findings to the baseline.")
@click.option("--changed-since", metavar="REV", help="Only skills changed since a git revision.")
@click.option(
    "--fail-on",
    type=click.Choice(FAIL_ON),
    help="Least severity that ends with exit code 1. [default: error]",
)
@click.option(
    "--no-suppressions",
    is_flag=True,
    help="Comments in skills switch nothing off (for skills of others).",
)
def command(
    paths: tuple[str, ...],
    targets: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    exclude: tuple[str, ...],
    format_: str,
    fix: bool,
    unsafe: bool,
    diff: bool,
    baseline: str | None,
    write_baseline: bool,
    changed_since: str | None,
    fail_on: str | None,
    no_suppressions: bool,
) -> int:
    """Check skill folders against the SKILL.md contract, for each of its readers.

    PATHS are skills, folders of skills, plugins, marketplaces, or files of a skill; the
    default is the working directory. Exit codes: 0 clean, 1 findings at or above --fail-on,
    2 could not run.
    """
    if unsafe and not (fix or diff):
        raise click.UsageError("--unsafe goes with --fix or --diff")
    if fix and diff:
        raise click.UsageError("--fix and --diff exclude each other: look first, then fix")
    if write_baseline and changed_since:
        raise click.UsageError("--write-baseline needs all findings: leave out --changed-since")
    settings = read_settings()
    chosen = () if "all" in targets else tuple(Target(name) for name in targets)
    options = settings.options(
        ALL if "all" in targets else chosen, _split(select), _split(ignore), not no_suppressions
    )
    ignores = _ignores(settings, exclude)
    if diff or fix:
        discovery = discover(paths or ["."], ignores)
        shown = _changed(discovery, changed_since)
        if diff:
            return _show_diff(discovery, shown, options, unsafe)
        _fix(discovery, shown, options, unsafe)
    gc.disable()  # a short life: what is found is needed to the end
    with Linter(options) as linter:
        discovery = discover(paths or ["."], ignores, linter.add)
        report = linter.finish(discovery)
    shown = _changed(discovery, changed_since)
    if shown is not None:
        report = _only(report, shown)
    baseline = baseline or _beside(settings)
    if write_baseline:
        return _write_baseline(report, baseline)
    if baseline:
        from skilleval.lint.baseline import apply_baseline

        apply_baseline(report, baseline)
    write_out(render(format_, report, color=_color(format_)))
    return _exit_code(report, fail_on or settings.fail_on)


def _split(names: Sequence[str]) -> list[str]:
    """``--select a,b --select c`` as a list."""
    parts = [part.strip() for name in names for part in name.split(",")]
    if not all(parts):
        raise click.UsageError("an empty name of a rule")
    return parts


def _ignores(settings: LintSettings, exclude: Sequence[str]) -> list[IgnoreFile]:
    """The patterns of the settings, from their folder, and those of the command line, from here."""
    found = []
    if settings.exclude and settings.folder:
        found.append(IgnoreFile(settings.folder, settings.exclude))
    if exclude:
        found.append(IgnoreFile(os.getcwd(), exclude))
    return found


def _beside(settings: LintSettings) -> str | None:
    if settings.baseline and settings.folder:
        return os.path.join(settings.folder, settings.baseline)
    return None


def _changed(discovery: Discovery, revision: str | None) -> set[str] | None:
    """The folders of the skills in which something changed; None for all."""
    if revision is None:
        return None
    from skilleval.lint.changed import changed_since

    changed: set[str] = set()
    for root in {found.root for found in discovery.skills}:
        changed |= changed_since(revision, root)
    return {
        found.folder
        for found in discovery.skills
        if any(path.startswith(found.real + os.sep) for path in changed)
    }


def _only(report: LintReport, folders: set[str]) -> LintReport:
    """A report without the skills outside some folders."""
    total = len(report.skills)
    report.skills = [skill for skill in report.skills if skill.folder in folders]
    kept = {skill.path for skill in report.skills}
    report.findings = [finding for finding in report.findings if finding.skill in kept]
    report.suppressed = sum(skill.suppressed for skill in report.skills)
    click.echo(f"{len(report.skills):,} of {plural(total, 'skill')} changed", err=True)
    return report


def _show_diff(discovery: Discovery, shown: set[str] | None, options: Options, unsafe: bool) -> int:
    from skilleval.lint.fix import fix_skill

    count = 0
    for found in discovery.skills:
        if shown is None or found.folder in shown:
            fixes = fix_skill(found, options, unsafe)
            count += len(fixes.titles)
            write_out("".join(_for_reader(line) for line in fixes.diff()))
    click.echo(f"{plural(count, 'fix', 'fixes')} to make" if count else "nothing to fix", err=True)
    return ExitCode.FAILED if count else ExitCode.OK


def _for_reader(line: str) -> str:
    """A line of a difference: as it is for a program, harmless for a terminal."""
    if sys.stdout is None or not sys.stdout.isatty():
        return line
    return escape(line.removesuffix("\n")) + "\n"


def _fix(discovery: Discovery, shown: set[str] | None, options: Options, unsafe: bool) -> None:
    from skilleval.lint.fix import fix_skill, write_fixes

    count = skills = 0
    for found in discovery.skills:
        if shown is None or found.folder in shown:
            fixes = fix_skill(found, options, unsafe)
            if fixes:
                write_fixes(fixes)
                count += len(fixes.titles)
                skills += 1
    click.echo(f"fixed: {plural(count, 'finding')} in {plural(skills, 'skill')}", err=True)


def _write_baseline(report: LintReport, path: str | None) -> int:
    if not path:
        raise click.UsageError("--write-baseline needs --baseline FILE")
    from skilleval.lint.baseline import write_baseline

    try:
        count = write_baseline(report, path)
    except OSError as error:
        raise InputError(f"can't write the baseline {path}: {error.strerror}") from None
    click.echo(f"wrote {plural(count, 'finding')} to {path}", err=True)
    return ExitCode.OK


def _color(format_: str) -> bool:
    terminal = sys.stdout is not None and sys.stdout.isatty()
    return format_ == "text" and terminal and "NO_COLOR" not in os.environ


def _exit_code(report: LintReport, fail_on: str) -> int:
    if fail_on == "never":
        return ExitCode.OK
    least = Severity(fail_on).rank
    failed = any(finding.severity.rank >= least for finding in report.findings)
    return ExitCode.FAILED if failed else ExitCode.OK
