"""Writing files: the old content or the new one, and nothing left over."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from skilleval.files import write_atomically, write_new

both = pytest.mark.parametrize("write", [write_atomically, write_new])
Writer = Callable[[str, bytes], None]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def mask() -> int:
    before = os.umask(0)
    os.umask(before)
    return before


@both
def test_a_file_is_written(write: Writer, tmp_path: Path, mask: int) -> None:
    path = tmp_path / "a"
    write(str(path), b"new")
    assert path.read_bytes() == b"new"
    assert mode(path) == 0o666 & ~mask
    assert os.listdir(tmp_path) == ["a"]


@both
def test_a_path_may_be_relative(
    write: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write("a", b"new")
    assert Path("a").read_bytes() == b"new"


@pytest.mark.parametrize("bits", [0o600, 0o755, 0o444])
def test_a_file_keeps_its_mode(tmp_path: Path, bits: int) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(bits)
    write_atomically(str(path), b"new")
    assert path.read_bytes() == b"new"
    assert mode(path) == bits


def test_a_file_that_is_there_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(FileExistsError):
        write_new(str(path), b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_nor_is_a_link_to_nowhere(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("nowhere")
    with pytest.raises(FileExistsError):
        write_new(str(tmp_path / "a"), b"new")
    assert os.listdir(tmp_path) == ["a"]


@both
def test_a_full_disk_leaves_nothing(
    write: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "old").write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", full)
    for name in ("a", "old"):
        with pytest.raises(OSError, match="No space left"):
            write(str(tmp_path / name), b"new")
    assert os.listdir(tmp_path) == ["old"]
    assert (tmp_path / "old").read_bytes() == b"old"


@both
def test_no_folder(write: Writer, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write(str(tmp_path / "none" / "a"), b"new")
    with pytest.raises(OSError):
        write(str(tmp_path), b"new")
    assert os.listdir(tmp_path) == []


@both
def test_an_interruption_leaves_nothing(
    write: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(handle: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(str(tmp_path / "a"), b"new")
    assert os.listdir(tmp_path) == []


def test_a_file_system_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: str, target: str) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / "a"
    write_new(str(path), b"new")
    assert path.read_bytes() == b"new"
    with pytest.raises(FileExistsError):
        write_new(str(path), b"newer")
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a"]


def test_the_mask_of_the_process_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads write at once, and it belongs to all of them."""

    def never(mask: int) -> int:
        raise AssertionError

    monkeypatch.setattr(os, "umask", never)
    write_atomically(str(tmp_path / "a"), b"new")
    write_new(str(tmp_path / "b"), b"new")


def test_one_of_many_wins(tmp_path: Path) -> None:
    path, won = tmp_path / "a", list[int]()

    def write(number: int) -> None:
        try:
            write_new(str(path), b"%d" % number)
            won.append(number)
        except FileExistsError:
            pass

    threads = [threading.Thread(target=write, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert path.read_bytes() == b"%d" % won[0]
    assert os.listdir(tmp_path) == ["a"]
