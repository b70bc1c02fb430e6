"""Deciding checks: from the evidence of a finished trial, before any judge is asked.

There are three answers, never two: what can't be measured has not failed. Everything is
bounded, since the files of a workspace are a model's and patterns an evaluation file's.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from skilleval.evals import checks as kinds
from skilleval.evals import contents, regexes
from skilleval.evals.checks import Check
from skilleval.evals.evidence import CheckResult, Evidence, Reader, ToolCall
from skilleval.evals.globs import matches, text_matches

__all__ = ["MAX_BYTES", "evaluate", "evaluate_all"]

MAX_BYTES = 1_000_000
"""Bytes of a file that is searched."""
MAX_PARSED = 8_000_000
"""Bytes of a file that is parsed or compared."""

C = TypeVar("C", bound=Check)
Measure = Callable[[Any, Evidence], Awaitable[CheckResult]]
_MEASURES: dict[type[Check], Measure] = {}


class _Unknown(Exception):
    """It could not be measured; the text says why."""


def _measures(
    cls: type[C],
) -> Callable[
    [Callable[[C, Evidence], Awaitable[CheckResult]]],
    Callable[[C, Evidence], Awaitable[CheckResult]],
]:
    """Say which kind of check a function decides."""

    def decorate(
        measure: Callable[[C, Evidence], Awaitable[CheckResult]],
    ) -> Callable[[C, Evidence], Awaitable[CheckResult]]:
        _MEASURES[cls] = measure
        return measure

    return decorate


async def evaluate(check: Check, evidence: Evidence) -> CheckResult:
    """Decide a check. It never raises for what is in the check or in the evidence.

    A negation turns what was measured around. What could not be measured stays so, and a
    question about what is in a file fails where there is no such file, negated or not.
    """
    wrong = check.problem()
    if wrong:
        return CheckResult(None, wrong)
    try:
        result = await _MEASURES[type(check)](check, evidence)
    except _Missing as missing:
        return CheckResult(False, str(missing))
    except (_Unknown, regexes.Unsearchable) as unknown:
        return CheckResult(None, str(unknown))
    except (OSError, TimeoutError) as error:
        return CheckResult(None, f"could not be looked at: {error}")
    if check.negate and result.passed is not None:
        return result._replace(passed=not result.passed)
    return result


async def evaluate_all(checks: tuple[Check, ...], evidence: Evidence) -> list[CheckResult]:
    """Decide some checks, one after the other."""
    return [await evaluate(check, evidence) for check in checks]


class _Missing(Exception):
    """A file is not there whose content was asked for."""


def _known(value: Any, what: str) -> Any:
    if value is None:
        raise _Unknown(f"{what} is not known")
    return value


def _clean(path: str) -> str:
    return path.replace("\\", "/").removeprefix("./")


def _chosen(check: Any, evidence: Evidence) -> dict[str, Reader]:
    """The files that the path of a check stands for."""
    files = _known(evidence.files, "the workspace")
    path = _clean(check.path)
    if path in files:
        return {path: files[path]}
    return {name: files[name] for name in sorted(files) if matches(path, name)}


def _read(path: str, reader: Reader, limit: int) -> bytes:
    data = reader(limit + 1)
    if len(data) > limit:
        raise _Unknown(f"{path} is larger than {limit:,} bytes")
    return data


def _one(check: Any, evidence: Evidence) -> tuple[str, bytes]:
    """The one file that the path of a check stands for, and its bytes."""
    chosen = _chosen(check, evidence)
    if not chosen:
        raise _Missing(f"there is no {check.path}")
    if len(chosen) > 1:
        raise _Unknown(f"{check.path} stands for {len(chosen)} files: {', '.join(chosen)}"[:300])
    path, reader = next(iter(chosen.items()))
    return path, _read(path, reader, MAX_PARSED)


async def _found(check: Any, texts: list[str]) -> list[bool]:
    """Whether the pattern or the text of a check is in each of some texts."""
    ignore = getattr(check, "ignore_case", False)
    if check.pattern:
        return await regexes.search(check.pattern, texts, ignore_case=ignore)
    wanted = check.contains.casefold() if ignore else check.contains
    return [wanted in (text.casefold() if ignore else text) for text in texts]


def _wanted(check: Any) -> str:
    text = check.pattern or check.contains
    return f"{'/' if check.pattern else ''}{text[:80]}{'/' if check.pattern else ''}"


@_measures(kinds.FileExists)
async def _file_exists(check: kinds.FileExists, evidence: Evidence) -> CheckResult:
    chosen = list(_chosen(check, evidence))
    if not chosen:
        return CheckResult(False, f"there is no {check.path}")
    more = f" and {len(chosen) - 1} more" if len(chosen) > 1 else ""
    return CheckResult(True, f"there is {chosen[0]}{more}", f"file:{chosen[0]}")


@_measures(kinds.FileMatches)
async def _file_matches(check: kinds.FileMatches, evidence: Evidence) -> CheckResult:
    chosen = _chosen(check, evidence)
    if not chosen:
        raise _Missing(f"there is no {check.path}")
    texts = [
        _read(path, reader, MAX_BYTES).decode("utf-8", "replace") for path, reader in chosen.items()
    ]
    for path, found in zip(chosen, await _found(check, texts), strict=True):
        if found:
            return CheckResult(True, f"{path} has {_wanted(check)}", f"file:{path}")
    first = next(iter(chosen))
    return CheckResult(False, f"{check.path} has no {_wanted(check)}", f"file:{first}")


@_measures(kinds.FileParses)
async def _file_parses(check: kinds.FileParses, evidence: Evidence) -> CheckResult:
    path, data = _one(check, evidence)
    try:
        contents.parse(data, check.as_format)
    except contents.Malformed as error:
        return CheckResult(False, f"{path} is no {check.as_format}: {error}", f"file:{path}")
    return CheckResult(True, f"{path} is {check.as_format}", f"file:{path}")


@_measures(kinds.JsonEquals)
async def _json_equals(check: kinds.JsonEquals, evidence: Evidence) -> CheckResult:
    from skilleval.evals import jsonpath

    path, data = _one(check, evidence)
    try:
        whole = contents.parse(data, "json")
        found = jsonpath.find(check.at, whole)
    except contents.Malformed as error:
        return CheckResult(False, f"{path} is no JSON: {error}", f"file:{path}")
    except ValueError as error:
        raise _Unknown(str(error)) from None
    definite = jsonpath.is_definite(check.at)
    if definite and not found:
        return CheckResult(False, f"there is nothing at {check.at}", f"file:{path}")
    value = found[0] if definite else found
    shown = json.dumps(value, ensure_ascii=False)[:120]
    return CheckResult(
        contents.same(value, check.value), f"{check.at} of {path} is {shown}", f"file:{path}"
    )


@_measures(kinds.TableEquals)
async def _table_equals(check: kinds.TableEquals, evidence: Evidence) -> CheckResult:
    path, data = _one(check, evidence)
    delimiter = check.delimiter or ("\t" if path.lower().endswith((".tsv", ".tab")) else ",")
    try:
        rows = contents.table(data, delimiter)
    except contents.Malformed as error:
        return CheckResult(False, f"{path} is no table: {error}", f"file:{path}")
    different = contents.difference(
        rows, check.rows, unordered=check.unordered, tolerance=check.tolerance
    )
    reason = f"{path}: {different}" if different else f"{path} holds the {len(rows):,} rows"
    return CheckResult(not different, reason, f"file:{path}")


@_measures(kinds.FileUnchanged)
async def _file_unchanged(check: kinds.FileUnchanged, evidence: Evidence) -> CheckResult:
    inputs = _known(evidence.inputs, "the input files")
    path = _clean(check.path)
    if path not in inputs:
        raise _Unknown(f"{path} is no input file")
    before = _read(path, inputs[path], MAX_PARSED)
    name, after = _one(check, evidence)
    said = "is as it was" if before == after else "was changed"
    return CheckResult(before == after, f"{name} {said}", f"file:{name}")


@_measures(kinds.OutputMatches)
async def _output_matches(check: kinds.OutputMatches, evidence: Evidence) -> CheckResult:
    output: str = _known(evidence.output, "the answer")
    found = (await _found(check, [output]))[0]
    return CheckResult(found, f"the answer has {'' if found else 'no '}{_wanted(check)}", "output")


@_measures(kinds.CommandExits)
async def _command_exits(check: kinds.CommandExits, evidence: Evidence) -> CheckResult:
    if evidence.run is None:
        raise _Unknown("there is nothing to run commands with")
    ended = await evidence.run(check.command)
    if ended.code != check.code:
        last = ended.output.strip()[-200:]
        return CheckResult(False, f"it ended with {ended.code}: {last}", "command")
    if check.pattern or check.contains:
        found = (await _found(check, [ended.output[-regexes.MAX_TEXT :]]))[0]
        said = "" if found else "no "
        reason = f"it ended with {ended.code}, and its output has {said}{_wanted(check)}"
        return CheckResult(found, reason, "command")
    return CheckResult(True, f"it ended with {ended.code}", "command")


def _same_tool(wanted: str, name: str) -> bool:
    return text_matches(wanted.casefold(), name.casefold())


async def _arguments_match(
    patterns: Mapping[str, str], calls: list[tuple[int, ToolCall]]
) -> list[tuple[int, ToolCall]]:
    for name, pattern in patterns.items():
        calls = [(number, call) for number, call in calls if name in call.input]
        texts = [_as_text(call.input[name]) for _, call in calls]
        found = await regexes.search(pattern, texts)
        calls = [call for call, fits in zip(calls, found, strict=True) if fits]
    return calls


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


@_measures(kinds.ToolUsed)
async def _tool_used(check: kinds.ToolUsed, evidence: Evidence) -> CheckResult:
    tools = _known(evidence.tools, "which tools were called")
    calls = [(n, call) for n, call in enumerate(tools) if _same_tool(check.tool, call.name)]
    calls = await _arguments_match(check.arguments, calls)
    reason = f"{check.tool} was called {len(calls)} times"
    if check.arguments:
        reason += " with these arguments"
    where = f"tool:{calls[0][0]}" if calls else ""
    return CheckResult(_between(len(calls), check.min, check.max), reason, where)


def _between(count: int, least: int, most: int | None) -> bool:
    return count >= least and (most is None or count <= most)


@_measures(kinds.ToolOrder)
async def _tool_order(check: kinds.ToolOrder, evidence: Evidence) -> CheckResult:
    tools = _known(evidence.tools, "which tools were called")
    place = 0
    where = ""
    for number, call in enumerate(tools):
        if place < len(check.tools) and _same_tool(check.tools[place], call.name):
            place += 1
            where = f"tool:{number}"
    if place == len(check.tools):
        return CheckResult(True, f"{', '.join(check.tools)} came in this order", where)
    before = f" after {check.tools[place - 1]}" if place else ""
    return CheckResult(False, f"{check.tools[place]} was not called{before}", where)


@_measures(kinds.SkillActivated)
async def _skill_activated(check: kinds.SkillActivated, evidence: Evidence) -> CheckResult:
    skills = _known(evidence.skills, "which skills were loaded")
    loaded = [name for name in skills if _same_skill(check.skill, name)]
    others = f"; loaded were {', '.join(skills)}"[:200] if skills else "; none was"
    reason = f"{check.skill} was loaded {len(loaded)} times{'' if loaded else others}"
    return CheckResult(_between(len(loaded), check.min, check.max), reason, "activation")


def _same_skill(wanted: str, name: str) -> bool:
    """Whether a name is that of a skill; one without its plugin's name stands for both."""
    return text_matches(wanted, name) or (
        ":" not in wanted and text_matches(wanted, name.rpartition(":")[2])
    )


