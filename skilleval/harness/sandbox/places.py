"""A policy's paths: checked, without links, and translated between inside and outside."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable
from dataclasses import replace

from skilleval.errors import InputError
from skilleval.harness.sandbox.machine import is_in
from skilleval.harness.sandbox.policy import Mount, Policy

__all__ = ["TMP", "Places", "resolve"]

TMP = "/tmp"  # noqa: S108 - the sandbox's own
_TAKEN = ("/proc", "/dev", "/sys")


def resolve(policy: Policy, *, maps: bool) -> Policy:
    """The policy with absolute host paths that hold no links.

    Args:
        policy: as asked for.
        maps: paths can be mapped; otherwise everything is seen where it is.

    Raises:
        InputError: it makes no sense, or a path is not there.
    """
    if not policy.mounts or not policy.mounts[0].writable:
        raise InputError("a sandbox needs a workspace that can be written to as its first mount")
    mounts = []
    for mount in policy.mounts:
        if not os.path.isdir(mount.host):
            raise InputError(f"{mount.host}: no folder that a sandbox could show")
        inside = posixpath.normpath(mount.inside)
        if not inside.startswith("/") or inside == "/" or any(is_in(inside, t) for t in _TAKEN):
            raise InputError(f"{mount.inside}: nothing can be mounted there in a sandbox")
        host = os.path.realpath(mount.host)
        mounts.append(Mount(host, inside if maps else host, mount.writable))
    if len({mount.inside for mount in mounts}) < len(mounts):
        raise InputError("two folders can't be mounted at one path of a sandbox")
    hidden = tuple(dict.fromkeys(_hidden(policy.hidden)))
    for mount in mounts:
        if mount.host in hidden:
            raise InputError(f"{mount.host}: can't be both mounted and hidden")
    return replace(policy, mounts=tuple(mounts), hidden=hidden)


def _hidden(paths: Iterable[str]) -> Iterable[str]:
    for path in paths:
        if not os.path.lexists(path):
            raise InputError(f"{path}: is to be hidden, but is not there")
        yield os.path.realpath(path)


class Places:
    """Where the mounts are, on this machine and inside."""

    def __init__(self, mounts: Iterable[Mount]) -> None:
        mounts = list(mounts)
        self._inside = sorted(mounts, key=lambda mount: -len(mount.inside))
        self._outside = sorted(mounts, key=lambda mount: -len(mount.host))

    def inside(self, host_path: str) -> str:
        """The path that a file of this machine has inside.

        Raises:
            InputError: it lies in no mount.
        """
        folder, name = os.path.split(os.path.abspath(host_path))
        for path in (os.path.join(os.path.realpath(folder), name), os.path.realpath(host_path)):
            for mount in self._outside:
                if is_in(path, mount.host):
                    return _join(mount.inside, os.path.relpath(path, mount.host))
        raise InputError(f"{host_path}: can't be seen in the sandbox")

    def outside(self, inside_path: str) -> str | None:
        """The path on this machine of a file in a mount, as it is written; None for others."""
        path = posixpath.normpath(inside_path)
        for mount in self._inside:
            if is_in(path, mount.inside):
                return _join(mount.host, posixpath.relpath(path, mount.inside))
        return None


def _join(folder: str, rest: str) -> str:
    return folder if rest == "." else os.path.join(folder, rest)
