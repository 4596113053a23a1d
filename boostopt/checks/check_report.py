"""The result of a check, and the report of all checks of one component."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from boostopt._utils.formatting import format_count
from boostopt.errors import BoostoptError

MESSAGE_WIDTH = 72
"""Width of the column of words in the text table."""

OTHER_COLUMNS_WIDTH = 30
"""Width of the other columns, without the names."""

MIN_MESSAGE_WIDTH = 20
"""Width of the column of words on a narrow terminal."""


class ChecksFailed(BoostoptError, AssertionError):
    """A component violates the contract of its class; only `CheckReport.raise_if_failed` raises this."""


@dataclass(frozen=True)
class Check:
    """The measured result of one property of a component.

    Attributes
    ----------
    name
        The property, such as "fenchel-young".
    passed
        Whether all compared values lie within their tolerances.
    worst
        The measured value that is largest in proportion to its tolerance; inf if the component raised an exception,
        nan if the check does not apply to this component.
    tolerance
        The largest allowed value.
    words
        The compared quantities and their number; for a failure, also the argument and the size of the error, or the
        exception and the line of the user's file that raised it, as "file.py:31 in Class.method".
    """

    name: str
    passed: bool
    worst: float
    tolerance: float
    words: str


@dataclass(frozen=True)
class CheckReport:
    """The checks of one component, in order.

    Attributes
    ----------
    subject
        The checked component, in words.
    checks
        One entry for each property.
    """

    subject: str
    checks: tuple[Check, ...]

    def __iter__(self) -> Iterator[Check]:
        return iter(self.checks)

    def __len__(self) -> int:
        return len(self.checks)

    def __getitem__(self, name: str) -> Check:
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(f"no check {name!r} in this report; it has {', '.join(check.name for check in self.checks)}.")

    @property
    def passed(self) -> bool:
        """True if all checks passed."""
        return all(check.passed for check in self.checks)

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that did not pass."""
        return tuple(check for check in self.checks if not check.passed)

    def raise_if_failed(self) -> CheckReport:
        """Return the report itself.

        Raises
        ------
        ChecksFailed
            At least one check did not pass.
        """
        if self.passed:
            return self
        lines = "\n".join(f"  {check.name}: {check.words}" for check in self.failures)
        raise ChecksFailed(
            f"expected {self.subject} to pass {len(self)} checks; {len(self.failures)} failed:\n{lines}\n"
            "Correct what the words name; one mistake often fails several checks."
        )

    def __str__(self) -> str:
        return "\n".join(
            [*self._heading_lines(MESSAGE_WIDTH + OTHER_COLUMNS_WIDTH), *_table_lines(self.checks, MESSAGE_WIDTH)]
        )

    __repr__ = __str__

    def text(self, width: int, verbose: bool) -> str:
        """Return the verdict and, below it, the checks that failed, or all checks.

        Parameters
        ----------
        width
            Largest width of a line.
        verbose
            Whether the checks that passed are listed as well.
        """
        checks = self.checks if verbose else self.failures
        names = max((len(check.name) for check in checks), default=0)
        table = _table_lines(checks, max(width - OTHER_COLUMNS_WIDTH - names, MIN_MESSAGE_WIDTH)) if checks else []
        return "\n".join([*self._heading_lines(width), *table])

    def _repr_html_(self) -> str:
        cells = ("", "check", "measured", "tolerance", "in words")
        head = "".join(f"<th>{cell}</th>" for cell in cells)
        rows = "".join(
            f'<tr style="color:{"inherit" if check.passed else "#b00020"}">'
            f"<td>{_check_verdict(check)}</td><td>{html.escape(check.name)}</td>"
            f"<td>{_format_number(check.worst)}</td><td>{_format_number(check.tolerance)}</td>"
            f'<td style="text-align:left">{html.escape(check.words)}</td></tr>'
            for check in self.checks
        )
        return f"<table><caption>{html.escape(self._headline())}</caption><tr>{head}</tr>{rows}</table>"

    def _heading_lines(self, width: int) -> list[str]:
        """Return the lines above the table: the verdict."""
        return textwrap.wrap(self._headline(), width, break_on_hyphens=False)

    def _headline(self) -> str:
        """Return the subject and the verdict."""
        unasked = sum(_check_verdict(check) == "-" for check in self.checks)
        count = len(self) - unasked
        verdict = (
            f"{'all ' if count > 1 else ''}{format_count(count, 'check')} passed"
            if self.passed
            else f"{len(self.failures)} of {format_count(count, 'check')} failed, "
            + ", ".join(check.name for check in self.failures)
        )
        rest = f"; {unasked} {'was' if unasked == 1 else 'were'} not asked" if unasked else ""
        return f"{self.subject}: {verdict}{rest}"


def _table_lines(checks: Sequence[Check], width: int) -> list[str]:
    """Return the lines of a table of checks, with the words in a column of the given width."""
    names = max((len(check.name) for check in checks), default=0)
    lines = [f"{'':<6}  {'check':<{names}}  {'measured':>8}  {'allowed':>8}  in words"]
    for check in checks:
        words = textwrap.wrap(check.words, width, break_on_hyphens=False) or [""]
        numbers = f"{_format_number(check.worst):>8}  {_format_number(check.tolerance):>8}"
        lines.append(f"{_check_verdict(check):<6}  {check.name:<{names}}  {numbers}  {words[0]}")
        lines += [" " * (OTHER_COLUMNS_WIDTH + names) + line for line in words[1:]]
    return [line.rstrip() for line in lines]


def _check_verdict(check: Check) -> str:
    """Return the verdict in one word, a dash for a property that was not checked."""
    if not check.passed:
        return "FAILED"
    return "-" if check.worst != check.worst else "ok"


def _format_number(value: float) -> str:
    """Return a number with two digits, a dash for nan."""
    return "-" if value != value else f"{value:.1e}"
