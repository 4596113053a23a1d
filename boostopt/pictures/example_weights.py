"""Weights of the examples, by size or example by example, and against their margins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from boostopt._utils.array_types import Array, Bool, ExampleVector
from boostopt._utils.validation import check_array, check_flag
from boostopt.boosting.run.run import Run
from boostopt.errors import OptionError, ProblemError
from boostopt.pictures.picture_arguments import (
    algorithm_name,
    effective_multiplicities,
    label_items,
    real_array,
    run_of_classifier,
    soft_margin_nu,
    validate_multiplicities,
    validate_nu,
)
from boostopt.pictures.style import BLUE, GREY, RED, AxesArgument, CurveStyle, curve_style, make_panels

CAP_TOLERANCE = 1e-6
"""Relative distance between a weight and its cap up to which the weight counts as capped: solvers are not closer."""

CARRIED_FRACTION = 0.99
"""Fraction of the weight of which the examples are counted; with an entropy all examples have some weight."""


def example_weights(
    weights: Any, nu: float | None = None, c: Any = None, ordered: bool = True, axes: AxesArgument = None
) -> Figure:
    """Draw the weights d of the examples, by size or example by example.

    If all weights have a cap c_n / nu, the picture shows nu d_n / c_n in [0, 1]. Otherwise the picture shows weights
    relative to equal weights, d_n sum(c) / c_n. If weights are sorted by size, the area below a line is nu in the first
    case and the number of examples in the second case. The legend counts the examples at their cap, and the examples
    with 99 % of the weight.

    Parameters
    ----------
    weights
        A run, or a classifier of two classes with the attribute `run_`: the picture shows the last distribution. Or an
        array of weights, shape (N,), non-negative, which is divided by its sum. Or several of them by label.
    nu
        The count of examples in the cap, positive; by default the nu of each run, if the cap can bind, and no cap for
        arrays. Weights without a cap may exceed this cap.
    c
        Multiplicities of the examples for arrays, shape (N,), non-negative, 1 by default; runs have multiplicities.
    ordered
        Whether the largest weights come first, each as wide as its multiplicity; otherwise example n is at position n.
    axes
        Axes to draw on.

    Raises
    ------
    OptionError
        There are no weights, or nu is not a positive number.
    ProblemError
        Weights are negative, not finite, all 0, or do not fit c.
    """
    validate_nu(nu)
    ordered = check_flag("ordered", ordered)
    source = run_of_classifier(weights)
    label = algorithm_name(source) if isinstance(source, Run) else "weights"
    labelled_sources = label_items(weights, "a run", label)
    weights_by_label = {name: _read_weights(name, item, nu, c) for name, item in labelled_sources.items()}
    panels = make_panels(axes)
    axis, has_cap = panels.axes[0], all(values.nu is not None for values in weights_by_label.values())
    axis.axhline(1.0, color=GREY, ls=":", lw=1.0, label="at the cap" if has_cap else "equal weights")
    for k, (name, values) in enumerate(weights_by_label.items()):
        if ordered:
            _draw_ordered(axis, name, values, has_cap, curve_style(k))
        else:
            _draw_each(axis, name, values, has_cap, curve_style(k), stems=len(weights_by_label) == 1)
    axis.set(
        xlabel="examples, by weight, counted with multiplicity" if ordered else r"example $n$",
        ylabel=r"$\nu\, d_n / c_n$" if has_cap else r"$d_n \sum c\, /\, c_n$",
    )
    axis.set_ylim(bottom=0.0)
    panels.legend(axis, columns=2)
    return panels.figure


@dataclass(frozen=True, eq=False)
class CappedWeights:
    """Weights d with sum 1, multiplicities, and the nu of the cap; None if there is no cap."""

    d: ExampleVector
    c: ExampleVector
    nu: float | None

    def relative(self, has_cap: bool) -> ExampleVector:
        """Return nu d / c, or sum(c) d / c; 0 for examples that do not count."""
        unit = self.nu if has_cap and self.nu is not None else float(self.c.sum())
        return unit * np.divide(self.d, self.c, out=np.zeros(len(self.d)), where=self.c > 0)

    @property
    def summary(self) -> str:
        """The number of examples at their cap, and the number of examples with nearly all the weight, in words."""
        weight_sums = np.cumsum(np.sort(self.d)[::-1])
        n_carriers = np.searchsorted(weight_sums, CARRIED_FRACTION) + 1
        carriers = f"{n_carriers} of {np.count_nonzero(self.c)} carry {100 * CARRIED_FRACTION:g} %"
        if self.nu is None:
            return carriers
        return f"{np.count_nonzero(self.relative(True) >= 1 - CAP_TOLERANCE)} at the cap, {carriers}"


def _read_weights(name: str, source: Any, nu: float | None, c: Any) -> CappedWeights:
    """Read weights, multiplicities and nu."""
    source = run_of_classifier(source)
    if hasattr(source, "runs_"):
        raise OptionError(
            f"weights are those of a run; {name} is a {type(source).__name__} of several. Pass one of model.runs_."
        )
    if isinstance(source, Run):
        d, multiplicities = source.d, effective_multiplicities(source.record.problem.examples)
        run_nu = soft_margin_nu(source.record.problem.objective)
        # The cap of a hard margin bounds no weight below 1.
        binds = run_nu is not None and float(multiplicities.max()) < run_nu
        nu = run_nu if nu is None and binds else nu
    else:
        d = real_array(f"the weights of {name}", source, 1)
        multiplicities = validate_multiplicities(c, len(d))
    if (d < 0).any() or not d[multiplicities > 0].any():
        raise ProblemError(
            f"the weights of {name} must be at least 0, and not all of them 0; got the smallest {d.min():.6g}. "
            "Pass a distribution."
        )
    return CappedWeights(d / d.sum(), multiplicities, nu)


def _draw_ordered(axis: Axes, name: str, values: CappedWeights, has_cap: bool, style: CurveStyle) -> None:
    """Draw a decreasing step function, with a step for each example."""
    y = values.relative(has_cap)
    order = np.argsort(-y, kind="stable")
    x = np.concatenate([[0.0], np.cumsum(values.c[order])])
    axis.plot(
        x, np.concatenate([y[order[:1]], y[order]]), color=style.color, ls=style.dashes, lw=1.5, drawstyle="steps-pre",
        label=f"{name}: {values.summary}",
    )  # fmt: skip


def _draw_each(axis: Axes, name: str, values: CappedWeights, has_cap: bool, style: CurveStyle, stems: bool) -> None:
    """Draw a marker for each example, with a stem unless the stems would overlap."""
    y = values.relative(has_cap)
    n = np.arange(len(y))
    if stems:
        axis.vlines(n, 0.0, y, color=style.color, lw=0.6)
    axis.plot(n, y, color=style.color, marker=style.marker, ms=3, ls="", label=f"{name}: {values.summary}")


def weights_by_margin(
    weights: Any, margins: Any = None, marked: npt.ArrayLike | None = None, c: Any = None, axes: AxesArgument = None
) -> Figure:
    """Draw the weight of each example against its margin, with marked examples as triangles.

    Weights are relative to equal weights, d_n sum(c) / c_n. If the regularizer is a sum over the examples, the weights
    of examples of one multiplicity lie on one falling curve, the derivative of the corresponding loss. The legend shows
    the marked examples' share of the weight and their share of the examples.

    Parameters
    ----------
    weights
        A run, or a classifier of two classes with the attribute `run_`: the picture shows the last weights and margins.
        Or an array of weights, shape (N,), non-negative, which is divided by its sum.
    margins
        Margins of the examples, shape (N,), finite, for an array of weights; a run has margins.
    marked
        Flags of the examples to mark, shape (N,), such as those with wrong labels. No example by default.
    c
        Multiplicities of the examples for arrays, shape (N,), non-negative, 1 by default; a run has multiplicities.
    axes
        Axes to draw on.

    Raises
    ------
    OptionError
        Margins are missing, or given for a run.
    ProblemError
        Weights are negative, not finite or all 0, or lengths differ.
    """
    d, m, c = _weights_and_margins(run_of_classifier(weights), margins, c)
    marks = _marked_mask(marked, len(d))
    panels = make_panels(axes)
    axis = panels.axes[0]
    axis.axhline(1.0, color=GREY, ls=":", lw=1.0, label="equal weights")
    axis.axvline(0.0, color=GREY, lw=0.8)
    relative = np.divide(d * c.sum(), c, out=np.zeros(len(d)), where=c > 0)
    for mask, marker, color, name in ((~marks, "o", BLUE, "others"), (marks, "^", RED, "marked")):
        mask &= c > 0
        if marks.any() or name == "others":
            label = f"{name}: {d[mask].sum():.0%} of the weight on {c[mask].sum() / c.sum():.0%} of the examples"
            axis.plot(
                m[mask], relative[mask], color=color, marker=marker, ms=4, mec="white", mew=0.4, ls="",
                label=label if marks.any() else "examples",
            )  # fmt: skip
    axis.set(xlabel=r"margin $m_n$", ylabel=r"$d_n \sum c\, /\, c_n$")
    axis.set_ylim(bottom=-0.03 * float(relative.max()))
    panels.legend(axis, columns=2)
    return panels.figure


def _weights_and_margins(weights: Any, margins: Any, c: Any) -> tuple[ExampleVector, ExampleVector, ExampleVector]:
    """Return weights with sum 1, margins and multiplicities."""
    if isinstance(weights, Run):
        if margins is not None or c is not None:
            raise OptionError("a run must be given without margins and c, which it has; got some. Leave them out.")
        problem = weights.record.problem
        m = weights.record.pool.margins.margins(weights.w) / max(float(np.abs(weights.w).sum()), 1e-300)
        return weights.d / weights.d.sum(), m, effective_multiplicities(problem.examples)
    if margins is None:
        raise OptionError("margins must be given beside an array of weights; got none. Pass them, or a run.")
    d, m = real_array("the weights", weights, 1), real_array("margins", margins, 1)
    if len(d) != len(m) or (d < 0).any() or not d.any():
        raise ProblemError(
            f"weights must be {len(m)} numbers of at least 0, one for each margin and not all of them 0; got {len(d)}, "
            f"the smallest {d.min():.6g}. Pass a distribution and its margins."
        )
    return d / d.sum(), m, validate_multiplicities(c, len(d))


def _marked_mask(marked: npt.ArrayLike | None, N: int) -> Bool[Array, " N"]:
    """Return flags, none by default."""
    if marked is None:
        return np.zeros(N, dtype=bool)
    array = check_array("marked", marked)
    if array.shape != (N,) or array.dtype != bool:
        raise ProblemError(
            f"marked must be {N} flags, one for each example; got {array.dtype} of shape {array.shape}. Pass such as "
            "y != y_right."
        )
    return array
