"""Which files have changed since a revision, from git."""

from __future__ import annotations

import os
import subprocess

from skilleval.errors import InputError

__all__ = ["changed_since"]

_TIMEOUT = 60.0
_QUIET = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")


def changed_since(revision: str, folder: str = ".") -> set[str]:
    """Absolute paths of files that differ from a revision, untracked ones included.

    A deleted file counts by its old path, so that its skill is looked at again.

    Raises:
        InputError: this is no git repository, there is no such revision, or git is missing.
    """
    top = _git(folder, "rev-parse", "--show-toplevel").removesuffix("\n")
    commit = _git(
        folder, "rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"
    ).strip()
    off = _filters_off(top)
    diff = ("diff", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv", "-z")
    tracked = _git(top, *off, *diff, commit)
    new = _git(top, *off, "ls-files", "--others", "--exclude-standard", "-z")
    return {
        os.path.join(os.path.realpath(top), name) for name in (tracked + new).split("\0") if name
    }


def _filters_off(top: str) -> list[str]:
    """Options that switch off the repository's own filters, which git would run to compare.

    A file under a filter (Git LFS) may then count as changed though it is not.
    """
    listed = _git(top, "config", "--name-only", "--null", "--get-regexp", r"^filter\..*\.")
    names = {name for name in listed.split("\0") if name.endswith((".clean", ".process"))}
    return [word for name in sorted(names) for word in ("-c", f"{name}=")]


def _git(folder: str, *words: str) -> str:
    # A repository's own configuration must not make git run anything for us.
    command = ["git", *_QUIET, *words]
    environment = os.environ | {"GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            timeout=_TIMEOUT,
            check=False,
        )
    except FileNotFoundError:
        raise InputError("--changed-since needs git, which is not on PATH") from None
    except subprocess.TimeoutExpired:
        raise InputError(f"git {words[0]} took over {_TIMEOUT:.0f} seconds") from None
    if done.returncode and words[0] != "config":  # config: 1 is "no such setting"
        said = os.fsdecode(done.stderr).strip().splitlines()
        if words[0] == "rev-parse" and not said:
            raise InputError(
                f"there is no revision {words[-1].removesuffix('^{commit}')}",
                remedy="In CI, fetch it first: actions/checkout with fetch-depth: 0.",
            )
        raise InputError(f"git {words[0]}: {said[-1] if said else 'failed'}")
    return os.fsdecode(done.stdout)
