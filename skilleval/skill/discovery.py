"""Finding skill folders below what a user names.

A name may be a SKILL.md or any other file of a skill, a skill folder, a folder of skills, a
plugin, a marketplace, or an agent's own folder such as ``.claude/skills``: each is searched
in the same way. Links are never followed out of what was named, and a skill that can be
reached by two ways is found once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from skilleval.errors import InputError, NothingFound
from skilleval.skill.disk import read_file
from skilleval.skill.ignore import JUNK, IgnoreFile, Ignores

__all__ = ["Catalog", "Discovery", "Entry", "Found", "discover", "is_inside"]

MAX_DEPTH = 40
MAX_ENTRIES = 20_000
"""Files of one skill that are looked at; what lies beyond is counted, not read."""


class Entry(NamedTuple):
    """A file inside a skill folder: its path from there, and what it is."""

    name: str
    kind: str
    """``file``, ``link`` (symbolic) or ``special`` (device, pipe, socket)."""


class Catalog(NamedTuple):
    """The skills that are visible together: those of a plugin, or of one parent folder."""

    folder: str
    plugin: str | None


@dataclass
class Found:
    """A skill folder that was found, not yet read.

    Attributes:
        folder: absolute path.
        file: what its SKILL.md is really called.
        root: the named path below which it was found (absolute): links may lead anywhere
            inside it, not out of it.
        catalog: what it is visible together with.
        real: the real path of the folder, which tells it from every other.
        linked: its SKILL.md is a symbolic link.
        entries: its other files, in order, without those of nested skills.
        nested: skill folders inside it, as paths from it.
        beyond: files that were not looked at since there are too many.
    """

    folder: str
    file: str
    root: str
    catalog: Catalog
    real: str
    linked: bool
    entries: list[Entry] = field(default_factory=list)
    nested: list[str] = field(default_factory=list)
    beyond: int = 0


@dataclass
class Discovery:
    """What a search found, and what it passed over."""

    skills: list[Found] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    """Paths that ignore patterns took out (absolute)."""
    outside: list[str] = field(default_factory=list)
    """Links to folders that lead out of what was named: not followed (absolute)."""
    unread: list[str] = field(default_factory=list)
    """Folders that could not be listed or lie too deep (absolute)."""


def discover(
    paths: Iterable[str],
    ignores: Sequence[IgnoreFile] = (),
    found: Callable[[Found], None] | None = None,
) -> Discovery:
    """Find every skill below some paths, each once, in the order of the paths.

    Args:
        paths: files or folders; ``~`` stands for the home folder.
        ignores: patterns of paths to pass over, beside those of .gitignore files.
        found: called with each skill as soon as all of its folder was seen.

    Raises:
        InputError: a path does not exist.
        NothingFound: there is no skill below them.
    """
    paths = list(paths)
    if not all(paths):
        raise InputError("an empty path: name a file or a folder")
    named = [os.path.abspath(os.path.expanduser(path)) for path in paths]
    missing = [path for path in named if not os.path.lexists(path)]
    if missing:
        raise InputError(
            f"no such file or folder: {', '.join(missing)}",
            remedy="Name a SKILL.md, a skill folder, or a folder that holds skills.",
        )
    discovery = Discovery()
    seen: set[str] = set()
    for path in named:
        root = path if os.path.isdir(path) else _skill_folder_of(path)
        here = Ignores([*_outer_ignores(root), *ignores])
        walk = _Walk(discovery, root, seen, found)
        walk.folder(root, _Place(here, _enclosing_plugin(root)))
    if not discovery.skills:
        shown = ", ".join(paths) or "."
        passed = f" ({len(discovery.ignored)} ignored)" if discovery.ignored else ""
        raise NothingFound(
            f"0 skills found in {shown}{passed}",
            remedy="A skill is a folder with a SKILL.md in it; name one, or a folder above some.",
        )
    return discovery


def _skill_folder_of(file: str) -> str:
    """The folder of the skill that a file belongs to."""
    folder = os.path.dirname(file)
    while True:
        try:
            names = os.listdir(folder)
        except OSError:
            names = []
        if _skill_file(names):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder or ".git" in names:
            raise NothingFound(
                f"0 skills found: {file} belongs to no skill folder",
                remedy="Name a SKILL.md, a skill folder, or a folder that holds skills.",
            )
        folder = parent


def _skill_file(names: Iterable[str]) -> str | None:
    """The name of the skill file among some names; the right one before a wrong case."""
    candidates = sorted(name for name in names if name.lower() == "skill.md")
    return candidates[0] if candidates else None  # "SKILL.md" sorts before any other case


def _outer_ignores(folder: str) -> list[IgnoreFile]:
    """The .gitignore files above a folder, up to the top of its repository."""
    found: list[Ignores] = []
    here = folder
    while not os.path.exists(os.path.join(here, ".git")):
        parent = os.path.dirname(here)
        if parent == here:
            return []  # no repository: files above mean nothing
        here = parent
        found.append(Ignores().entering(here, {".gitignore"}))
    return [file for ignores in reversed(found) for file in ignores.files]


def _plugin_name(folder: str) -> str | None:
    """The name of the plugin whose root a folder is, or None."""
    for manifest in (".claude-plugin/plugin.json", "plugin.json"):
        path = os.path.join(folder, manifest)
        if not os.path.isfile(path):
            continue
        try:
            name = json.loads((read_file(path, 1 << 20) or b"").decode("utf-8-sig")).get("name")
        except (ValueError, AttributeError, RecursionError):
            name = None
        return name if isinstance(name, str) else os.path.basename(folder)
    return None


def _enclosing_plugin(root: str) -> Catalog | None:
    """The plugin that a named folder lies in: at most the usual skills/NAME below it."""
    folder = root
    for _ in range(2):
        folder = os.path.dirname(folder)
        name = _plugin_name(folder)
        if name is not None:
            return Catalog(folder, name)
    return None


class _Place(NamedTuple):
    """Where the walk stands: what holds for everything below."""

    ignores: Ignores
    catalog: Catalog | None
    owner: Found | None = None
    """The skill that this place lies in."""
    prefix: str = ""
    """The path from that skill's folder to here, with a final slash."""
    depth: int = 0


