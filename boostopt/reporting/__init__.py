"""Comparisons as one page of HTML: formulation, data, certified intervals, tables, profiles, logs, provenance.

report
    Write the page of a comparison or a benchmark.
to_html
    Return it as text.

The page needs no other file, no script and no network. Making it needs Jinja, latex2mathml and matplotlib:
`pip install "boostopt[report]"`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from boostopt.lazy import loaded

if TYPE_CHECKING:
    from boostopt.reporting.page import report, to_html
    from boostopt.reporting.tools import ReportToolsNotFound, check_place, check_tools

_HOME = {
    "ReportToolsNotFound": "tools",
    "check_place": "tools",
    "check_tools": "tools",
    "report": "page",
    "to_html": "page",
}
"""The module of each public name."""

__all__ = ["ReportToolsNotFound", "check_place", "check_tools", "report", "to_html"]


def __getattr__(name: str) -> Any:
    """Load a public name from its module on first use."""
    return loaded(__name__, _HOME, name, globals())


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
