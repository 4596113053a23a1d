"""Selection of histogram Newton by `boost`: the inputs that it supports, and those for which it is the default."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.boosting.boost_options import OPTIONS, BoostOptions, BoostRequest
from boostopt.boosting.boosting_problem import Problem, exact_objective_of_problem
from boostopt.boosting.histogram_newton.histogram_run import HistogramRun
from boostopt.boosting.histogram_newton.newton_solver import MIN_COLUMNS
from boostopt.boosting.objectives.exact_objective import ExactObjective, ExactSoftMargin
from boostopt.boosting.run.run_file import HISTOGRAM_KIND, load, run_kind
from boostopt.errors import BoostoptError, OptionError, short_repr
from boostopt.oracles.base import HypothesisClass, Oracle
from boostopt.oracles.binned_class import BinnedClass, BinnedOracle
from boostopt.programs.boosting_spec import FinalWeights, UpdateKind
from boostopt.programs.formulation import Formulation
from boostopt.programs.program import Examples, call_formulation
from boostopt.rows.binned_rows import BinnedRows

MIN_EPSILON = 1e-5
"""The smallest epsilon of histogram Newton: example weights are rounded to 2^-20 of the largest one."""

FINE_EPSILON, FEW_EXAMPLES = 0.0003, 1000
"""The epsilon and the number of examples below which floating-point updates are faster, and the default."""

MIN_PRICE_FRACTION = 0.1
"""The smallest cost of the entropy, as a fraction of epsilon. A larger eta needs finer numbers."""

NEGLIGIBLE_FRACTION = 1e-6
"""The fraction of the examples below which N - nu counts as 0: all weights are equal, and the entropy costs nothing."""

SUPPORTED_OPTIONS = (
    "max_rounds",
    "time_limit",
    "columns_per_round",
    "start",
    "history",
    "at_zero",
    "checkpoint",
    "checkpoint_rounds",
    "checkpoint_seconds",
    "progress",
)
"""The options that histogram Newton supports or may ignore; other options need floating-point updates."""


def is_default(formulation: Formulation[Any], oracle: HypothesisClass, epsilon: object, backend: object) -> bool:
    """Return whether histogram Newton is the default where it is supported: no backend is named, and it is not slower.

    Floating-point updates are faster for few examples and a small epsilon, if they are not those of bounded edges:
    these lower the bound by epsilon a round.
    """
    fine = isinstance(epsilon, float | int) and epsilon < FINE_EPSILON
    bounds_edges = formulation.boosting.final_weights is FinalWeights.SCALED
    slower = fine and not bounds_edges and isinstance(oracle, BinnedOracle) and oracle.N < FEW_EXAMPLES
    return (
        formulation.boosting.update is UpdateKind.TOTAL
        and isinstance(backend, str)
        and backend == "auto"
        and not slower
    )


def backend_prevents_histogram_newton(request: BoostRequest, backend: object) -> bool:
    """Return whether histogram Newton would be the default if no backend were named."""
    if backend == "auto" or not is_default(request.formulation, request.oracle, request.epsilon, "auto"):
        return False
    return histogram_inputs(request) is not None


def unsupported_request(request: BoostRequest, backend: object, update: str | None, rules: object, d0: object) -> str:
    """Return the argument of `boost` that data passes do not support, for messages."""
    if update is not None and update != "newton":
        return f'update="{update}"'
    arguments = {"rules": rules, "d0": d0}
    for name, value in arguments.items():
        if value is not None:
            return f"{name}={short_repr(value)}"
    formulation, options, default = request.formulation, request.options, BoostOptions()
    if formulation.boosting.update is not UpdateKind.TOTAL:
        return f"{formulation.name}, which has updates of its own"
    if update is None and backend != "auto":
        return f'backend="{getattr(backend, "name", backend)}"'
    for name in OPTIONS:
        if name not in SUPPORTED_OPTIONS and getattr(options, name) != getattr(default, name):
            return f"{name}={short_repr(getattr(options, name))}"
    for name, value in request.parameters.items():
        if np.ndim(value) > 0:
            return f"{name} with one value for each example"
    if request.epsilon is not None:
        return f"{formulation.name} with epsilon={request.epsilon:g}"
    return f"{formulation.name} with these parameters"


def run_histogram_newton(request: BoostRequest) -> tuple[HistogramRun | None, BoostOptions | None]:
    """Return the histogram run of a request; None if floating-point updates must start or continue.

    The second value holds the options of the updates that continue a histogram run, of this call or of a checkpoint;
    None otherwise.

    Raises
    ------
    BoostoptError
        The rows are on a cluster, where no other update works, and a parameter is wrong; or the checkpoint is of
        another run.
    """
    inputs, options = histogram_inputs(request), request.options
    if inputs is None:
        return None, None
    file = options.checkpoint
    if file is not None and os.path.isfile(file) and run_kind(file) != HISTOGRAM_KIND:
        was_continued = _was_continued_from_histogram(file, request.formulation, options)
        return None, _with_histogram_columns(options) if was_continued else options
    run = HistogramRun.solve(*inputs, options)
    return (None, continuation_options(run, options)) if run.needs_float_steps else (run, None)


def histogram_inputs(request: BoostRequest) -> tuple[Problem, ExactObjective, BinnedClass, BinnedRows] | None:
    """Return the reduced problem, the objective, the oracle and its rows; None if one is not supported.

    Histogram Newton supports oracles with binned rows and smooth regularizers on a capped simplex that are a sum over
    the examples and depend on their multiplicities only, with an epsilon of at least 1e-5. G is the largest edge, and
    the entropy costs at most half of epsilon; or G bounds the edges.

    Raises
    ------
    BoostoptError
        The rows are on a cluster, where no other update works, and a parameter is wrong.
    """
    oracle = request.oracle
    if not isinstance(oracle, BinnedClass) or not _options_supported(request.parameters, request.options):
        return None
    try:
        inputs = reduced_problem(request.formulation, oracle, request.epsilon, request.parameters)
    except BoostoptError:
        if not isinstance(oracle, Oracle):
            raise
        return None  # the full problem raises the error, or has no two representative examples
    rows, start = None if inputs is None else oracle.binned_rows, request.options.start
    if inputs is None or rows is None:
        return None
    has_start = start is None or (isinstance(start, HistogramRun) and start.may_start(inputs[0], oracle))
    return (*inputs, oracle, rows) if has_start else None


def reduced_problem(
    formulation: Formulation[Any], oracle: BinnedClass, epsilon: float | None, settings: Mapping[str, Any]
) -> tuple[Problem, ExactObjective] | None:
    """Return the problem with two representative examples and the objective; None if they are not supported.

    One of the two represents nu examples, which hold all weight at the cap, and the other one the rest. The entropy
    then has the same cost as over all examples: its maximum lies there [theorem 13]. If the formulation needs all
    examples, the problem has all of them.
    """
    total = oracle.total

    def create_problem(c: Float[Array, " n"]) -> Problem:
        problem = Problem.create(formulation, c, None, epsilon, "newton", settings)
        _ = problem.conjugate_at_margins(np.zeros(len(c))), problem.affordable
        problem.regularizer_at_level(0, Examples(np.array([total]), np.ones(1))).conjugate_at(np.zeros(1))
        return problem

    def create_checked_problem(c: Float[Array, " n"]) -> Problem:
        # A formulation may have parameters with one number for each example, which do not fit two examples.
        return call_formulation(formulation.name, "regularizer", lambda: create_problem(c), Problem)

    # A parameter nu is nearly always that of the objective, and then the first problem is the final one.
    nu = settings.get("nu")
    expected_nu = float(nu) if isinstance(nu, int | float) and 0.0 < nu < total else total
    problem = create_checked_problem(representative_multiplicities(formulation, oracle, expected_nu))
    objective = exact_objective_of_problem(problem, total)
    if objective is None:
        return None
    c = representative_multiplicities(
        formulation, oracle, float(objective.nu) if isinstance(objective, ExactSoftMargin) else total
    )
    problem = problem if np.array_equal(c, problem.examples.c) else create_checked_problem(c)
    if problem.epsilon < MIN_EPSILON * objective.unit:
        return None
    if problem.edge_function.edge_bound is not None:
        return (problem, objective) if formulation.boosting.final_weights is FinalWeights.SCALED else None
    fits = formulation.boosting.final_weights is FinalWeights.PROGRAM and problem.affordable
    is_smoothed = isinstance(objective, ExactSoftMargin) and settings.get("eta")
    return (
        (problem, objective)
        if fits and not (is_smoothed and problem.F.price < MIN_PRICE_FRACTION * problem.epsilon)
        else None
    )


def representative_multiplicities(
    formulation: Formulation[Any], oracle: HypothesisClass, nu: float
) -> Float[Array, " n"]:
    """Return the multiplicities of two representative examples, or of all examples if the formulation needs them.

    Raises
    ------
    OptionError
        The formulation needs all examples, and they are on a cluster.
    """
    total = oracle.total
    if formulation.needs_all_examples:
        if not isinstance(oracle, Oracle):
            raise OptionError(
                f"rows on a cluster need a formulation whose F depends on the multiplicities of the examples alone; "
                f"{formulation.name} may depend on more. If it does not, write needs_all_examples = False in its "
                "class; otherwise load the rows into memory."
            )
        return oracle.c
    return np.array([nu, total - nu]) if total - nu > NEGLIGIBLE_FRACTION * total else np.array([total, total]) / 2


def continuation_options(run: HistogramRun, options: BoostOptions) -> BoostOptions:
    """Return the options of floating-point updates that continue a histogram run."""
    max_rounds, limit = options.max_rounds, options.time_limit
    return replace(
        _with_histogram_columns(options),
        start=run,
        max_rounds=None if max_rounds is None else max(max_rounds - run.rounds, 1),
        time_limit=None if limit is None else max(limit - run.evaluations[-1].seconds, 1e-3),
    )


def _was_continued_from_histogram(
    file: str | PathLike[str], formulation: Formulation[Any], options: BoostOptions
) -> bool:
    """Return whether a checkpoint continues a histogram run: its updates alone cannot have added so many columns.

    Raises
    ------
    DataError
        The checkpoint is damaged, or of another version.
    """
    record, _ = load(file, formulation)
    return record.pool.t > options.columns_per_round * record.state.round


def _with_histogram_columns(options: BoostOptions) -> BoostOptions:
    """Return options with the number of columns a round of histogram Newton."""
    return replace(options, columns_per_round=max(options.columns_per_round, MIN_COLUMNS))


def _options_supported(settings: Mapping[str, Any], options: BoostOptions) -> bool:
    """Return whether histogram Newton supports the options, and no parameter has one number for each example."""
    default = BoostOptions()
    is_supported = all(
        getattr(options, name) == getattr(default, name) for name in OPTIONS if name not in SUPPORTED_OPTIONS
    )
    return is_supported and all(np.ndim(value) == 0 for value in settings.values())
