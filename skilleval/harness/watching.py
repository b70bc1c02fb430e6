"""Noticing files that change during a session: those that hooks watch, and settings files.

Nobody is notified of changes: what is watched is looked at when all tool calls of an answer are
settled, which costs one ``stat`` a file.

A settings file can give commands that run outside of the sandbox, and rules that allow things.
So one that the model's own tools could have changed is not believed: only what it denies or wants
asked for is added to what holds.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from skilleval.harness.hooks import Hook, read_hooks
from skilleval.harness.permissions import PermissionPolicy, Rules, read_permissions
from skilleval.harness.permissions.rules import PermissionSettings, Rule
from skilleval.harness.sandbox.policy import Sandbox

__all__ = ["Change", "SettingsFile", "Watched", "read_settings_file", "source_of"]

Stamp = tuple[int, ...] | None
"""What differs once a file was changed; None where there is none."""


class Change(NamedTuple):
    """That a watched file was changed: its path on this machine, and how."""

    path: str
    how: str


@dataclass(frozen=True)
class SettingsFile:
    """A settings file as it was read.

    Attributes:
        path: as the user named it.
        real: the file that it was, with all links followed.
        stamp: of the file when it was read.
        hooks, permissions: what it says.
        warnings: what of it is not followed.
    """

    path: str
    real: str
    stamp: Stamp
    hooks: tuple[Hook, ...]
    permissions: PermissionSettings
    warnings: tuple[str, ...]


def read_settings_file(path: str) -> SettingsFile:
    """Read a settings file.

    Raises:
        InputError: it can't be read, or makes no sense.
    """
    stamp, real = _stamp(path), os.path.realpath(path)  # before it is read: a change is seen then
    warnings: list[str] = []
    hooks = tuple(read_hooks(path, warnings=warnings))
    return SettingsFile(path, real, stamp, hooks, read_permissions(path), tuple(warnings))


def source_of(path: str) -> str:
    """Which settings a file holds, as hooks of ConfigChange match them."""
    name, folder = os.path.basename(path), os.path.dirname(os.path.abspath(path))
    if name == "managed-settings.json":
        return "policy_settings"
    if name == "settings.local.json":
        return "local_settings"
    own = os.path.realpath(os.path.expanduser("~/.claude"))
    return "user_settings" if os.path.realpath(folder) == own else "project_settings"


class Watched:
    """What a session keeps an eye on, together with its subagents.

    Attributes:
        settings: the settings files as they were read last.
        policy: the rules that hold now.
        lock: held while changes are looked for and told, so that each is told once.
    """

    def __init__(
        self,
        folder: str,
        start: PermissionPolicy,
        sandbox: Sandbox,
        settings: Iterable[SettingsFile] = (),
    ) -> None:
        """Look at everything as it is now.

        Args:
            folder: where the files are that hooks of FileChanged name; on this machine.
            start: the rules without any settings file.
            sandbox: says what the model's tools may write to.
            settings: the settings files that hold.
        """
        self.settings = list(settings)
        self.lock = asyncio.Lock()
        self._folder, self._start, self._sandbox = folder, start, sandbox
        self._files: dict[str, Stamp] = {}
        self.policy = self._ruled()
        self.changed_files(self.hooks)

    @property
    def hooks(self) -> list[Hook]:
        """The hooks of all settings files."""
        return [hook for file in self.settings for hook in file.hooks]

    def changed_files(self, hooks: Iterable[Hook]) -> list[Change]:
        """What happened to the files that hooks name, since this was asked last.

        A file that is asked about for the first time has not changed.
        """
        now = {path: _stamp(path) for path in self._paths(hooks)}
        before, self._files = self._files, now
        return [
            Change(path, "add" if before[path] is None else "unlink" if new is None else "change")
            for path, new in now.items()
            if path in before and before[path] != new
        ]

    def changed_settings(self) -> list[int]:
        """Which settings files are no longer what was read, by their place."""
        return [n for n, file in enumerate(self.settings) if _stamp(file.path) != file.stamp]

    def read_again(self, place: int) -> tuple[SettingsFile, bool]:
        """A settings file as it would hold from now, and whether all of it would.

        Raises:
            InputError: it can't be read, or makes no sense.
        """
        old = self.settings[place]
        new = read_settings_file(old.path)
        if not self._within_reach(old, new):
            return new, True
        return _stricter(old, new), False

    def take(self, place: int, file: SettingsFile) -> None:
        """Let a settings file hold as it was read now; the mode of the session stays."""
        self.settings[place] = file
        self.policy = replace(self._ruled(), mode=self.policy.mode)

    def pass_over(self, place: int) -> None:
        """Leave a settings file as it was read, until it changes once more."""
        old = self.settings[place]
        self.settings[place] = replace(old, stamp=_stamp(old.path))

    def _ruled(self) -> PermissionPolicy:
        policy = self._start
        for file in self.settings:
            policy = policy.plus(file.permissions)
        return policy

    def _paths(self, hooks: Iterable[Hook]) -> list[str]:
        names = {name for hook in hooks for name in hook.watches}
        return [os.path.join(self._folder, name) for name in sorted(names)]

    def _within_reach(self, old: SettingsFile, new: SettingsFile) -> bool:
        """Whether the model's tools may have changed a file, or put another in its place."""
        if self._sandbox.name == "none" or old.real != new.real:
            return True
        folders = [mount.host for mount in self._sandbox.policy.mounts if mount.writable]
        return any(
            _lies_in(path, folder)
            for path in (os.path.abspath(new.path), new.real)
            for folder in folders
        )


def _lies_in(path: str, folder: str) -> bool:
    real = os.path.realpath(folder)
    return os.path.commonpath([path, real]) == real


def _stricter(old: SettingsFile, new: SettingsFile) -> SettingsFile:
    """What was read before, with what denies or asks in what stands there now."""
    was, now = old.permissions.rules, new.permissions.rules
    rules = Rules(_more(was.deny, now.deny), _more(was.ask, now.ask), was.allow)
    return replace(old, stamp=new.stamp, permissions=old.permissions._replace(rules=rules))


def _more(old: Sequence[Rule], new: Sequence[Rule]) -> tuple[Rule, ...]:
    return (*old, *(each for each in new if each not in old))


def _stamp(path: str) -> Stamp:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    if stat.S_ISDIR(found.st_mode):
        return None
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
