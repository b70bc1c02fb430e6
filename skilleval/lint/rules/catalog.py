"""Skills next to each other: the same name, nearly the same description, no room in a listing."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from skilleval.lint.contract import CLAUDE_CODE, PRACTICE, SKILLEVAL, SPEC
from skilleval.lint.model import (
    CatalogProblem,
    Levels,
    SkillReport,
    Target,
    notes,
    warnings,
)
from skilleval.lint.registry import catalog_rule
from skilleval.lint.rules.files import GOOD
from skilleval.lint.wording import listing, plural, shorten
from skilleval.prompt.listing import Line, budget, without_description

_OTHER = GOOD.replace("pdf-tools", "pdf-forms").replace("text and tables", "form fields")
_SIMILAR = 0.8
"""Share of common words from which two descriptions compete."""


def _groups(reports: Iterable[SkillReport], key: str) -> Iterator[list[SkillReport]]:
    by_key: dict[object, list[SkillReport]] = defaultdict(list)
    for report in reports:
        value = getattr(report, key)
        if value and report.readable:
            by_key[value].append(report)
    return (group for group in by_key.values() if len(group) > 1)


def _others(report: SkillReport, group: list[SkillReport]) -> tuple[list[SkillReport], Levels]:
    """The others of a group: those visible together with it first, and how bad that makes it."""
    beside = [o for o in group if o is not report and o.catalog == report.catalog]
    if beside:
        return beside, warnings()
    return [o for o in group if o is not report], notes()


@catalog_rule(
    "copied-skill",
    "catalog",
    why="Two copies compete for the same requests, and drift apart with the next change.",
    levels=warnings(),
    source=SKILLEVAL,
    bad={"pdf-tools/SKILL.md": GOOD, "pdf-kit/SKILL.md": GOOD},
    good={"pdf-tools/SKILL.md": GOOD, "pdf-forms/SKILL.md": _OTHER},
)
def copied_skill(reports: list[SkillReport]) -> Iterator[CatalogProblem]:
    """The same SKILL.md, byte for byte; a note where the two are not visible together."""
    for group in _groups(reports, "digest"):
        for report in group:
            others, levels = _others(report, group)
            yield CatalogProblem(
                report,
                f"a copy of {listing([o.path for o in others], 2)}: keep one",
                report.name_at,
                levels,
            )


@catalog_rule(
    "duplicate-name",
    "catalog",
    why="Of two skills with one name, a model can call only one.",
    levels=warnings(),
    source=(SPEC, CLAUDE_CODE),
    bad={"pdf-tools/SKILL.md": GOOD, "pdf-kit/SKILL.md": GOOD + "\nMore.\n"},
    good={"pdf-tools/SKILL.md": GOOD, "pdf-forms/SKILL.md": _OTHER},
)
def duplicate_name(reports: list[SkillReport]) -> Iterator[CatalogProblem]:
    """The same name in one catalog (copies are reported as such)."""
    for group in _groups(reports, "name"):
        for report in group:
            others = [
                o
                for o in group
                if o is not report and o.catalog == report.catalog and o.digest != report.digest
            ]
            if others:
                yield CatalogProblem(
                    report,
                    f"the name {shorten(report.name)} is also that of "
                    f"{listing([o.path for o in others], 2)}",
                    report.name_at,
                )


_WORD = re.compile(r"\w+")
_STOP = frozenset(
    "a an and are as at be by for from in is it of on or that the this to use when with".split()
)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower())) - _STOP


@catalog_rule(
    "similar-description",
    "catalog",
    why="Skills with nearly the same description compete: the model picks one or the other by "
    "chance.",
    levels=warnings(),
    source=PRACTICE,
    bad={
        "pdf-tools/SKILL.md": GOOD,
        "pdf-kit/SKILL.md": GOOD.replace("pdf-tools", "pdf-kit") + "\nMore.\n",
    },
    good={"pdf-tools/SKILL.md": GOOD, "pdf-forms/SKILL.md": _OTHER.replace("Use", "Fills. Use")},
)
def similar_description(reports: list[SkillReport]) -> Iterator[CatalogProblem]:
    """The same or nearly the same description in one catalog (copies are reported as such)."""
    catalogs: dict[str, list[SkillReport]] = defaultdict(list)
    for report in reports:
        if report.readable and report.description:
            catalogs[report.catalog].append(report)
    for members in catalogs.values():
        closest: dict[int, tuple[float, SkillReport]] = {}
        for i, j, share in similar_pairs([_words(m.description or "") for m in members]):
            if members[i].digest == members[j].digest:
                continue
            for one, two in ((i, j), (j, i)):
                if share > closest.get(one, (0.0, members[one]))[0]:
                    closest[one] = (share, members[two])
        for index, (share, other) in sorted(closest.items()):
            report = members[index]
            how = "the same" if report.description == other.description else "nearly the same"
            yield CatalogProblem(
                report,
                f"{how} description as {other.path} ({share:.0%} of the words in common): say what "
                "sets them apart",
                report.description_at,
            )


def similar_pairs(
    sets: list[frozenset[str]], threshold: float = _SIMILAR
) -> Iterator[tuple[int, int, float]]:
    """Pairs of word sets whose Jaccard similarity reaches a threshold.

    Prefix filtering (Chaudhuri, Ganti, Kaushik 2006; Bayardo, Ma, Srikant 2007): ordered from
    the rarest word on, two such sets must share one of their first words, so only those are
    indexed.
    """
    frequency = Counter(word for words in sets for word in words)
    ordered = [sorted(words, key=lambda w: (frequency[w], w)) for words in sets]
    index: dict[str, list[int]] = defaultdict(list)
    for i in sorted(range(len(sets)), key=lambda k: len(sets[k])):
        words = ordered[i]
        if len(words) < 4:
            continue  # too few to tell chance from copy
        prefix = words[: len(words) - int(threshold * len(words) + 0.999_999) + 1]
        for j in {j for word in prefix for j in index[word]}:
            common = len(sets[i] & sets[j])
            share = common / (len(sets[i]) + len(sets[j]) - common)
            if share >= threshold:
                yield (min(i, j), max(i, j), share)
        for word in prefix:
            index[word].append(i)


_BUDGETS = ((budget(200_000), "200k"), (budget(1_000_000, 3), "1M"))


@catalog_rule(
    "listing-overflow",
    "catalog",
    why="Claude Code gives the listing one per cent of the context window; skills that do not fit "
    "are listed by their bare name, and a model can't know what they are for.",
    levels=warnings(Target.CLAUDE_CODE),
    source=CLAUDE_CODE,
    bad={
        f"skill-{n}/SKILL.md": GOOD.replace("pdf-tools", f"skill-{n}").replace(
            "PDF files", " ".join(f"thing{n}x{i}" for i in range(60))
        )
        for n in range(20)
    },
    good=GOOD,
)
def listing_overflow(reports: list[SkillReport]) -> Iterator[CatalogProblem]:
    """Skills of one catalog that lose their description on a 200k or a 1M model."""
    catalogs: dict[str, list[SkillReport]] = defaultdict(list)
    for report in reports:
        if report.listed:
            catalogs[report.catalog].append(report)
    for members in catalogs.values():
        members.sort(key=lambda member: member.listed or Line("", ""))
        lines = [member.listed for member in members if member.listed]
        for characters, label in _BUDGETS:
            lost = {id(line) for line in without_description(lines, characters)}
            if not lost:
                continue
            names = [line.name for line in lines if id(line) in lost]
            first = next(m for m, line in zip(members, lines, strict=True) if id(line) in lost)
            yield CatalogProblem(
                first,
                f"{plural(len(names), 'skill')} of {len(lines):,} in {first.catalog} "
                f"lose{'s' if len(names) == 1 else ''} the description on a {label} model "
                f"({characters:,} characters for all): {listing(names, 200)}",
                first.description_at,
            )
