"""Sentences about what solvers claim: whether an answer keeps the solver's own test, and the form that it is of."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from boostopt.backends.cvxpy.cvxpy_backend import NAME_PREFIX
from boostopt.comparison.solve_record import INFEASIBLE, SolveRecord

STOPPING_TEST_TEXT = (
    "Own test: the largest residual of the answer over what the stopping test of the solver allows, by the definition "
    "of its authors, in the numbers that it got; at most 1 if the answer keeps the test. A kept test proves no gap."
)
"""The meaning of the column of stopping tests."""


def stopping_test_sentences(runs: Iterable[SolveRecord]) -> list[str]:
    """Return a sentence for each solver that claims an optimum but proves too wide a gap: whether it kept its own test.

    Of several runs of a solver, the one whose gap is the largest multiple of the gap to reach counts.
    """
    widest: dict[str, SolveRecord] = {}
    for run in runs:
        if run.ran and run.claims and not run.has_target_gap and run.stopping_test_ratio is not None:
            present = widest.get(run.backend)
            if present is None or run.scaled_gap / run.tol > present.scaled_gap / present.tol:
                widest[run.backend] = run
    return [
        f'{run.backend} says "{run.solver_status}"{_accuracy_text(run)} and {stopping_test_text(run)}, but its answer '
        f"proves {f'a gap of {run.scaled_gap:.1e}' if math.isfinite(run.scaled_gap) else 'no gap'}."
        for run in widest.values()
    ]


def stopping_test_text(run: SolveRecord) -> str:
    """Return whether an answer keeps the stopping test of its solver, as a predicate.

    It is "" if the test is not known, and if the solver says that there is no optimum, whose tests are others.
    """
    ratio = run.stopping_test_ratio
    if ratio is None or INFEASIBLE.search(run.solver_status or ""):
        return ""
    if ratio <= 1.0:
        return f"keeps its own stopping test (residuals at most {ratio:.2g} times the limit)"
    return f"does not keep its own stopping test in the numbers that it got (a residual is {ratio:.2g} times the limit)"


def _accuracy_text(run: SolveRecord) -> str:
    """Return the accuracy that a solver was asked for, or that it was not asked for one."""
    return " at its default accuracy" if run.finest_accuracy is None else f" at {run.finest_accuracy:.0e}"


def ratio_cell(ratio: float | None) -> str:
    """Return the cell of the largest residual over what the own stopping test of a solver allows; "-" for none."""
    return "-" if ratio is None else f"{ratio:.2g}"


def forms_text(runs: Iterable[SolveRecord]) -> str:
    """Return the forms in which the solvers behind CVXPY gave their best answers, with the counts; "" for none."""
    counts: dict[str, Counter[str]] = {}
    for run in runs:
        if run.ran and run.form and (run.answered_by or run.backend).startswith(NAME_PREFIX):
            counts.setdefault(run.backend, Counter())[run.form] += 1
    texts = [
        f"{backend} {', '.join(f'{form} ({count})' for form, count in forms.most_common())}"
        for backend, forms in counts.items()
    ]
    return f"Forms of the best answers, with the number of solves: {'; '.join(texts)}." if texts else ""
