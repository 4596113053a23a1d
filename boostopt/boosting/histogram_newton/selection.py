"""Where looks at the rows serve `boost`, and where they are its default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.boosting.column_count import columns_or_minimum, max_columns
from boostopt.boosting.histogram_newton.histogram_run import HistogramRun
from boostopt.boosting.histogram_newton.solver import MIN_COLUMNS
from boostopt.boosting.options import OPTIONS, BoostOptions
from boostopt.boosting.problem import Problem, exact_objective_of_problem
from boostopt.boosting.run.run_file import HISTOGRAM_KIND, load, run_kind
from boostopt.errors import BoostoptError, OptionError
from boostopt.objectives.exact import ExactObjective, ExactSoftMargin
from boostopt.oracles.base import Oracle
from boostopt.oracles.binned_oracle import BinnedOracle
from boostopt.programs.formulation import Formulation
from boostopt.programs.program import Examples, call_formulation
from boostopt.rows.binned_rows import BinnedRows

MIN_EPSILON = 1e-5
"""The finest accuracy that looks are for: weights of examples are rounded to 2^-20 of the largest."""

FINE_EPSILON, FEW_EXAMPLES = 0.005, 1000
"""Below this epsilon and this number of examples steps are faster, and looks must be asked for."""

MIN_PRICE_FRACTION = 0.1
"""Share of epsilon that the entropy costs at least: a larger eta, named, is for steps, whose numbers are finer."""

NEGLIGIBLE_FRACTION = 1e-6
"""Share of the examples below which those beside nu are none: all weights are equal then, and entropy costs nothing."""

SUPPORTED_OPTIONS = (
    "max_rounds",
    "time_limit",
    "columns_per_round",
    "history",
    "at_zero",
    "checkpoint",
    "checkpoint_rounds",
    "checkpoint_seconds",
    "progress",
)
"""The options that runs of looks know, or that say nothing to them; others are for steps in floating point."""


def is_default(page: Formulation[Any], oracle: Oracle, epsilon: object, backend: object) -> bool:
    """Return whether looks, where they serve, are the default: no backend is named, and steps are not faster.

    Steps are faster for few examples and a fine accuracy.
    """
    fine = isinstance(epsilon, float | int) and epsilon < FINE_EPSILON
    slower = fine and isinstance(oracle, BinnedOracle) and not oracle.aggregates_only and oracle.N < FEW_EXAMPLES
    return page.update == "total" and isinstance(backend, str) and backend == "auto" and not slower


def run_histogram_newton(
    page: Formulation[Any],
    oracle: Oracle,
    epsilon: float | None,
    settings: Mapping[str, Any],
    options: BoostOptions,
) -> tuple[HistogramRun | None, BoostOptions | None]:
    """Return the run of a formulation by looks at the rows; None where steps are to be made, or to go on.

    With it come the options of steps that go on where looks have ended, now or before a checkpoint; None for others.

    Raises
    ------
    BoostoptError
        The examples are out of reach for other steps, and a parameter is wrong; or the checkpoint is of another run.
    """
    found, file = histogram_inputs(page, oracle, epsilon, settings, options), options.checkpoint
    if found is None:
        return None, None
    if file is not None and Path(file).exists() and run_kind(file) != HISTOGRAM_KIND:
        return None, _with_histogram_columns(options) if _was_continued_from_histogram(file, page, options) else options
    run = HistogramRun.solve(*found, options)
    return (None, continuation_options(run, options)) if run.needs_float_steps else (run, None)


def histogram_inputs(
    page: Formulation[Any],
    oracle: Oracle,
    epsilon: float | None,
    settings: Mapping[str, Any],
    options: BoostOptions,
) -> tuple[Problem, ExactObjective, BinnedOracle, BinnedRows] | None:
    """Return the problem with counted examples, the aim, the oracle and its rows; None where looks do not serve.

    They serve Newton steps over an oracle of rows: for a smooth regularizer, a sum over the examples that knows these
    by their multiplicities alone, on a capped simplex, and an epsilon of 1e-5 or more; with the largest edge, where the
    entropy costs at most half of that, or with a bound of the edges.

    Raises
    ------
    BoostoptError
        The examples are out of reach for other steps, and a parameter is wrong.
    """
    if not isinstance(oracle, BinnedOracle) or not _options_supported(settings, options):
        return None
    try:
        found = reduced_problem(page, oracle, epsilon, settings)
    except BoostoptError:
        if oracle.aggregates_only:
            raise
        return None  # the problem of all examples tells what is wrong, or is one that two of them do not stand for
    rows = None if found is None else oracle.binned_rows
    return None if found is None or rows is None else (*found, oracle, rows)


def reduced_problem(
    page: Formulation[Any], oracle: BinnedOracle, epsilon: float | None, settings: Mapping[str, Any]
) -> tuple[Problem, ExactObjective] | None:
    """Return the problem, of two examples that stand for all if the page allows it, and the aim; None for no looks.

    One of the two stands for nu examples, which hold all weight at the cap, and the other one for all others. The
    entropy then costs what it costs among all of them: it is largest there [theorem 13]. The problem of a page that
    needs all examples is made of them.
    """
    total = oracle.total

    def made(c: Float[Array, " n"]) -> Problem:
        problem = Problem.create(page, c, None, epsilon, "newton", settings)
        _ = problem.conjugate_at_margins(np.zeros(len(c))), problem.affordable
        problem.regularizer_at_level(0, Examples(np.array([total]), np.ones(1))).conjugate_at(np.zeros(1))
        return problem

    def of(c: Float[Array, " n"]) -> Problem:
        # A page may tell examples apart by numbers of its own, which do not fit to others.
        return call_formulation(page.name, "regularizer", lambda: made(c), Problem)

    problem = of(representative_multiplicities(page, oracle, total))
    aim = exact_objective_of_problem(problem, total)
    if aim is None:
        return None
    c = representative_multiplicities(page, oracle, float(aim.nu) if isinstance(aim, ExactSoftMargin) else total)
    problem = problem if np.array_equal(c, problem.examples.c) else of(c)
    if problem.epsilon < MIN_EPSILON * aim.unit:
        return None
    if problem.edge_function.edge_bound is not None:
        return (problem, aim) if page.final_weights == "scaled" else None
    fit = page.final_weights == "program" and problem.affordable
    smoothed = isinstance(aim, ExactSoftMargin) and settings.get("eta")
    return (problem, aim) if fit and not (smoothed and problem.F.price < MIN_PRICE_FRACTION * problem.epsilon) else None


def representative_multiplicities(page: Formulation[Any], oracle: BinnedOracle, nu: float) -> Float[Array, " n"]:
    """Return the multiplicities of examples that stand for all: two, or these themselves if the page needs all.

    Raises
    ------
    OptionError
        The formulation needs all examples, and they are on a cluster.
    """
    total = oracle.total
    if page.needs_all_examples:
        if oracle.aggregates_only:
            raise OptionError(
                f"rows on a cluster need a formulation whose F depends on the multiplicities of the examples alone; "
                f"{page.name} may depend on more. If it does not, write needs_all_examples = False in its class; "
                "otherwise load the rows into memory."
            )
        return oracle.c
    return np.array([nu, total - nu]) if total - nu > NEGLIGIBLE_FRACTION * total else np.array([total, total]) / 2


def continuation_options(run: HistogramRun, options: BoostOptions) -> BoostOptions:
    """Return the options of a run that goes on where looks have ended."""
    most, limit = options.max_rounds, options.time_limit
    return replace(
        _with_histogram_columns(options),
        start=run,
        max_rounds=None if most is None else max(most - run.rounds, 1),
        time_limit=None if limit is None else max(limit - run.looks[-1].seconds, 1e-3),
    )


def _was_continued_from_histogram(file: str | PathLike[str], page: Formulation[Any], options: BoostOptions) -> bool:
    """Return whether steps began where looks had ended: they have not asked for so many hypotheses.

    Raises
    ------
    DataError
        The checkpoint is damaged, or of another version.
    """
    record, _ = load(file, page)
    return record.pool.t > max_columns(options.columns_per_round) * record.state.round


def _with_histogram_columns(options: BoostOptions) -> BoostOptions:
    """Return options with as many columns a round as looks take."""
    return replace(options, columns_per_round=columns_or_minimum(options.columns_per_round, MIN_COLUMNS))


def _options_supported(settings: Mapping[str, Any], options: BoostOptions) -> bool:
    """Return whether looks know the options, and no parameter tells examples apart."""
    default = BoostOptions()
    known = all(getattr(options, name) == getattr(default, name) for name in OPTIONS if name not in SUPPORTED_OPTIONS)
    return known and all(np.ndim(value) == 0 for value in settings.values())
