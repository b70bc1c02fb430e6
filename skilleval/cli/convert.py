"""``skilleval convert``"""

from __future__ import annotations

import os

import click

from skilleval.errors import InputError
from skilleval.files import write_atomically, write_new
from skilleval.terminal import escape, write_out

__all__ = ["command"]

_TARGETS = ("native", "skill-creator", "trigger", "grading", "benchmark")


@click.command("convert")
@click.argument("file", metavar="FILE")
@click.option(
    "--to", "target", type=click.Choice(_TARGETS), required=True, help="The format to write."
)
@click.option("--output", "-o", metavar="FILE", help="Where to.  [default: standard output]")
@click.option("--force", is_flag=True, help="Replace the output file where there is one.")
@click.option("--strict", is_flag=True, help="Write nothing where something would be lost.")
def command(file: str, target: str, output: str | None, force: bool, strict: bool) -> None:
    """Convert evaluation cases and results from one format into another.

    The format of FILE is found from its content; it may also be the folder of a case, or one with
    the grades of runs (eval-1/with_skill/run-1/grading.json). What the new format has no place
    for is named on standard error, as is what is odd about FILE.
    """
    from skilleval.evals import convert, dump, read_evaluations

    if output and not force and os.path.lexists(output):
        raise InputError(f"{output} is there already", remedy="Add --force to replace it.")
    contents = read_evaluations(file)
    for remark in contents.remarks:
        click.echo(escape(str(remark)), err=True)
    written = convert(contents, target)
    for lost in written.lost:
        click.echo(escape(f"lost: {target} has no place for {lost}"), err=True)
    if strict and written.lost:
        raise InputError(
            f"{file}: not everything can be written as {target}",
            remedy="Without --strict, the rest is written.",
        )
    data = dump(written.data)
    if output is None:
        write_out(data.decode())
        return
    try:
        (write_atomically if force else write_new)(output, data)
    except FileExistsError:
        raise InputError(
            f"{output} is there already", remedy="Add --force to replace it."
        ) from None
