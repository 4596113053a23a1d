"""Files: reading npz files of plain arrays and compressed text, and atomic writing.

Every fault of a file becomes a DataError that names the fault. Nothing is unpickled, and nothing is decompressed
that would fill the memory.
"""

from __future__ import annotations

import bz2
import dataclasses
import errno
import glob
import gzip
import io
import lzma
import math
import os
import secrets
import shutil
import stat
import zipfile
import zlib
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

import numpy as np

from boostopt.errors import DataError, reason_of

_DECOMPRESSORS: dict[str, Callable[[Path], Any]] = {
    ".gz": lambda path: gzip.open(path, "rb"),
    ".bz2": lambda path: bz2.open(path, "rb"),
    ".xz": lambda path: lzma.open(path, "rb"),
}
_MARKS: dict[bytes, str] = {b"\x1f\x8b\x08": ".gz", b"BZh": ".bz2", b"\xfd7zXZ\x00": ".xz"}
"""The first bytes of compressed files; the suffix does not matter."""

_UNREADABLE = (OSError, EOFError, zlib.error, lzma.LZMAError)

MAX_UNPACKED_BYTES = 1 << 31
"""Largest size of a decompressed file, in bytes; a larger file may take as many bytes as it has on disk."""

_MAGIC = b"\x93NUMPY"

TOKEN_BYTES = 4
"""Random bytes in the name of a file that is being written."""


class Keys:
    """The keys under which files hold the attributes of a record: an attribute may be renamed, a key stays.

    Parameters
    ----------
    record
        The class of the record, a dataclass.
    attributes
        The attribute of each key, in the order of the file; properties only where they are written, never read.

    Raises
    ------
    AttributeError
        The class has no such attribute.
    """

    def __init__(self, record: type, attributes: Mapping[str, str]) -> None:
        fields = {field.name for field in dataclasses.fields(record)}
        if unknown := [name for name in attributes.values() if name not in fields and not hasattr(record, name)]:
            raise AttributeError(
                f"expected attributes of {record.__name__}; got {', '.join(unknown)}. Correct the table."
            )
        self.record = record
        self.attributes: Mapping[str, str] = MappingProxyType(dict(attributes))

    def to_file(self, record: object) -> dict[str, Any]:
        """Return the attributes of a record by key."""
        return {key: getattr(record, attribute) for key, attribute in self.attributes.items()}

    def from_file(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """Return values in a file by attribute, for the constructor of the record; keys may be missing.

        Raises
        ------
        ValueError
            A key is unknown.
        """
        if unknown := sorted(map(str, content.keys() - self.attributes.keys())):
            raise ValueError(f"expected the keys {', '.join(self.attributes)}; got {', '.join(unknown)}")
        return {attribute: content[key] for key, attribute in self.attributes.items() if key in content}


def resolve_target(path: str | os.PathLike[str]) -> Path:
    """Return the file to which a path leads: the target of a link, otherwise the path itself.

    Raises
    ------
    DataError
        The path is no regular file: a folder, a pipe, a device, or a circular link.
    """
    if "\0" in str(path):
        raise DataError(f"{str(path)!r} cannot be written: a path has no NUL. Choose another place.")
    target = Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)
    if os.path.lexists(target) and not target.is_file():
        reason = "it is a directory" if target.is_dir() else "it is no regular file"
        raise DataError(f"{path} cannot be written: {reason}. Choose another place.")
    return target


def is_same_file(path: str | os.PathLike[str], second: str | os.PathLike[str]) -> bool:
    """Return whether two paths denote one file, which need not exist; a path with a NUL denotes none."""
    if "\0" in f"{path}{second}":
        return False
    if os.path.exists(path) and os.path.exists(second):
        return os.path.samefile(path, second)
    return os.path.realpath(path) == os.path.realpath(second)


MIN_FREE_BYTES = 1 << 20
"""The free space without which no work begins whose results go into a file."""


def check_free_space(path: str | os.PathLike[str]) -> None:
    """Raise an error, before the work, for a file on a full disk, or in a folder that takes no such file.

    Raises
    ------
    DataError
        The disk has fewer than `MIN_FREE_BYTES` free bytes, or takes no file of this size, because of a quota for
        example.
    """
    target = resolve_target(path).absolute()
    free_bytes = shutil.disk_usage(target.parent).free
    if free_bytes < MIN_FREE_BYTES:
        raise DataError(
            f"{path} cannot be written: expected a disk with {MIN_FREE_BYTES:,} free bytes; it has {free_bytes:,}. "
            "Delete files, or choose another disk."
        )
    with _temporary_file(target) as file:
        reserve_bytes(file, MIN_FREE_BYTES)


