"""Models that need no key, no network and no weights: rules that answer like an endpoint.

None of them is a language model, and they say so. They make the way through a harness, an
evaluation or a client testable, and tell apart what the tested thing does from what a model
makes of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skilleval.errors import InputError

if TYPE_CHECKING:
    from skilleval.models.offline.model import OfflineModel
    from skilleval.models.offline.turns import Policy

__all__ = ["OFFLINE_MODELS", "open_offline", "open_policy"]

OFFLINE_MODELS = {
    "offline/literal": "loads the skill whose description fits the query and runs its shell blocks",
    "offline/eager": "the same, but loads a skill for a word in common",
    "offline/shy": "the same, but loads a skill only where nearly everything fits",
    "offline/script:FILE": "plays the turns of a YAML file, errors and broken streams included",
}
"""The offline models, each with a line about it."""

_SCRIPT = "offline/script"


def open_policy(name: str) -> Policy:
    """The policy of a name.

    Raises:
        InputError: there is none of that name, or its script can't be played.
    """
    from skilleval.models.offline.literal import EAGER, LITERAL, SHY

    for policy in (LITERAL, EAGER, SHY):
        if policy.name == name:
            return policy
    kind, colon, path = name.partition(":")
    if kind == _SCRIPT:
        if not colon or not path:
            raise InputError(f"{name} needs a file", remedy="Write offline/script:PATH.yaml.")
        from skilleval.models.offline.script import open_script

        return open_script(path)
    raise InputError(
        f"there is no model {name}", remedy=f"Offline models: {', '.join(OFFLINE_MODELS)}."
    )


def open_offline(name: str, *, context_window: int | None = 200_000) -> OfflineModel:
    """The model of a name, ready to answer.

    Args:
        name: one of ``OFFLINE_MODELS``.
        context_window: tokens that a request may have; None for what the model that a request
            names has, or 200,000.

    Raises:
        InputError: there is none of that name, or its script can't be played.
    """
    from skilleval.models.offline.model import OfflineModel

    return OfflineModel(open_policy(name), context_window=context_window)
