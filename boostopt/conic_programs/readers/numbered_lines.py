"""Lines of text files with their numbers, so that a refusal names the line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from boostopt.errors import DataError

T = TypeVar("T")

MAX_QUOTED_LENGTH = 60
"""Largest number of characters of a line in a message."""


NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
"""A decimal number. Python's `float` also takes 1_0, digits of other alphabets, inf and nan."""

MAX_COUNT = 10**8
"""Largest count or index in a file."""

MAX_UNLISTED = 10**7
"""Largest number of entries that a file may state without listing them: arrays of this size take about 1 GB."""

LINE_ENDS = re.compile(r"\r\n|\n|\r")
"""Ends of lines. `str.splitlines` also splits at characters that comments and names may contain."""

SPACES = " \t"
"""Spaces of lines; a line with other ones is refused."""

LONE_RETURN = re.compile(r"\r(?!\r*\n)")
"""A carriage return that ends a line for some tools, and is a space for others."""


class TextLines:
    """The lines of a file, without comments and empty lines.

    Parameters
    ----------
    path
        Names the file in messages.
    text
        The content of the file.
    format_name
        Names the format in messages.
    comment_marks
        Characters; a line that begins with one of them is a comment.
    is_stripped
        Whether lines are read without the spaces around them. Else a comment begins in the first column.

    Raises
    ------
    DataError
        Some lines end with a carriage return alone, and others with a line feed.
    """

    def __init__(self, path: Path, text: str, format_name: str, comment_marks: str, is_stripped: bool = True) -> None:
        self._path, self._format_name, self._comment_marks = path, format_name, comment_marks
        strip = str.strip if is_stripped else str.rstrip
        self._lines: Iterator[tuple[int, str]] = (
            (number, line)
            for number, full_line in enumerate(LINE_ENDS.split(text), start=1)
            if (line := strip(full_line, SPACES)) and line[0] not in self._comment_marks
        )
        self._number: int = 0
        self._line: str = ""
        if "\n" in text and (lone := LONE_RETURN.search(text)) is not None:
            lines = LINE_ENDS.split(text[: lone.start()])
            self._number, self._line = len(lines), lines[-1]
            raise self.error("one end of all lines, for tools differ in whether a carriage return ends a line")

    def end_comments(self) -> None:
        """Return lines that begin with the mark of a comment from now on."""
        self._comment_marks = ""

    def read_line(self, expected: str) -> str:
        """Return the next line.

        Raises
        ------
        DataError
            There is none.
        """
        line = self.read_optional_line()
        if line is None:
            raise self.end_error(expected)
        return line

    def read_optional_line(self) -> str | None:
        """Return the next line, or None at the end of the file.

        Raises
        ------
        DataError
            It has a character that is neither printable nor a space, which tools read as a space or as a letter.
        """
        numbered_line = next(self._lines, None)
        if numbered_line is None:
            return None
        self._number, self._line = numbered_line
        if not self._line.replace("\t", " ").isprintable():
            raise self.error("printable characters, spaces and tabs")
        return self._line

    def read_fields(self, expected: str, *types: Callable[[str], T]) -> list[T]:
        """Return the fields of the next line, converted one by one.

        Raises
        ------
        DataError
            The line has another number of fields, or one cannot be converted.
        """
        fields = self.read_line(expected).split()
        if len(fields) != len(types):
            raise self.error(expected)
        try:
            return [convert(field) for convert, field in zip(types, fields, strict=True)]
        except ValueError:
            raise self.error(expected) from None

    def end_error(self, expected: str) -> DataError:
        """Return the error for a file that ends too early."""
        return DataError(
            f"{self._path}: expected {expected} as {self._format_name}; got the end of the file. Take the whole file."
        )

    def error(self, expected: str) -> DataError:
        """Return the error for the line that was read last."""
        text = self._line.strip()
        line = text if len(text) <= MAX_QUOTED_LENGTH else f"{text[: MAX_QUOTED_LENGTH - 3]}..."
        return DataError(
            f"{self._path}, line {self._number}: expected {expected} as {self._format_name}; got {line!r}. Correct the "
            "line."
        )


def finite_number(text: str) -> float:
    """Return a finite number.

    Raises
    ------
    ValueError
        The text is no decimal number, or its size is outside the range of floats: none becomes infinite or 0.
    """
    match = NUMBER.fullmatch(text)
    if match is None:
        raise ValueError(f"{text} is no number")
    value = float(text)
    if value - value != 0.0 or (value == 0.0 and match[1].strip("0.")):
        raise ValueError(f"{text} is outside the range of floats")
    return value


def count_number(text: str) -> int:
    """Return a whole number from 0 to MAX_COUNT.

    Raises
    ------
    ValueError
        The text is none.
    """
    if not (text.isascii() and text.isdigit() and len(text.lstrip("0")) <= len(str(MAX_COUNT))):
        raise ValueError(f"{text} is no whole number of at least 0")
    if int(text) > MAX_COUNT:
        raise ValueError(f"{text} is larger than {MAX_COUNT}")
    return int(text)
