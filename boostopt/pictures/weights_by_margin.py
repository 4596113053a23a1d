"""Weights of the examples against their margins."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from boostopt._utils.array_types import Array, Bool, Float
from boostopt._utils.validation import check_array
from boostopt.boosting.run.run import Run
from boostopt.errors import OptionError, ProblemError
from boostopt.pictures.sources import effective_multiplicities, real_array, run_of_classifier, validate_multiplicities
from boostopt.pictures.style import BLUE, GREY, RED, AxesArgument, make_panels


def weights_by_margin(
    weights: Any, margins: Any = None, marked: npt.ArrayLike | None = None, c: Any = None, axes: AxesArgument = None
) -> Figure:
    """Draw the weight of each example against its margin, with marked examples as triangles.

    Weights are relative to equal ones, d_n sum(c) / c_n. If the regularizer is a sum over the examples, the weights of
    examples of one multiplicity lie on one falling curve, the derivative of the corresponding loss. The legend shows
    the marked examples' share of the weight and their share of the examples.

    Parameters
    ----------
    weights
        A run, whose last weights and margins are drawn, or a classifier of two classes that holds one as `run_`; or an
        array of weights, shape (N,), non-negative, which is divided by its sum.
    margins
        Margins of the examples, shape (N,), finite, for an array of weights; a run brings its own.
    marked
        Flags of the examples to mark, shape (N,), such as those with wrong labels. No example by default.
    c
        Multiplicities of the examples for arrays, shape (N,), non-negative, 1 by default; a run brings its own.
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


def _weights_and_margins(
    weights: Any, margins: Any, c: Any
) -> tuple[Float[Array, " N"], Float[Array, " N"], Float[Array, " N"]]:
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
