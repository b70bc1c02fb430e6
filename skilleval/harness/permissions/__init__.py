"""Whether a tool call of a model may be carried out, and who says so.

The six steps are in ``deciding``; what a call needs is worked out in ``needs``, for shell
commands from their parse (``parsing``, ``shell``, ``inside``); ``matching`` is about rules that
deny or ask, which fit unless it is certain that they do not, and ``covering`` about what
allows, which must be certain.
"""

from __future__ import annotations

from skilleval.harness.permissions.audit import Audit, audit_lines
from skilleval.harness.permissions.classifier import Classified, Classifier
from skilleval.harness.permissions.deciding import decide
from skilleval.harness.permissions.matching import fits, readable
from skilleval.harness.permissions.model import (
    Answer,
    Call,
    Callback,
    Capability,
    Decision,
    HookVerdict,
    Mode,
    Step,
)
from skilleval.harness.permissions.policy import NEEDS_A_PERSON, PROTECTED, PermissionPolicy
from skilleval.harness.permissions.rules import (
    PermissionSettings,
    Rule,
    Rules,
    read_permissions,
    visible_tools,
)
from skilleval.harness.permissions.session import Denials, Grants

__all__ = [
    "NEEDS_A_PERSON",
    "PROTECTED",
    "Answer",
    "Audit",
    "Call",
    "Callback",
    "Capability",
    "Classified",
    "Classifier",
    "Decision",
    "Denials",
    "Grants",
    "HookVerdict",
    "Mode",
    "PermissionPolicy",
    "PermissionSettings",
    "Rule",
    "Rules",
    "Step",
    "audit_lines",
    "decide",
    "fits",
    "read_permissions",
    "readable",
    "visible_tools",
]
