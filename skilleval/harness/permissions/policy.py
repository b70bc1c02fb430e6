"""What a session may do: its mode, its rules, its folders."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from functools import cached_property

from skilleval.harness.permissions.model import Mode
from skilleval.harness.permissions.places import PathPattern, Place, holds, inside
from skilleval.harness.permissions.programs import real_path
from skilleval.harness.permissions.rules import PermissionSettings, Rule, Rules, read_permissions

__all__ = ["NEEDS_A_PERSON", "PROTECTED", "PermissionPolicy"]

PROTECTED = (
    *(".git", ".hg", ".svn", ".gitconfig", ".gitmodules", ".gitattributes"),
    *(".claude", ".claude.json", ".mcp.json", ".agents", ".cursor"),
    *(".vscode", ".idea", ".husky", ".devcontainer", ".github", ".cargo", ".yarn", ".mvn"),
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile"),
    *(".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc"),
    *(".config/git", ".config/fish", ".ssh", ".gnupg", ".aws", ".netrc", ".envrc", ".inputrc"),
    *(".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".pypirc", ".ripgreprc"),
    *(".pre-commit-config.yaml", "lefthook.yml", "gradle-wrapper.properties"),
)
"""Never edited without being asked: what starts by itself, or decides what may.

Patterns as in ``.gitignore``: each fits at any depth, with all that lies in it.
"""

NEEDS_A_PERSON = frozenset({"AskUserQuestion"})
"""Tools that are a question to a person: no rule and no mode answers in that person's place."""


@dataclass(frozen=True)
class PermissionPolicy:
    """What a session may do.

    Attributes:
        workspace: the folder that the model works in.
        additional_directories: folders that count like it.
        protected: patterns of files that are not edited without being asked.
        cwd: where a shell command starts, as the model sees it; by default the workspace.
        home: what ``~`` is.
        path: where programs are looked for.
        mounts: folders that the model sees under another path: that path, and the one here.
        needs_a_person: tools that always go to the callback, such as those of MCP servers
            that say so.
    """

    mode: Mode = Mode.DEFAULT
    rules: Rules = field(default_factory=Rules)
    workspace: str = "."
    additional_directories: tuple[str, ...] = ()
    protected: tuple[str, ...] = PROTECTED
    cwd: str = ""
    home: str = field(default_factory=lambda: os.path.expanduser("~"))
    path: str = field(default_factory=lambda: os.environ.get("PATH", os.defpath))
    mounts: tuple[tuple[str, str], ...] = ()
    needs_a_person: frozenset[str] = NEEDS_A_PERSON

    def with_settings(self, path: str) -> PermissionPolicy:
        """The policy with what a settings file says besides; its mode counts if none was chosen.

        Raises:
            InputError: the file can't be read.
        """
        return self.plus(read_permissions(path))

    def plus(self, found: PermissionSettings) -> PermissionPolicy:
        """The policy with what a settings file says besides; its mode counts if none was chosen."""
        return replace(
            self,
            mode=found.mode if found.mode and self.mode is Mode.DEFAULT else self.mode,
            rules=self.rules + found.rules,
            additional_directories=self.additional_directories + found.additional_directories,
        )

    @cached_property
    def folder(self) -> str:
        """The workspace with links followed."""
        return real_path(os.path.abspath(self.workspace))

    @cached_property
    def start(self) -> str:
        """Where a shell command starts, as the model sees it."""
        seen = {host: inside for inside, host in self.mounts}
        return os.path.join(seen.get(self.folder, self.folder), self.cwd)

    @cached_property
    def roots(self) -> tuple[str, ...]:
        """The folders in which edits can be accepted, with links followed."""
        more = (os.path.join(self.folder, each) for each in self.additional_directories)
        return (self.folder, *(real_path(each) for each in more))

    def pattern(self, rule: Rule) -> PathPattern:
        """What a rule says of paths, as the links lie now."""
        pattern, root, named = rule.path(self.folder, self.home)
        start = real_path(
            os.path.join(root, re.split(r"[*?\[]", pattern, maxsplit=1)[0].strip("/"))
        )
        return PathPattern(pattern, root, trusted=named and not inside(start, self.roots))

    def is_protected(self, path: str) -> bool:
        """Whether a path, with links followed or not, is one of those that are protected."""
        shown = path.casefold() + "/"
        return any(f"/{pattern.casefold().strip('/')}/" in shown for pattern in self._plain) or any(
            each.possibly(Place(path, path)) for each in self._patterns
        )

    @cached_property
    def _plain(self) -> tuple[str, ...]:
        return tuple(each for each in self.protected if not re.search(r"[*?\[\\!]", each))

    @cached_property
    def _holders(self) -> set[str]:
        """Folders of which something is protected."""
        return {each.strip("/").split("/")[0] for each in self._plain if "/" in each.strip("/")}

    @cached_property
    def _patterns(self) -> tuple[PathPattern, ...]:
        others = [each for each in self.protected if each not in self._plain]
        return tuple(
            PathPattern(pattern, root, trusted=False) for pattern in others for root in self.roots
        )

    def accepts_edit(self, place: Place) -> bool:
        """Whether an edit of a place can be accepted: inside, and nothing protected."""
        if place.open or not inside(place.real, self.roots):
            return False
        if self.is_protected(place.real) or self.is_protected(place.path):
            return False
        if {os.path.basename(place.real), os.path.basename(place.path)} & self._holders:
            return False  # what is moved or copied there may become what is protected
        return not (place.beneath and holds(place.real, self._unsafe))

    def _unsafe(self, path: str) -> bool:
        """Whether something in a folder keeps the folder from being edited as a whole."""
        if self.is_protected(path):
            return True
        return os.path.islink(path) and not inside(real_path(path), self.roots)
