"""Entries that leave the folder are found without unpacking anything."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from fuzz_skill import cpu_limit
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skilleval.skill.archives import MAX_ARCHIVE, escaping_entries

INSIDE = ["a.md", "a/b.md", "./a.md", "a..b", "..a", "...", "a/...", "é 😀.md", "C", "a/C:x", " "]
OUTSIDE = [
    "../a",
    "..",
    "a/../../b",
    "a/..",
    "./../a",
    "/etc/passwd",
    "//server/share",
    "\\windows\\x",
    "..\\a",
    "a\\..\\..\\b",
    "C:\\x",
    "C:/x",
    "c:x",
]


def zipped(path: Path, *names: str, links: dict[str, str] | None = None) -> str:
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            info = zipfile.ZipInfo("x")
            info.filename = info.orig_filename = name  # as it is, back slashes too
            archive.writestr(info, "text")
        for name, target in (links or {}).items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(info, target)
    return str(path)


def taped(
    path: Path,
    *names: str,
    links: dict[str, str] | None = None,
    kind: bytes = tarfile.SYMTYPE,
    mode: str = "w",
) -> str:
    with tarfile.open(path, mode) as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(name))
        for name, target in (links or {}).items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            archive.addfile(member)
    return str(path)


@pytest.mark.parametrize("name", OUTSIDE)
def test_an_entry_outside(tmp_path: Path, name: str) -> None:
    assert escaping_entries(zipped(tmp_path / "a.zip", "ok.md", name)) == [name]
    assert escaping_entries(taped(tmp_path / "a.tar", "ok.md", name)) == [name]


def test_entries_inside(tmp_path: Path) -> None:
    assert escaping_entries(zipped(tmp_path / "a.zip", *INSIDE)) == []
    assert escaping_entries(taped(tmp_path / "a.tar", *INSIDE)) == []


LINKS_INSIDE = {"a": "b", "d/a": "../b", "d/e/a": "../../b", "x": "./y/../z", "d/x": "e"}
LINKS_OUTSIDE = [
    ("a", "../b"),
    ("a", ".."),
    ("d/a", "../../b"),
    ("a", "/etc/passwd"),
    ("a", "b/../../c"),
    ("a", "C:\\x"),
    ("a", "..\\x"),
    ("a", "\\x"),
]


def test_symbolic_links_inside(tmp_path: Path) -> None:
    assert escaping_entries(zipped(tmp_path / "a.zip", links=LINKS_INSIDE)) == []
    assert escaping_entries(taped(tmp_path / "a.tar", links=LINKS_INSIDE)) == []


@pytest.mark.parametrize(("name", "target"), LINKS_OUTSIDE)
def test_a_symbolic_link_that_leads_outside(tmp_path: Path, name: str, target: str) -> None:
    shown = [f"{name} -> {target}"]
    assert escaping_entries(zipped(tmp_path / "a.zip", links={name: target})) == shown
    assert escaping_entries(taped(tmp_path / "a.tar", links={name: target})) == shown


@pytest.mark.parametrize(
    ("target", "leaves"),
    [
        ("b", False),
        ("d/b", False),
        ("./b", False),
        ("..b", False),
        ("../b", True),
        ("/etc/passwd", True),
        ("d/../../b", True),
        ("C:\\x", True),
    ],
)
def test_a_hard_link_counts_from_the_root_of_the_archive(
    tmp_path: Path, target: str, leaves: bool
) -> None:
    path = taped(tmp_path / "a.tar", links={"x/y/z": target}, kind=tarfile.LNKTYPE)
    assert bool(escaping_entries(path)) == leaves


@pytest.mark.parametrize(
    ("name", "mode"), [("a.tar", "w"), ("a.tgz", "w:gz"), ("a.TAR.GZ", "w:gz")]
)
def test_tar_files_are_read_packed_or_not(tmp_path: Path, name: str, mode: str) -> None:
    assert escaping_entries(taped(tmp_path / name, "a", "../b", mode=mode)) == ["../b"]


@pytest.mark.parametrize("name", ["a.skill", "a.whl", "a.jar", "a.zip", "noend"])
def test_everything_else_is_read_as_a_zip_file(tmp_path: Path, name: str) -> None:
    assert escaping_entries(zipped(tmp_path / name, "../b")) == ["../b"]


def test_long_names_and_pax_headers(tmp_path: Path) -> None:
    name = "../" + "x" * 300 + "é"
    assert escaping_entries(taped(tmp_path / "a.tar", name)) == [name]


def test_nothing_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    escaping_entries(zipped(folder / "a.zip", "../b", "c"))
    escaping_entries(taped(folder / "a.tar", "../b", "c"))
    assert sorted(os.listdir(folder)) == ["a.tar", "a.zip"]
    assert os.listdir(tmp_path) == ["in"]


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tgz"])
@pytest.mark.parametrize(
    "data", [b"", b"PK", b"PK\x05\x06" + b"\0" * 18, b"\x1f\x8b\x08", b"text", b"\0" * 10_240]
)
def test_what_is_no_archive_has_no_entries(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    assert escaping_entries(str(tmp_path / name)) == []


def test_missing_files_and_folders_have_no_entries(tmp_path: Path) -> None:
    (tmp_path / "folder.zip").mkdir()
    assert escaping_entries(str(tmp_path / "folder.zip")) == []
    assert escaping_entries(str(tmp_path / "nowhere.zip")) == []


def test_a_very_large_file_is_not_looked_at(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", "../b")
    with open(path, "r+b") as file:
        file.truncate(MAX_ARCHIVE + 1)
    assert escaping_entries(path) == []


@pytest.mark.parametrize(
    ("central", "local", "value"),
    [
        (8, 6, b"\x01"),  # encrypted
        (10, 8, b"\x08"),  # deflated, though it is not
        (10, 8, b"\x0c"),  # bzip2
        (10, 8, b"\x0e"),  # lzma
        (10, 8, b"\x63"),  # a method that does not exist
        (20, 18, b"\xff\x01"),  # longer than the file
        (24, 22, b"\xff\x01"),  # unpacks to more than there is
        (42, None, b"\xff\xff\x00"),  # stands behind the end
        (16, 14, b"\0\0"),  # a wrong check sum
    ],
)
def test_a_broken_entry_does_not_hide_the_others(
    tmp_path: Path, central: int, local: int | None, value: bytes
) -> None:
    path = tmp_path / "a.zip"
    zipped(path, links={"a": "x"})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("../b", "text")
    data = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x01\x02", central), (b"PK\x03\x04", local)):
        if offset is not None:
            at = data.index(mark) + offset
            data[at : at + len(value)] = value
    path.write_bytes(data)
    assert "../b" in escaping_entries(str(path))


def bomb(size: int) -> bytes:
    """A gzip file a thousand times smaller than the tar file in it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        member = tarfile.TarInfo("zeros")
        member.size = size
        archive.addfile(member, io.BytesIO(bytes(size)))
        archive.addfile(tarfile.TarInfo("../b"))
    return packed.getvalue()


