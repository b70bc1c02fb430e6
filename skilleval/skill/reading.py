"""Reading a skill folder from disk, whatever is in it, without ever raising for its content."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

from skilleval.skill.discovery import Entry, Found, is_inside
from skilleval.skill.disk import NoFile, TooLarge, read, read_file
from skilleval.skill.document import Document
from skilleval.skill.frontmatter import Frontmatter, read_frontmatter
from skilleval.skill.markdown import Markdown

__all__ = ["MAX_FILE", "MAX_SKILL_FILE", "Skill", "Trouble", "TroubleKind"]

MAX_SKILL_FILE = 16 * 1024 * 1024
"""Bytes of SKILL.md that are read."""
MAX_FILE = 4 * 1024 * 1024
"""Bytes of any other file that are read; a larger one counts as not text."""

_NOT_TEXT = frozenset(
    ".png .jpg .jpeg .gif .webp .ico .bmp .tiff .pdf .zip .gz .tgz .bz2 .xz .7z .tar .whl .jar "
    ".woff .woff2 .ttf .otf .eot .mp3 .mp4 .mov .wav .ogg .webm .docx .xlsx .pptx .xls .doc .ppt "
    ".db .sqlite .parquet .npy .npz .bin .exe .dll .so .dylib .pyc .pyo .class .o .a .wasm .node "
    ".skill".split()
)

_VISIBLE = re.compile("[^\ufeff \t\r\n]")
_POINTER = re.compile(r"\s*(?:\.{1,2}/|~?/|[\w.-]+/)[^\s:*?\"<>|]{1,300}\s*\Z")


class TroubleKind(StrEnum):
    """Why a SKILL.md has no text to look at."""

    FOLDER = "folder"
    DANGLING = "dangling"
    OUTSIDE = "outside"
    SPECIAL = "special"
    TOO_LARGE = "too large"
    UNREADABLE = "unreadable"


class Trouble(NamedTuple):
    """What stands between us and a SKILL.md's text."""

    kind: TroubleKind
    message: str


