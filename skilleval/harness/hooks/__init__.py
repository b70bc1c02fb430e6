"""Hooks: what a user's own programs, addresses, functions and prompts say about a session."""

from __future__ import annotations

from skilleval.harness.hooks.contract import EVENTS
from skilleval.harness.hooks.events import Contract, HookEvent
from skilleval.harness.hooks.hook import Hook
from skilleval.harness.hooks.hooks import Hooks, RuleMatches, SessionFacts
from skilleval.harness.hooks.merge import HookOutcome, Verdict
from skilleval.harness.hooks.settings import read_hooks

__all__ = [
    "EVENTS",
    "Contract",
    "Hook",
    "HookEvent",
    "HookOutcome",
    "Hooks",
    "RuleMatches",
    "SessionFacts",
    "Verdict",
    "read_hooks",
]
