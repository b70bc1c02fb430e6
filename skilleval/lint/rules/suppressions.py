"""Rules about the comments that switch rules off; the engine reports them itself."""

from __future__ import annotations

from skilleval.lint.contract import SKILLEVAL
from skilleval.lint.model import Rule, notes, warnings
from skilleval.lint.registry import declare
from skilleval.lint.rules.files import GOOD

_TODO = GOOD + "\n<!-- skilleval: ignore todo-left{} -->\nTODO: write\n"

REASON = declare(
    Rule(
        "suppression-reason",
        "suppressions",
        "A rule that is switched off without a reason stays off for ever.",
        warnings(),
        (SKILLEVAL,),
        bad=_TODO.format(""),
        good=_TODO.format(" -- shown to the model on purpose"),
    )
)
UNKNOWN = declare(
    Rule(
        "suppression-unknown",
        "suppressions",
        "A comment with a misspelt rule switches nothing off.",
        warnings(),
        (SKILLEVAL,),
        bad=_TODO.format("s -- on purpose"),
        good=_TODO.format(" -- shown to the model on purpose"),
    )
)
UNUSED = declare(
    Rule(
        "suppression-unused",
        "suppressions",
        "A comment that switches nothing off any more hides the next mistake.",
        notes(),
        (SKILLEVAL,),
        bad=GOOD + "\n<!-- skilleval: ignore todo-left -- on purpose -->\nDone.\n",
        good=_TODO.format(" -- shown to the model on purpose"),
    )
)
