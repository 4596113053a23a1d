"""Checked arguments of pictures: runs by label, benchmarks, arrays, multiplicities, the nu of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector
from boostopt._utils.validation import check_array, check_optional, check_positive
from boostopt.boosting.objectives.soft_margin import SoftMarginObjective
from boostopt.boosting.run.run import Run
from boostopt.comparison.benchmark_result import Benchmark
from boostopt.errors import BoostoptError, OptionError, ProblemError
from boostopt.programs.program import Examples

T = TypeVar("T")


class MatplotlibNotFound(BoostoptError, ImportError):
    """Pictures need matplotlib, and it is not installed."""


def label_items(items: T | Mapping[str, T], description: str, label: str) -> dict[str, T]:
    """Return items by label; `label` is the label of a single item.

    Raises
    ------
    OptionError
        There is no item, or a label is not a text that a legend can show.
    """
    if not isinstance(items, Mapping):
        return {label: items}
    items_by_label: dict[Any, T] = dict(items)
    invalid = [name for name in items_by_label if not isinstance(name, str) or not name.strip() or name.startswith("_")]
    if not items_by_label or invalid:
        raise OptionError(
            f"expected {description}, or several by their labels, texts that do not begin with '_'; got "
            f"{f'the label {invalid[0]!r}' if invalid else 'none'}. Pass one thing at least, by a name to be shown."
        )
    return items_by_label


def algorithm_name(run: Run) -> str:
    """Return the name of a run's algorithm."""
    formulation = run.record.problem.formulation
    return formulation.title or formulation.name


def run_of_classifier(source: Any) -> Any:
    """Return the attribute `run_` of a two-class classifier; return any other source unchanged.

    Raises
    ------
    ProblemError
        The classifier is not fitted.
    """
    if hasattr(type(source), "run_") and not hasattr(source, "runs_"):
        raise ProblemError(f"a classifier must be fitted; {type(source).__name__} is not. Call fit(X, y) first.")
    return getattr(source, "run_", source)


def runs_by_label(runs: Any) -> dict[str, Run]:
    """Return runs by label; a classifier stands for its run, and a single run has the label of its algorithm.

    Raises
    ------
    OptionError
        A source is neither a run nor a two-class classifier with a run.
    """
    source = run_of_classifier(runs)
    sources: dict[str, Any] = label_items(source, "a run", algorithm_name(source) if isinstance(source, Run) else "")
    labelled_runs: dict[str, Run] = {}
    for label, item in sources.items():
        run = run_of_classifier(item)
        if not isinstance(run, Run):
            name = f" as {label!r}" if label else ""
            expected = "one of model.runs_" if hasattr(run, "runs_") else "the run"
            raise OptionError(f"expected a Run, what boost returns; got {type(run).__name__}{name}. Pass {expected}.")
        labelled_runs[label] = run
    return labelled_runs


def require_nonempty_benchmark(benchmark: object) -> Benchmark:
    """Return a benchmark with at least one run.

    Raises
    ------
    OptionError
        The argument is not a benchmark.
    ProblemError
        The benchmark has no run.
    """
    if not isinstance(benchmark, Benchmark):
        raise OptionError(f"expected what benchmark returns; got {type(benchmark).__name__}. Pass that.")
    if not any(run.ran for run in benchmark.runs):
        raise ProblemError("a benchmark must have a solve at least to be drawn; got none. Let it run.")
    return benchmark


def real_array(name: str, values: Any, dimensions: int) -> Array:
    """Return finite real numbers as an array that is not empty.

    Raises
    ------
    ProblemError
        The values are not such numbers.
    """
    array = check_array(name, values)
    if array.dtype.kind not in "biuf" or array.ndim != dimensions or array.size == 0:
        raise ProblemError(
            f"{name} must be real numbers with {dimensions} dimension(s), one at least; got {array.dtype} of shape "
            f"{array.shape}. Pass such an array."
        )
    array = array.astype(np.float64)
    nonfinite = np.argwhere(~np.isfinite(array))
    if len(nonfinite):
        position = tuple(nonfinite[0].tolist())
        raise ProblemError(
            f"{name} must be finite; got {array[position]} at {position}. Leave such entries out, or mend them."
        )
    return array


def validate_multiplicities(c: Any, N: int) -> ExampleVector:
    """Return multiplicities, 1 by default; raise ProblemError if they do not match the examples."""
    if c is None:
        return np.ones(N)
    array = real_array("c", c, 1)
    if len(array) != N or (array < 0).any() or not array.any():
        raise ProblemError(
            f"c must be {N} multiplicities of at least 0, not all of them 0; got {len(array)}, the smallest "
            f"{array.min():.6g}. Pass how often each example counts."
        )
    return array


def effective_multiplicities(examples: Examples) -> ExampleVector:
    """Return the multiplicities of a program's examples, 0 for an example with reference weight 0."""
    return np.where(examples.d0 > 0, examples.c, 0.0)


def soft_margin_nu(objective: SoftMarginObjective | None) -> float | None:
    """Return the nu of a soft margin; None if there is none, or if no cap defines the soft margin."""
    return None if objective is None else objective.nu


def validate_nu(nu: Any) -> None:
    """Raise OptionError unless nu is a positive number, or None. The cap checks the upper bound of nu."""
    check_optional(check_positive, "nu", nu, "a positive count of examples", "Pass as many as are to share.")
