"""The six steps that decide on a call: hooks, deny rules, ask rules, mode, allow rules, callback.

In ``auto`` mode a classifier stands where the callback would be asked because nothing has
decided; where a rule or a hook wants a person, the callback is asked in every mode but
``dontAsk``, which asks nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from skilleval.errors import InputError
from skilleval.harness.permissions.classifier import Classified, Classifier
from skilleval.harness.permissions.covering import Cover, cover
from skilleval.harness.permissions.matching import Fit, first_fit
from skilleval.harness.permissions.model import (
    Answer,
    Call,
    Callback,
    Decision,
    HookVerdict,
    Mode,
    Step,
)
from skilleval.harness.permissions.mounts import mounted
from skilleval.harness.permissions.needs import Needs, needs_of
from skilleval.harness.permissions.policy import PermissionPolicy
from skilleval.harness.permissions.readonly import changes_nothing
from skilleval.harness.permissions.rules import WRITING
from skilleval.harness.permissions.session import Grants

__all__ = ["decide"]


async def decide(
    call: Call,
    policy: PermissionPolicy,
    *,
    hooks: Awaitable[HookVerdict | None] | HookVerdict | None = None,
    callback: Callback | None = None,
    classifier: Classifier | None = None,
    grants: Grants | None = None,
) -> Decision:
    """Whether a call may be carried out.

    Args:
        hooks: what the hooks say, or will say.
        callback: asked where nothing else decides; without it such calls are denied.
        classifier: for the mode ``auto``.
        grants: rules granted in this session; answers of the callback can add to them.
    """
    pipeline = _Pipeline(call, policy, callback, classifier, grants)
    early = pipeline.start_early()
    try:
        verdict = await _heard(hooks)
        if verdict.updated_input is not None:
            await _cancel(early)
            early = None
            call = call._replace(input=verdict.updated_input)
            pipeline = _Pipeline(call, policy, callback, classifier, grants)
        return await pipeline.run(verdict, early)
    finally:
        await _cancel(early)


async def _heard(hooks: Awaitable[HookVerdict | None] | HookVerdict | None) -> HookVerdict:
    """What the hooks say; a hook that fails here denies."""
    if hooks is None:
        return HookVerdict()
    if isinstance(hooks, HookVerdict):
        return hooks
    try:
        return await hooks or HookVerdict()
    except Exception as error:
        return HookVerdict("deny", f"the hooks failed: {type(error).__name__}", "hooks")


async def _cancel(task: asyncio.Task[Classified] | None) -> None:
    if task is not None:
        task.cancel()
        await asyncio.wait([task])


class _Pipeline:
    """The steps for one call."""

    def __init__(
        self,
        call: Call,
        policy: PermissionPolicy,
        callback: Callback | None,
        classifier: Classifier | None,
        grants: Grants | None,
    ) -> None:
        self._call = call
        self._policy = policy
        self._callback = callback
        self._classifier = classifier
        self._grants = grants
        rules = policy.rules
        with mounted(policy.mounts):
            self._needs: Needs = needs_of(call, policy)
            self._capabilities = self._needs.capabilities()
            self._deny: Fit | None = first_fit(rules.deny, self._needs, policy, leaving_out=True)
            self._ask: Fit | None = first_fit(rules.ask, self._needs, policy)
            self._ruled: Cover = cover(self._needs, rules.allow, policy, Mode.DEFAULT)

    def start_early(self) -> asyncio.Task[Classified] | None:
        """Begin to ask the classifier, if it looks as if it will be needed."""
        decided = self._needs.wrong or self._deny or self._ask or not self._ruled.missing
        person = self._call.tool in self._policy.needs_a_person
        if self._policy.mode is not Mode.AUTO or self._classifier is None or decided or person:
            return None
        classified = self._classifier.classify(self._call, self._capabilities)
        return asyncio.create_task(classified)

    async def run(self, verdict: HookVerdict, early: asyncio.Task[Classified] | None) -> Decision:
        hook = verdict.hook or "a hook"
        if self._needs.wrong:
            return self._decided(False, "schema", "the input's schema", self._needs.wrong)
        if verdict.behavior == "deny":
            return self._decided(False, "hook", hook, verdict.reason or f"{hook} denies it")
        if self._deny:
            return self._decided(False, "deny rule", self._deny.rule.text, self._deny.why)
        why = self._wants_a_person(verdict, hook)
        if why:
            return await self._asked(why)
        if verdict.behavior == "allow":
            return self._decided(True, "hook", hook, verdict.reason or f"{hook} allows it")
        with mounted(self._policy.mounts):
            decided = self._by_mode() or self._by_rules()
        return decided or await self._undecided(early)

    def _wants_a_person(self, verdict: HookVerdict, hook: str) -> str:
        if self._ask:
            return f"the ask rule {self._ask.rule.text} wants a person to decide: {self._ask.why}"
        if self._call.tool in self._policy.needs_a_person:
            return f"{self._call.tool} is a question to a person"
        if verdict.behavior in ("ask", "defer"):
            return f"{hook} wants a person to decide: {verdict.reason}".rstrip(": ")
        return ""

    def _by_mode(self) -> Decision | None:
        mode = self._policy.mode
        if mode is Mode.BYPASS:
            return self._decided(True, "mode", mode, "the mode approves what no rule stops")
        if mode is Mode.ACCEPT_EDITS:
            edits = cover(self._needs, (), self._policy, mode)
            if not edits.missing and edits.edits:
                return self._decided(True, "mode", mode, "it edits files in the working directory")
        return None

    def _by_rules(self) -> Decision | None:
        """By the allow rules, and by what was granted; not for changes while planning."""
        policy = self._policy
        if policy.mode is Mode.PLAN and self._changes():
            return None
        granted = self._grants.rules if self._grants else ()
        for rules, what in ((policy.rules.allow, "rule"), (policy.rules.allow + granted, "grant")):
            found = cover(self._needs, rules, policy, policy.mode)
            if found.missing:
                continue
            names = [rule.text for rule in found.rules]
            if found.edits:
                names.append(policy.mode)
            reason = f"every part of it is covered by a {what}"
            if what == "grant":
                reason = "it is covered by what was granted in this session"
            return self._decided(True, "allow rule", ", ".join(names), reason)
        return None

    def _changes(self) -> bool:
        """Whether it edits files, or runs what is not known to change nothing."""
        call = self._call
        if call.tool == "memory":
            return call.input.get("command") != "view"
        return call.tool in WRITING or (call.tool == "Bash" and not changes_nothing(self._needs))

    async def _undecided(self, early: asyncio.Task[Classified] | None) -> Decision:
        mode = self._policy.mode
        if mode is Mode.AUTO and self._classifier is not None:
            if early is None:
                found = await self._classifier.classify(self._call, self._capabilities)
            else:
                found = await early
            return self._decided(
                found.allow, "classifier", f"classifier ({found.stage})", found.reason
            )
        if mode is Mode.PLAN and self._changes():
            return await self._asked("while planning, changes need approval")
        with mounted(self._policy.mounts):
            missing = cover(self._needs, self._policy.rules.allow, self._policy, mode).missing
        return await self._asked(f"no rule allows {missing}")

    async def _asked(self, why: str) -> Decision:
        """What the callback says; nobody is asked in ``dontAsk``, and without a callback."""
        if self._policy.mode is Mode.DONT_ASK:
            return self._decided(False, "callback", Mode.DONT_ASK, f"{why}, and nobody is asked")
        if self._callback is None:
            return self._decided(False, "callback", "nobody", f"{why}, and there is nobody to ask")
        try:
            answer = await self._callback(self._call, self._capabilities, why)
        except Exception as error:
            text = f"{why}, and asking failed: {type(error).__name__}"
            return self._decided(False, "callback", "callback", text)
        return self._answered(answer, why)

    def _answered(self, answer: Answer, why: str) -> Decision:
        verb = "allowed" if answer.allow else "denied"
        reason = f"{why}; {verb}" + (f": {answer.reason}" if answer.reason else "")
        if answer.allow and answer.grant and self._grants is not None:
            try:
                self._grants.add(answer.grant)
                reason += f"; {answer.grant} is granted for this session"
            except InputError as error:
                reason += f"; nothing is granted: {error.message}"
        return self._decided(answer.allow, "callback", "callback", reason)

    def _decided(self, allowed: bool, step: Step, by: str, reason: str) -> Decision:
        covered = bool(self._deny or self._ask or not self._ruled.missing)
        call = self._call
        return Decision(
            allowed,
            step,
            str(by),
            reason,
            self._capabilities,
            covered,
            call.input,
            call.tool,
            call.id,
        )
