"""Where rules are declared and found.

A rule is a function in one of the modules of ``skilleval.lint.rules``, under ``@rule`` or
``@catalog_rule``; adding one touches that module and nothing else. The ids are stable: people
write them into settings.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache

from skilleval.lint.model import CatalogCheck, Example, Levels, Rule, SkillCheck

__all__ = ["all_rules", "catalog_rule", "declare", "rule", "rules_by_id"]

_RULES: dict[str, Rule] = {}


def declare(rule: Rule) -> Rule:
    """Add a rule; its id must be new."""
    if rule.id in _RULES:
        raise ValueError(f"two rules with the id {rule.id}")
    _RULES[rule.id] = rule
    return rule


def rule(
    id: str,
    group: str,
    *,
    why: str,
    levels: Levels,
    source: str | tuple[str, ...],
    bad: Example,
    good: Example,
) -> Callable[[SkillCheck], SkillCheck]:
    """Declare a check of one skill.

    Args:
        id: stable, in kebab-case.
        group: selects its rules together in settings.
        why: the reason, in a line.
        levels: how bad it is, by target.
        source: who says so; where sources contradict each other, both.
        bad: a skill that it finds something in.
        good: a skill that it finds nothing in.
    """
    sources = (source,) if isinstance(source, str) else source

    def decorate(check: SkillCheck) -> SkillCheck:
        declare(Rule(id, group, why, levels, sources, bad, good, check=check))
        return check

    return decorate


def catalog_rule(
    id: str,
    group: str,
    *,
    why: str,
    levels: Levels,
    source: str | tuple[str, ...],
    bad: Example,
    good: Example,
) -> Callable[[CatalogCheck], CatalogCheck]:
    """Declare a check across skills; the arguments are those of `rule`."""
    sources = (source,) if isinstance(source, str) else source

    def decorate(check: CatalogCheck) -> CatalogCheck:
        declare(Rule(id, group, why, levels, sources, bad, good, check_catalog=check))
        return check

    return decorate


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, in the order of the modules and of the functions in them."""
    from skilleval.lint import rules

    for module in sorted(m.name for m in pkgutil.iter_modules(rules.__path__)):
        importlib.import_module(f"{rules.__name__}.{module}")
    return tuple(_RULES.values())


@cache
def rules_by_id() -> dict[str, Rule]:
    """Every rule by its id."""
    return {rule.id: rule for rule in all_rules()}
