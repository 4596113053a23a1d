"""HTML page of a report: the template with escaped contents, written completely or not at all."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import Any

from boostopt._utils.files import write_atomically
from boostopt._utils.validation import check_instance, check_path
from boostopt.comparison.benchmark_result import Benchmark
from boostopt.comparison.compare import Comparison
from boostopt.comparison.solve_results import SolveResults
from boostopt.comparison.work_precision.work_precision import WorkPrecision
from boostopt.reporting.requirements import check_place, check_tools

TEMPLATE_FOLDER = Path(__file__).parent
"""Folder of the template and of its style."""

UNPRINTABLE_PATTERN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that an HTML page must not contain: control characters and surrogates."""

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""Character in place of an unprintable one."""


def to_html(result: Comparison | Benchmark | WorkPrecision) -> str:
    """Return the report of a comparison, a benchmark, or work and precision: one page of HTML that needs no other file.

    Parameters
    ----------
    result
        The result of `boostopt.compare`, `boostopt.benchmark` or `boostopt.precision`, or of
        `boostopt.comparison.documents.load_results`.

    Raises
    ------
    ReportToolsNotFound
        A package that reports need is not installed.
    OptionError
        `result` is none of these.
    """
    check_tools()
    check_instance("result", result, SolveResults, "what compare, benchmark or precision returns", "Pass that.")
    from boostopt.reporting.report_data import build_report_data

    return _load_template().render(c=build_report_data(result))


def report(result: Comparison | Benchmark | WorkPrecision, path: str | os.PathLike[str]) -> None:
    """Write the report of a comparison, a benchmark, or work and precision.

    Parameters
    ----------
    result
        As in `to_html`.
    path
        The file. An existing file is replaced completely or not at all.

    Raises
    ------
    ReportToolsNotFound
        A package that reports need is not installed.
    DataError
        The file cannot be written.
    """
    target = check_path("path", path)
    check_place(target)
    page = to_html(result).encode()
    write_atomically(target, lambda file: file.write(page))


@cache
def _load_template() -> Any:
    """Return the template, which escapes all its contents."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    from boostopt.comparison.rendering import result_sentences, score_sentences
    from boostopt.comparison.solve_results import conflicting_backends
    from boostopt.reporting import log_sections as logs

    environment = Environment(
        loader=FileSystemLoader(TEMPLATE_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_remove_unprintable,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    style = Markup((TEMPLATE_FOLDER / "report.css").read_text(encoding="utf-8"))
    names = {
        "style": style,
        "words": result_sentences,
        "score_words": score_sentences,
        "logs_of": logs,
        "conflicting_backends": conflicting_backends,
    }
    return environment.get_template("report.html", globals=names)


def _remove_unprintable(value: Any) -> Any:
    """Return text without characters that an HTML page must not contain; escaped text stays escaped."""
    return type(value)(UNPRINTABLE_PATTERN.sub(REPLACEMENT, value)) if isinstance(value, str) else value