def reserve_bytes(file: IO[bytes], n_bytes: int) -> None:
    """Enlarge a file; raise OSError, where the system can tell, if the disk is too full for the bytes."""
    try:
        os.posix_fallocate(file.fileno(), 0, n_bytes)
    except AttributeError:  # not on this system
        file.truncate(n_bytes)
    except OSError as failure:
        if failure.errno not in (errno.EOPNOTSUPP, errno.EINVAL):  # not on this disk
            raise
        file.truncate(n_bytes)


def write_atomically(target: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file under a temporary name and rename it, so that the file is always complete; links are followed.

    The permissions of a file that is replaced stay.

    Raises
    ------
    DataError
        The file cannot be written, or the path exists and is no regular file.
    """
    target = resolve_target(target)
    with _temporary_file(target) as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
        file.close()  # some systems rename no open file
        with suppress(OSError):  # there is no file, or this disk has no permissions
            shutil.copymode(target, file.name)
        os.replace(file.name, target)


@contextmanager
def _temporary_file(target: Path) -> Generator[IO[bytes]]:
    """Open a new file beside a target, and remove it at the end unless it has another name by then.

    Raises
    ------
    DataError
        The file cannot be made, or an OSError occurred in the block.
    """
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(TOKEN_BYTES)}.partial")
    try:
        with temporary.open("x+b") as file:
            yield file
    except OSError as failure:
        limit = _max_file_bytes() if failure.errno == errno.EFBIG else math.inf
        if limit < math.inf:
            raise DataError(
                f"{target} cannot be written: it needs more than {limit:,} bytes, and this process may write no larger "
                "file. Raise the limit on the size of files: ulimit -f."
            ) from failure
        reason = failure.strerror or failure  # the full text names the temporary file
        raise DataError(f"{target} cannot be written: {reason}. Choose another place.") from failure
    finally:
        with suppress(OSError):
            temporary.unlink()


def _max_file_bytes() -> float:
    """Return the size of the largest file that this process may write, in bytes; inf if the system has no limit."""
    try:
        import resource
    except ModuleNotFoundError:  # not on this system
        return math.inf
    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    return math.inf if limit == resource.RLIM_INFINITY else limit


def leftover_temporary_files(target: Path) -> Iterator[Path]:
    """Return the incomplete files that `write_atomically` left if its process was killed."""
    target = resolve_target(target)
    return target.parent.glob(f".{glob.escape(target.name)}.{'?' * 2 * TOKEN_BYTES}.partial")


def read_npz(path: Path, names: Collection[str] | None = None) -> dict[str, Any]:
    """Return the arrays of an npz file, all of them or the named ones; never unpickle.

    Raises
    ------
    DataError
        The file is no npz file of plain arrays, or the arrays would take more than `MAX_UNPACKED_BYTES` bytes and more
        than the file itself.
    """
    _check_regular(path)
    if not zipfile.is_zipfile(path):
        raise DataError(f"{path} is not an npz file, or it is truncated. Save named arrays with np.savez.")
    try:
        # Opened here, because NumPy leaves an unreadable file open.
        with path.open("rb") as file:
            check_members(path, file)
            with np.load(file, allow_pickle=False) as archive:
                # Members of the archive that are no arrays are read as bytes.
                selected = [name for name in archive.files if names is None or name in names]
                return {name: array for name in selected if isinstance(array := archive[name], np.ndarray)}
    except DataError:
        raise
    except Exception as failure:  # zipfile and NumPy raise nearly anything on a damaged file
        raise DataError(
            f"{path} is not a readable npz file of plain arrays: {reason_of(failure)}. Write it anew."
        ) from failure


def write_npz(file: IO[bytes] | io.BytesIO, arrays: Mapping[str, Any]) -> None:
    """Write arrays for `read_npz`: compressed, unless they are larger than `read_npz` decompresses."""
    size = sum(np.asarray(array).nbytes for array in arrays.values())
    write_plain_npz(file, arrays, compressed=size < MAX_UNPACKED_BYTES // 2)  # the other half is for headers


def write_plain_npz(file: IO[bytes] | io.BytesIO, arrays: Mapping[str, Any], compressed: bool = False) -> None:
    """Write plain arrays as npz.

    Raises
    ------
    TypeError
        An array holds objects, which only pickle could write. NumPy before 2.1 has no option that refuses them.
    """
    for name, array in arrays.items():
        if np.asarray(array).dtype.hasobject:
            raise TypeError(f"expected an array of numbers or texts as {name}; got one of objects. Convert it.")
    save = np.savez_compressed if compressed else np.savez
    save(file, **arrays)


def check_members(path: Path, file: IO[bytes] | io.BytesIO) -> None:
    """Check the sizes of members: DataError for arrays that would fill the memory, ValueError for false headers."""
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        size = sum(member.file_size for member in members)
        limit = max(MAX_UNPACKED_BYTES, file.seek(0, os.SEEK_END))
        if size > limit:
            raise DataError(
                f"{path} must hold arrays of at most {limit:,} bytes together; they would take {size:,}. Leave some "
                "out, or save them without compression: np.savez."
            )
        for member in members:
            with archive.open(member) as member_file:
                declared = _declared_size(member_file)
            if declared > member.file_size:
                raise ValueError(f"{member.filename} claims {declared:,} bytes, and has {member.file_size:,}")
    file.seek(0)


def _declared_size(file: Any) -> int:
    """Return the minimum size of an array in bytes, as its header declares; 0 if the file is no array."""
    if file.read(len(_MAGIC)) != _MAGIC:
        return 0
    file.seek(0)
    is_version_1 = np.lib.format.read_magic(file) == (1, 0)
    # The third version differs from the second only in the encoding of field names.
    shape, _, dtype = (np.lib.format.read_array_header_1_0 if is_version_1 else np.lib.format.read_array_header_2_0)(
        file
    )
    # Pickled objects are refused, of any size. Entries of 0 bytes count as 1: any number of them takes no space.
    return 0 if dtype.hasobject else math.prod(shape) * max(dtype.itemsize, 1)


def read_bytes(path: Path) -> bytes:
    """Return the decompressed bytes of a file; its suffix or its first bytes show the compression.

    Raises
    ------
    DataError
        The file cannot be read, or its content is larger than `MAX_UNPACKED_BYTES` bytes and than the file.
    """
    _check_regular(path)
    try:
        with _open_decompressed(path) as file:
            limit = max(MAX_UNPACKED_BYTES, path.stat().st_size)
            content = file.read(limit + 1)
    except FileNotFoundError as failure:
        raise DataError(f"{path} cannot be read: {failure.strerror}. Correct the path.") from failure
    except _UNREADABLE as failure:
        raise DataError(f"{path} cannot be read, it may be truncated: {reason_of(failure)}. Copy it anew.") from failure
    if len(content) > limit:
        raise DataError(f"{path} must have at most {limit:,} bytes; unpacked it has more. Unpack it before it is read.")
    return content


def _open_decompressed(path: Path) -> Any:
    """Open a file for reading, with decompression if it is compressed."""
    suffix = path.suffix.lower()
    if suffix not in _DECOMPRESSORS:
        with path.open("rb") as file:
            first = file.read(max(map(len, _MARKS)))
        suffix = next((suffix for mark, suffix in _MARKS.items() if first.startswith(mark)), "")
    return _DECOMPRESSORS[suffix](path) if suffix else path.open("rb")


def _check_regular(path: Path) -> None:
    """Raise DataError for a pipe or a device, which might never end."""
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise DataError(f"expected a regular file; {lack_of(path)}")


def lack_of(path: str | os.PathLike[str]) -> str:
    """Return why a path is no regular file, in words, and the advice."""
    name = os.fspath(path)
    if os.path.isdir(name):
        return f"{name!r} is a folder, no file. Pass the path of a file."
    if os.path.exists(name):
        file_type = "a pipe" if stat.S_ISFIFO(os.stat(name).st_mode) else "a device"
        return f"{name!r} is {file_type}, which cannot be read twice. Write its output into a file."
    return f"there is no file {name!r}. Check the path."


def file_suffix(path: Path) -> str:
    """Return the suffix in lower case, without the suffix of a compression."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in _DECOMPRESSORS else suffix
