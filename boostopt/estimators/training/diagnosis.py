"""The diagnosis of a fitted classifier: all findings with their numbers, and short warnings about them.

A warning is one line whose text depends on the reason alone, so that Python shows it once for many fits. The numbers,
and what to do, are in the diagnosis.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from dataclasses import dataclass
from html import escape
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from boostopt._utils.formatting import format_interval, html_table
from boostopt.errors import MarginWarning
from boostopt.estimators.training.margin_summary import MarginSummary

NO_FINDINGS = "Nothing to report."
"""The text of a diagnosis without findings."""

SHOWN_ONCE = ("default", "module", "once")
"""The actions of Python's filters that show a text once for each line of code, or less often."""

POINTER = "See diagnosis_."
"""The end of each short warning."""


@dataclass(frozen=True)
class Finding:
    """A fact about a fit that its user should know.

    Attributes
    ----------
    category
        The category of the warning: MarginWarning or ConvergenceWarning. None for a fact that causes no warning.
    reason
        The fact in short, the same text for all fits that it concerns.
    details
        The fact with its numbers, and what to do.
    """

    category: type[Warning] | None
    reason: str
    details: str


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis:
    """The findings about a fitted classifier, with the numbers that they depend on.

    Attributes
    ----------
    findings
        The findings; () if there are none.
    summaries
        The numbers of the run of two classes, or of each class against the rest.
    """

    findings: tuple[Finding, ...]
    summaries: tuple[MarginSummary, ...]

    def __str__(self) -> str:
        return "\n".join(finding.details for finding in self.findings) or NO_FINDINGS

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        header = ("class", "share of the smaller class", "nu", "soft margin", "f(x) = 0 on", "above f(x) = 0")
        table = html_table("Diagnosis", [_summary_row(summary) for summary in self.summaries], header)
        items = "".join(f"<li>{escape(finding.details)}</li>" for finding in self.findings)
        return f"{table}<ul>{items}</ul>" if items else f"{table}<p>{escape(NO_FINDINGS)}</p>"

    def issue_warnings(self, stacklevel: int) -> None:
        """Issue one short warning for each category of findings, about the first of them.

        Parameters
        ----------
        stacklevel
            The stack level of the warnings, counted from the caller, as in `warnings.warn`.
        """
        for category in (ConvergenceWarning, MarginWarning):
            findings = [finding for finding in self.findings if finding.category is category]
            if findings:
                details = " ".join(finding.details for finding in findings)
                warn_once(category(f"{findings[0].reason}. {POINTER}"), details, stacklevel + 1)


def _summary_row(summary: MarginSummary) -> tuple[Any, ...]:
    """Return the cells of a summary in a table."""
    bounds, zero_fraction = summary.soft_margin_bounds, summary.zero_fraction
    return (
        summary.label or "both",
        float(summary.minority_fraction),
        "" if summary.nu is None else float(summary.nu),
        "" if bounds is None else format_interval(*bounds),
        "" if zero_fraction != zero_fraction else f"{zero_fraction:.0%}",  # nan if it is unknown
        "" if bounds is None else "no" if summary.is_unproved else "yes",
    )


_SHOWN: set[tuple[Any, ...]] = set()
"""The warnings that were shown: text, category, file, line, and Python's filters and printing function at that time."""


def warn_once(warning: Warning, details: str, stacklevel: int) -> None:
    """Issue a warning, unless a filter shows equal texts once and this text was shown for the same line of code.

    Python itself forgets what it has shown as soon as a block `catch_warnings` begins or ends, and scikit-learn's
    checks of arrays contain such a block. Here only other filters, or another function that prints, count.

    Parameters
    ----------
    warning
        The warning. Its attribute `details` becomes the details.
    details
        The text with all numbers.
    stacklevel
        As in `warnings.warn`, counted from the caller.
    """
    vars(warning)["details"] = details
    frame: Any = inspect.currentframe()
    for _ in range(stacklevel):
        frame = frame.f_back or frame
    module, line = str(frame.f_globals.get("__name__", "")), int(frame.f_lineno)
    filters: Any = warnings.filters
    key = (str(warning), type(warning), frame.f_code.co_filename, line, tuple(filters), warnings.showwarning)
    # Filters of a context, a choice of Python 3.14 and later, are not in the list of the module.
    is_global = not getattr(sys.flags, "context_aware_warnings", False)
    if is_global and _filter_action(warning, module, line) in SHOWN_ONCE:
        if key in _SHOWN:
            return
        _SHOWN.add(key)
    warnings.warn(warning, stacklevel=stacklevel + 1)


def _filter_action(warning: Warning, module: str, line: int) -> str:
    """Return the action of the first of Python's filters that applies to a warning."""
    for action, message, category, module_pattern, filter_line in warnings.filters:
        if (
            isinstance(warning, category)
            and filter_line in (0, line)
            and (message is None or message.match(str(warning)))
            and (module_pattern is None or module_pattern.match(module))
        ):
            return action
    return "default"
