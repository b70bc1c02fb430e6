"""Which files have changed since a revision, from git."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping

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
    look = ("--name-only", "--no-renames", "--no-ext-diff", "--no-textconv", "-z")
    tracked = _git(
        top, "diff", *look, "--ignore-submodules=all", commit, settings=_filters_off(top)
    )
    new = _git(top, "ls-files", "--others", "--exclude-standard", "-z")
    return {
        os.path.join(os.path.realpath(top), name) for name in (tracked + new).split("\0") if name
    }


def _filters_off(top: str) -> dict[str, str]:
    """Settings that switch off a repository's own filters, which git runs to compare a file.

    A file under a filter (Git LFS) may then count as changed though it is not.
    """
    names = _git(top, "config", "--name-only", "--null", "--get-regexp", r"^filter\.").split("\0")
    filters = {name.rpartition(".")[0] for name in names if name}
    off = {"clean": "", "process": "", "required": "false"}
    return {f"{name}.{key}": value for name in filters for key, value in off.items()}


def _git(folder: str, *words: str, settings: Mapping[str, str] | None = None) -> str:
    # A repository's own configuration must not make git run anything for us.
    command = ["git", *_QUIET, *words]
    environment = os.environ | {"GIT_OPTIONAL_LOCKS": "0", "GIT_ALLOW_PROTOCOL": ""}
    at = int(environment.get("GIT_CONFIG_COUNT") or 0)  # behind the user's own
    for name, value in (settings or {}).items():  # not by -c: a name may hold "="
        environment |= {f"GIT_CONFIG_KEY_{at}": name, f"GIT_CONFIG_VALUE_{at}": value}
        at += 1
    environment["GIT_CONFIG_COUNT"] = str(at)
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
