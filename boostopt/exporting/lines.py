"""Text files of many lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO


def write_lines(file: IO[bytes], lines: Iterable[str]) -> None:
    """Write lines as ASCII."""
    file.writelines(f"{line}\n".encode("ascii", "backslashreplace") for line in lines)