@_measures(kinds.ReferenceRead)
async def _reference_read(check: kinds.ReferenceRead, evidence: Evidence) -> CheckResult:
    wanted = _clean(check.path)
    for path in _known(evidence.references, "which files were read"):
        clean = path.replace("\\", "/")
        if clean == wanted or clean.endswith(f"/{wanted}"):
            return CheckResult(True, f"{path} was read", f"reference:{path}")
    return CheckResult(False, f"{check.path} was not read")


@_measures(kinds.NoDenial)
async def _no_denial(check: kinds.NoDenial, evidence: Evidence) -> CheckResult:
    denials = _known(evidence.denials, "what was denied")
    return CheckResult(denials == 0, f"{denials} tool calls were denied", "permissions")


@_measures(kinds.CostBelow)
async def _cost_below(check: kinds.CostBelow, evidence: Evidence) -> CheckResult:
    dollars = _known(evidence.dollars, "the cost")
    return CheckResult(dollars < check.dollars, f"it cost ${dollars:.4f}", "cost")


@_measures(kinds.TurnsBelow)
async def _turns_below(check: kinds.TurnsBelow, evidence: Evidence) -> CheckResult:
    turns = _known(evidence.turns, "the number of turns")
    return CheckResult(turns < check.turns, f"it took {turns} turns", "turns")
