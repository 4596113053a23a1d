"""Files that are written: whole or not there, through links, and never over what is no regular file."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from boostopt import DataError
from boostopt._utils.files import (
    Keys,
    check_free_space,
    is_same_file,
    leftover_temporary_files,
    read_npz,
    resolve_target,
    write_atomically,
    write_plain_npz,
)


def test_a_link_is_followed(tmp_path: Path) -> None:
    folder, link = tmp_path / "elsewhere", tmp_path / "link"
    folder.mkdir()
    link.symlink_to(folder / "target")
    for content in (b"one", b"two"):  # where it leads nowhere yet, and where it leads to a file
        write_atomically(link, lambda file, content=content: file.write(content))
        assert link.is_symlink() and (folder / "target").read_bytes() == content
    (folder / f".target.{'0' * 8}.partial").touch()
    assert list(leftover_temporary_files(link)) == [folder / f".target.{'0' * 8}.partial"]


def test_the_permissions_of_a_replaced_file_stay(tmp_path: Path) -> None:
    path = tmp_path / "private"
    path.touch()
    path.chmod(0o600)
    write_atomically(path, lambda file: file.write(b"x"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and path.read_bytes() == b"x"
    write_atomically(tmp_path / "new", lambda file: file.write(b"x"))
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) & 0o600 == 0o600


@pytest.mark.parametrize("kind", ["pipe", "link to a pipe", "folder", "circle"])
def test_special_files_are_refused_and_stay(tmp_path: Path, kind: str) -> None:
    path, pipe = tmp_path / "out", tmp_path / "pipe"
    os.mkfifo(pipe)
    if kind == "pipe":
        path = pipe
    elif kind == "link to a pipe":
        path.symlink_to(pipe)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(path)
    fault = "it is a directory" if kind == "folder" else "it is no regular file"
    for write in (resolve_target, lambda path: write_atomically(path, lambda file: file.write(b"x"))):
        with pytest.raises(DataError, match=rf"cannot be written: {fault}\. Choose another place\."):
            write(path)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_full_disk_is_an_error_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_free_space(tmp_path / "run.npz")
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage._replace(free=4096 if folder == tmp_path else 0))
    with pytest.raises(DataError, match=r"run\.npz cannot be written: .* it has 4,096\. Delete files"):
        check_free_space(tmp_path / "run.npz")


@pytest.mark.parametrize("fault", ["EDQUOT", "EFBIG", "ENOSPC"])
def test_a_disk_that_takes_no_file_is_an_error_before_the_work(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quota, or a limit of the process, leaves free bytes of the disk that nobody may use."""
    number = getattr(errno, fault)

    def refuse(*arguments: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "posix_fallocate", refuse, raising=False)
    with pytest.raises(DataError, match=rf"run\.npz cannot be written: {os.strerror(number)}\. Choose another place"):
        check_free_space(tmp_path / "run.npz")
    assert not list(tmp_path.iterdir())


def test_a_limit_on_the_size_of_files_is_named(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, hard))
        with pytest.raises(DataError, match=r"run\.npz .* more than 600,000 bytes, .*: ulimit -f\.$"):
            check_free_space(tmp_path / "run.npz")
        with pytest.raises(DataError, match=r"run\.npz .* more than 600,000 bytes, .*: ulimit -f\.$"):
            write_atomically(tmp_path / "run.npz", lambda file: file.write(bytes(700_000)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list(tmp_path.iterdir())


def test_a_disk_that_reserves_no_bytes_is_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: int) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr(os, "posix_fallocate", refuse, raising=False)
    check_free_space(tmp_path / "run.npz")
    monkeypatch.delattr(os, "posix_fallocate")
    check_free_space(tmp_path / "run.npz")
    assert not list(tmp_path.iterdir())


def test_paths_of_one_file_are_told_from_others_also_where_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert is_same_file("a", "./a") and is_same_file("a", tmp_path / "x" / ".." / "a") and not is_same_file("a", "b")
    Path("a").touch()
    Path("b").hardlink_to("a")
    Path("c").symlink_to("d")
    assert is_same_file("a", "b") and is_same_file("c", "d") and not is_same_file("a", "c")


def test_arrays_of_objects_are_not_written(tmp_path: Path) -> None:
    """Only pickle could, and what reads them again would execute what it reads."""
    with (tmp_path / "a.npz").open("wb") as file, pytest.raises(TypeError, match=r"\bas b; got\b.*\bobjects\b"):
        write_plain_npz(file, {"a": np.ones(3), "b": np.array([None, 1])})
    with (tmp_path / "a.npz").open("wb") as file:
        write_plain_npz(file, {"a": np.ones(3), "text": np.array(["x"])}, compressed=True)
    assert set(read_npz(tmp_path / "a.npz")) == {"a", "text"}


@dataclass(frozen=True)
class Renamed:
    """A record whose attribute `weights` was once called w."""

    weights: int = 1
    level: int = 2


def test_keys_stay_where_an_attribute_is_renamed() -> None:
    keys = Keys(Renamed, {"w": "weights", "level": "level"})
    assert keys.to_file(Renamed(5, 6)) == {"w": 5, "level": 6}
    assert Renamed(**keys.from_file({"level": 6, "w": 5})) == Renamed(5, 6)
    assert Renamed(**keys.from_file({"w": 5})) == Renamed(5)
    with pytest.raises(ValueError, match="weights"):
        keys.from_file({"weights": 5})


def test_a_table_of_keys_names_fields() -> None:
    with pytest.raises(AttributeError, match="wieghts"):
        Keys(Renamed, {"w": "wieghts"})