class _Walk:
    """One pass over a tree that finds skills and lists their files at the same time."""

    def __init__(
        self,
        discovery: Discovery,
        named: str,
        seen: set[str],
        found: Callable[[Found], None] | None,
    ) -> None:
        self.discovery = discovery
        self.named = named
        self.seen = seen  # real folders of skills: each counts once, however many names it has
        self.found = found
        self.root = os.path.realpath(named)

    def folder(self, path: str, place: _Place) -> None:
        """Search a folder and everything below it."""
        try:
            with os.scandir(path) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError:
            self.discovery.unread.append(path)
            return
        names = {entry.name for entry in entries}
        if ".claude-plugin" in names or "plugin.json" in names:
            plugin = _plugin_name(path)
            if plugin is not None:
                place = place._replace(catalog=Catalog(path, plugin))
        skill_file = _skill_file(names)
        if skill_file:
            real = self.root + path[len(self.named) :]
            if real in self.seen:
                return
            self.seen.add(real)
            place = self._skill(path, skill_file, real, place)
        place = place._replace(ignores=place.ignores.entering(path, names))
        for entry in entries:
            if entry.name not in JUNK and entry.name != skill_file:
                self._entry(entry, place)
        if skill_file and place.owner and self.found:
            self.found(place.owner)

    def _skill(self, path: str, skill_file: str, real: str, place: _Place) -> _Place:
        if place.owner:
            place.owner.nested.append(place.prefix.rstrip("/"))
        linked = os.path.islink(os.path.join(path, skill_file))
        catalog = place.catalog or Catalog(os.path.dirname(path), None)
        found = Found(path, skill_file, self.root, catalog, real, linked)
        self.discovery.skills.append(found)
        return place._replace(owner=found, prefix="")

    def _entry(self, entry: os.DirEntry[str], place: _Place) -> None:
        link = entry.is_symlink()
        folder = not link and entry.is_dir()
        if place.owner is None and not folder and not link:
            return  # a file outside any skill
        if place.ignores.files and place.ignores.match(entry.path, folder):
            self.discovery.ignored.append(entry.path)
        elif folder:
            if place.depth >= MAX_DEPTH:
                self.discovery.unread.append(entry.path)
            else:
                inner = place._replace(prefix=f"{place.prefix}{entry.name}/", depth=place.depth + 1)
                self.folder(entry.path, inner)
        elif place.owner is None:
            # A link to a folder inside the root is found where it leads.
            if os.path.isdir(entry.path):
                if not is_inside(os.path.realpath(entry.path), self.root):
                    self.discovery.outside.append(entry.path)
        elif len(place.owner.entries) >= MAX_ENTRIES:
            place.owner.beyond += 1
        else:
            kind = "link" if link else "file" if entry.is_file() else "special"
            place.owner.entries.append(Entry(place.prefix + entry.name, kind))


def is_inside(path: str, folder: str) -> bool:
    """Whether a real path is a real folder or lies below it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
