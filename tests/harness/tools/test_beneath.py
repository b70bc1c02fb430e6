"""No way of writing a path, and no link, leads out of the mounts."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skilleval.harness.sandbox import Mount
from skilleval.harness.tools.beneath import Beneath, Outside, ReadOnly
from skilleval.harness.tools.files import read_file, write_file

SECRET = b"secret"


def world(root: Path) -> Beneath:
    """A workspace with links of all kinds, a read-only folder in it, and a secret outside."""
    (root / "work/a/b").mkdir(parents=True)
    (root / "other").mkdir()
    (root / "secret").write_bytes(SECRET)
    (root / "work/file").write_bytes(b"file")
    (root / "work/a/b/file").write_bytes(b"deep")
    (root / "other/file").write_bytes(b"other")
    links = {
        "up": "..",
        "out": "../secret",
        "far": str(root / "secret"),
        "root": "/",
        "host": str(root),
        "home": "/place",
        "here": ".",
        "loop": "loop",
        "deep": "a/b",
        "skills": "/place/skills",
        "away": "../../../../../../../../" + str(root) + "/secret",
    }
    for name, target in links.items():
        (root / "work" / name).symlink_to(target)
    (root / "work/a/out").symlink_to("../../secret")
    mounts = (
        Mount(str(root / "work"), "/place", True),
        Mount(str(root / "other"), "/place/ro/skills", False),
    )
    return Beneath(mounts)


@pytest.fixture
def tree(tmp_path: Path) -> Beneath:
    return world(tmp_path)


@pytest.mark.parametrize(
    ("path", "data", "inside"),
    [
        ("/place/file", b"file", "/place/file"),
        ("//place/./file", b"file", "/place/file"),
        ("/place/a/../file", b"file", "/place/file"),
        ("/../place/file", b"file", "/place/file"),
        ("/place/../../place/file", b"file", "/place/file"),
        ("/place/home/here/here/file", b"file", "/place/file"),
        ("/place/deep/file", b"deep", "/place/a/b/file"),
        ("/place/deep/../b/file", b"deep", "/place/a/b/file"),
        ("/place/up/place/file", b"file", "/place/file"),
        ("/place/root/place/file", b"file", "/place/file"),
        ("/place/ro/skills/file", b"other", "/place/ro/skills/file"),
        ("/place/ro/skills/../../file", b"file", "/place/file"),
    ],
)
def test_paths_that_stay_inside(tree: Beneath, path: str, data: bytes, inside: str) -> None:
    assert read_file(tree, path, 100)[:2] == (inside, data)


@pytest.mark.parametrize(
    "path",
    [
        "/place/out",
        "/place/far",
        "/place/away",
        "/place/a/out",
        "/place/root/etc/passwd",
        "/place/../etc/passwd",
        "/place/up/etc/passwd",
        "/etc/passwd",
        "/workshop/file",
        "/",
        "/place/..",
    ],
)
def test_paths_that_lead_out(tree: Beneath, path: str) -> None:
    with pytest.raises(Outside):
        read_file(tree, path, 100)
    with pytest.raises(OSError):
        write_file(tree, path + "/new", b"")


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("/place/loop", errno.ELOOP),
        ("/place/" + "x" * 300, errno.ENAMETOOLONG),
        ("/place/" + "x/" * 3_000, errno.ENAMETOOLONG),
        ("/place/" + "a/../" * 700 + "a/" * 200, errno.ENOENT),
        ("/place/a\0b", errno.EINVAL),
        ("/place/\ud800", errno.EINVAL),
        ("/place/missing/../file", errno.ENOENT),
        ("/place/file/x", errno.ENOTDIR),
    ],
)
def test_paths_that_are_none(tree: Beneath, path: str, number: int) -> None:
    with pytest.raises(OSError) as caught:
        read_file(tree, path, 100)
    assert caught.value.errno == number


def test_depth_is_bounded(tree: Beneath, tmp_path: Path) -> None:
    path = "/place" + "/d" * 200
    (tmp_path / "work" / path.removeprefix("/place/")).mkdir(parents=True)
    with pytest.raises(OSError, match="too deep"):
        read_file(tree, path + "/file", 100)


def test_descriptors_are_closed(tree: Beneath) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for path in ("/place/file", "/place/loop", "/place/out", "/place/a/b/missing/x", "/place/a/b"):
        with suppress(OSError):
            read_file(tree, path, 100)
        with suppress(OSError):
            write_file(tree, path, b"file")
    assert len(os.listdir("/proc/self/fd")) == before


def test_read_only_mounts_in_writable_ones(tree: Beneath, tmp_path: Path) -> None:
    for path in ("/place/ro/skills/new", "/place/ro/skills/file", "/place/ro/skills/a/b"):
        with pytest.raises(ReadOnly):
            write_file(tree, path, b"")
    assert os.listdir(tmp_path / "other") == ["file"]


def test_pipes_are_not_even_opened(
    tree: Beneath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "work/pipe")
    opened, real = [], os.open

    def record(path: str, *arguments: int, **keywords: int) -> int:
        opened.append(path)
        return real(path, *arguments, **keywords)

    monkeypatch.setattr("skilleval.harness.tools.beneath.os.open", record)
    for use in (
        lambda: read_file(tree, "/place/pipe", 9),
        lambda: write_file(tree, "/place/pipe", b""),
    ):
        with pytest.raises(OSError, match="pipe"):
            use()
    assert "pipe" not in opened


@pytest.mark.parametrize("name", ["swap", "file"])
def test_what_becomes_a_link_meanwhile(
    tree: Beneath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Another process puts a link to the outside in place, right after we looked for one."""
    (tmp_path / "prison").mkdir()
    (tmp_path / "prison/file").write_bytes(SECRET)
    (tmp_path / "work/swap").mkdir()
    (tmp_path / "work/swap/file").write_bytes(b"mine")
    real = os.readlink

    def readlink(path: str, *, dir_fd: int) -> str:
        try:
            return real(path, dir_fd=dir_fd)
        finally:
            place = tmp_path / ("work/swap" if name == "swap" else "work/swap/file")
            if path == name and not place.is_symlink():
                place.rename(tmp_path / "work/spare")
                place.symlink_to(tmp_path / "prison" / ("" if name == "swap" else "file"))

    monkeypatch.setattr("skilleval.harness.tools.beneath.os.readlink", readlink)
    with pytest.raises(OSError):
        read_file(tree, "/place/swap/file", 100)
    (tmp_path / "work/swap").unlink() if name == "swap" else (tmp_path / "work/swap/file").unlink()
    (tmp_path / "work/spare").rename(
        tmp_path / "work" / ("swap" if name == "swap" else "swap/file")
    )
    with pytest.raises(OSError):
        write_file(tree, "/place/swap/file", b"written")
    assert (tmp_path / "prison/file").read_bytes() == SECRET
    assert os.listdir(tmp_path / "prison") == ["file"]


