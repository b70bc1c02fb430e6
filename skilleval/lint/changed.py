"""Which files have changed since a revision, from git."""

from __future__ import annotations

import os
import subprocess

from skilleval.errors import InputError

__all__ = ["changed_since"]

_TIMEOUT = 60.0


def changed_since(revision: str, folder: str = ".") -> set[str]:
    """Absolute paths of files that differ from a revision, untracked ones included.

    A deleted file counts by its old path, so that its skill is looked at again.

    Raises:
        InputError: this is no git repository, there is no such revision, or git is missing.
    """
    top = _git(folder, "rev-parse", "--show-toplevel").strip()
    commit = _git(
        folder, "rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"
    ).strip()
    tracked = _git(top, "diff", "--name-only", "--no-renames", "--no-ext-diff", "-z", commit)
    new = _git(top, "ls-files", "--others", "--exclude-standard", "-z")
    return {
        os.path.join(os.path.realpath(top), name) for name in (tracked + new).split("\0") if name
    }


def _git(folder: str, *words: str) -> str:
    # A repository's own configuration must not make git run anything for us.
    command = ["git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false", *words]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, timeout=_TIMEOUT, check=False
        )
    except FileNotFoundError:
        raise InputError("--changed-since needs git, which is not on PATH") from None
    except subprocess.TimeoutExpired:
        raise InputError(f"git {words[0]} took over {_TIMEOUT:.0f} seconds") from None
    if done.returncode:
        said = os.fsdecode(done.stderr).strip().splitlines()
        if words[0] == "rev-parse" and not said:
            raise InputError(
                f"there is no revision {words[-1].removesuffix('^{commit}')}",
                remedy="In CI, fetch it first: actions/checkout with fetch-depth: 0.",
            )
        raise InputError(f"git {words[0]}: {said[-1] if said else 'failed'}")
    return os.fsdecode(done.stdout)
