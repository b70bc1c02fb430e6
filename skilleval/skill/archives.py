"""Looking into archives without unpacking them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import zipfile

__all__ = ["escaping_entries"]

MAX_ENTRIES = 10_000
MAX_ARCHIVE = 64 * 1024 * 1024
_MAX_LINK = 4_096


def escaping_entries(path: str) -> list[str]:
    """Entries of a zip or tar file that would be written outside the unpacking folder.

    A file that is no archive, or too large to look at, has none.
    """
    try:
        size = os.path.getsize(path)
    except OSError:
        return []
    if not 0 < size <= MAX_ARCHIVE:
        return []
    entries = _tar(path) if path.lower().endswith((".tar", ".tgz", ".tar.gz")) else _zip(path)
    return [f"{name} -> {link}" if link else name for name, link in entries if _escapes(name, link)]


def _escapes(name: str, link: str) -> bool:
    """Whether an entry, or the place its link leads to, lies outside."""
    plain = name.replace("\\", "/")
    if plain.startswith("/") or plain[1:2] == ":" or ".." in plain.split("/"):
        return True
    if not link:
        return False
    target = os.path.normpath(os.path.join(os.path.dirname(plain), link.replace("\\", "/")))
    return target.startswith("/") or target.split("/")[0] == ".." or link[1:2] == ":"


def _zip(path: str) -> Iterator[tuple[str, str]]:
    import zipfile  # only where there is an archive

    try:
        with zipfile.ZipFile(path) as archive:
            for info in islice(archive.infolist(), MAX_ENTRIES):
                link = ""
                if stat.S_ISLNK(info.external_attr >> 16) and info.file_size < _MAX_LINK:
                    link = _zipped_link(archive, info)
                yield info.orig_filename, link
    except Exception:  # zipfile lets through whatever its parts raise on damaged input
        return


def _zipped_link(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> str:
    try:
        with archive.open(info) as file:
            return file.read(_MAX_LINK).decode("utf-8", "replace")
    except Exception:  # a damaged entry says nothing of the others
        return ""


def _tar(path: str) -> Iterator[tuple[str, str]]:
    import tarfile

    try:
        with tarfile.open(path, "r|*") as archive:  # a stream: nothing is read twice
            for member in islice(archive, MAX_ENTRIES):
                if archive.offset > MAX_ARCHIVE:
                    return
                yield member.name, member.linkname if member.issym() else ""
                if member.islnk():  # a hard link counts from the archive's root
                    yield member.linkname, ""
    except Exception:  # tarfile lets through whatever its parts raise on damaged input
        return