NAMES = ["work", "a", "b", "file", "up", "out", "far", "root", "host", "home", "here", "loop"]
PARTS = st.one_of(
    st.sampled_from([*NAMES, "deep", "away", "skills", "ro", "..", ".", "", "secret", "etc"]),
    st.text(max_size=3),
    st.just("x" * 256),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(PARTS, max_size=12), st.lists(st.lists(PARTS, max_size=5), max_size=3))
def test_no_path_escapes(parts: list[str], links: list[list[str]]) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        tree = world(root)
        for number, target in enumerate(links):
            with suppress(OSError, ValueError):
                (root / "work/a" / f"l{number}").symlink_to("/".join(target) or ".")
        path = "/" + "/".join([*parts, *(f"l{n}" for n in range(len(links)))])
        for each in (path, "/place/" + path, "/place/a" + path):
            with suppress(OSError):
                assert read_file(tree, each, 100).data != SECRET
            with suppress(OSError):
                write_file(tree, each, b"written")
            with suppress(OSError), tree.spot(each) as spot:
                assert spot.inside == "/place" or spot.inside.startswith("/place/")
        assert (root / "secret").read_bytes() == SECRET
        assert sorted(os.listdir(root)) == ["other", "secret", "work"]
        assert (root / "other/file").read_bytes() == b"other"