def test_a_small_file_that_grows_without_end_is_left_in_time(tmp_path: Path) -> None:
    path = tmp_path / "a.tgz"
    path.write_bytes(bomb(3 * MAX_ARCHIVE))
    with cpu_limit(2.0):
        assert escaping_entries(str(path)) == []


def test_a_link_whose_target_is_packed_a_thousandfold_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        info = zipfile.ZipInfo("a")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "x" * 10_000_000)
        archive.writestr("../b", "x")
    with cpu_limit(2.0):
        assert "../b" in escaping_entries(str(path))


def packed(make: Callable[..., str], folder: Path, name: str) -> bytes:
    return Path(make(folder / name, "a.md", "../b", links={"c": "/d", "e": "f"})).read_bytes()


@pytest.mark.parametrize(("name", "make"), [("a.zip", zipped), ("a.tar", taped)])
def test_any_damage_is_survived(
    tmp_path_factory: pytest.TempPathFactory, name: str, make: Callable[..., str]
) -> None:
    folder = tmp_path_factory.mktemp("damage")
    whole = packed(make, folder, name)

    @settings(max_examples=150, deadline=None)
    @given(
        st.lists(st.tuples(st.integers(0, len(whole) - 1), st.integers(0, 255)), max_size=6),
        st.integers(0, len(whole)),
    )
    @example([(105, 1)], 1)
    def damaged(changes: list[tuple[int, int]], end: int) -> None:
        data = bytearray(whole)
        for at, value in changes:
            data[at] = value
        (folder / name).write_bytes(data[:end] if end % 3 == 0 else data)
        for entry in escaping_entries(str(folder / name)):
            assert entry

    damaged()