class Skill:
    """A skill folder: its SKILL.md, taken apart, and its other files.

    Attributes:
        found: where discovery met it.
        document: SKILL.md; empty where it could not be read.
        front: its frontmatter.
        trouble: why SKILL.md could not be read, or None.
        memo: what others have worked out about the skill, so that it is done once.
    """

    def __init__(self, found: Found, overlay: Mapping[str, bytes] | None = None) -> None:
        """Read a skill; ``overlay`` holds bytes to take in place of some files' own."""
        self.found = found
        self._overlay = overlay or {}
        self.trouble: Trouble | None = None
        if found.file in self._overlay:
            data = self._overlay[found.file]
        else:
            data, self.trouble = _read_skill_file(found)
        self.document = Document(found.file, data)
        self.front: Frontmatter = read_frontmatter(self.document.text)
        self._files: dict[str, Document | None] = {}
        self._parsed: dict[str, Markdown] = {}
        self.memo: dict[str, Any] = {}

    @property
    def folder(self) -> str:
        """Absolute path of the folder."""
        return self.found.folder

    @property
    def folder_name(self) -> str:
        """The last part of the folder's path."""
        return os.path.basename(self.found.folder)

    @cached_property
    def name(self) -> str:
        """What the skill calls itself; the folder's name where it says nothing usable."""
        return self.front.string("name") or self.folder_name

    @cached_property
    def is_pointer(self) -> bool:
        """SKILL.md holds only a path: a symbolic link that was checked out as text."""
        text = self.document.text
        return len(text) < 400 and "\n" not in text.strip() and bool(_POINTER.match(text))

    @cached_property
    def has_text(self) -> bool:
        """SKILL.md could be read, is UTF-8, is not blank, and is more than a pointer."""
        if self.trouble or self.document.bad_byte is not None or self.is_pointer:
            return False
        return bool(_VISIBLE.search(self.document.text))

    @cached_property
    def description(self) -> str | None:
        """The description where it is a string."""
        return self.front.string("description")

    @property
    def entries(self) -> list[Entry]:
        """The other files of the folder."""
        return self.found.entries

    @cached_property
    def names(self) -> frozenset[str]:
        """Every path in the folder, files and folders, as a link may name it."""
        names = {self.found.file, *(f"{nested}/SKILL.md" for nested in self.found.nested)}
        names.update(entry.name for entry in self.found.entries)
        for name in list(names) + self.found.nested:
            while "/" in name:
                name = name.rpartition("/")[0]
                names.add(name)
        names.update(self.found.nested)
        return frozenset(names)

    @cached_property
    def body(self) -> str:
        """The instructions: SKILL.md below its frontmatter."""
        return self.document.text[self.front.body :]

    @cached_property
    def markdown(self) -> Markdown:
        """The structure of the body (parsed when first asked for)."""
        return Markdown(self.document.text, self.front.body)

    def markdown_of(self, document: Document) -> Markdown:
        """The structure of one of the skill's Markdown files (parsed once)."""
        if document is self.document:
            return self.markdown
        if document.name not in self._parsed:
            self._parsed[document.name] = Markdown(document.text)
        return self._parsed[document.name]

    def file(self, name: str) -> Document | None:
        """Another text file of the folder; None where it is missing, binary or too large."""
        if name not in self._files:
            data = self._overlay.get(name)
            if data is None:
                data = read_file(os.path.join(self.folder, name), MAX_FILE)
            text = data is not None and b"\0" not in data[:8192]
            self._files[name] = Document(name, data) if data is not None and text else None
        return self._files[name]

    def is_binary(self, name: str) -> bool:
        """Whether a file is not text: by its ending, else by a NUL byte near its start."""
        if has_binary_name(name):
            return True
        return self.file(name) is None

    @cached_property
    def documents(self) -> list[Document]:
        """SKILL.md, where it is UTF-8, and every other text file."""
        return [*([self.document] if self.document.bad_byte is None else []), *self.texts]

    @cached_property
    def texts(self) -> list[Document]:
        """Every other text file of the folder that is not empty."""
        names = [e.name for e in self.entries if e.kind == "file" and not has_binary_name(e.name)]
        return [document for name in names if (document := self.file(name)) and document.data]


def has_binary_name(name: str) -> bool:
    """Whether a file's ending says that it is no text."""
    return os.path.splitext(name)[1].lower() in _NOT_TEXT


def _read_skill_file(found: Found) -> tuple[bytes, Trouble | None]:
    path = os.path.join(found.folder, found.file)
    if found.linked:
        trouble = _link_trouble(path, found)
        if trouble:
            return b"", trouble
    try:
        return read(path, MAX_SKILL_FILE, follow=found.linked), None
    except NoFile as error:
        kind = TroubleKind.FOLDER if error.folder else TroubleKind.SPECIAL
        return b"", Trouble(kind, str(error.strerror))
    except TooLarge as error:
        return b"", Trouble(TroubleKind.TOO_LARGE, str(error.strerror))
    except OSError as error:
        if error.errno == errno.ELOOP:
            return b"", Trouble(TroubleKind.DANGLING, "leads round in a circle")
        return b"", Trouble(TroubleKind.UNREADABLE, f"can't be read: {error.strerror}")


def _link_trouble(path: str, found: Found) -> Trouble | None:
    """Why a linked SKILL.md is not read.

    A link may lead anywhere below what was named, and out of it only to a file that is
    itself a SKILL.md: so that no link makes us show any other file of the machine.
    """
    target = os.path.realpath(path)
    if not os.path.exists(path):
        return Trouble(TroubleKind.DANGLING, f"leads to nothing: {os.readlink(path)}")
    if is_inside(target, found.root) or os.path.basename(target).lower() == "skill.md":
        return None
    return Trouble(TroubleKind.OUTSIDE, f"leads out of what was named: {os.readlink(path)}")
