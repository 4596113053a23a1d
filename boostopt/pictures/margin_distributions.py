"""Margins of classifiers as distributions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from boostopt._utils.array_types import ExampleVector
from boostopt.boosting.run.run import Run
from boostopt.ensembles.reweighting_result import Reweighted
from boostopt.errors import ProblemError
from boostopt.functions.regularizers.capped_simplex import CappedSimplex
from boostopt.functions.regularizers.capped_simplex_indicator import CappedSimplexIndicator
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
from boostopt.pictures.style import GREY, AxesArgument, CurveStyle, curve_style, make_panels


def margin_distributions(classifiers: Any, nu: float | None = None, c: Any = None, axes: AxesArgument = None) -> Figure:
    """Draw the share of the examples whose margin is at most a value, for one or several classifiers.

    If nu is known, a marker at the height nu / N shows rho = m_(ceil nu), the smallest value such that nu examples have
    at most this margin. The legend shows the soft margin, which is the mean over the nu smallest margins. Examples
    count with their multiplicity. Examples left of 0 are misclassified.

    Parameters
    ----------
    classifiers
        A run, a result of `reweight`, a fitted classifier with `margins_`, or an array of margins y_n f(x_n), shape
        (N,); or several of them by label. A run has the margins of f in [-1, 1] on the training examples.
    nu
        The count of examples, 0 < nu <= sum of c; by default the nu of each run or reweighted ensemble, and none for
        other classifiers.
    c
        Multiplicities of the examples for arrays and classifiers, shape (N,), non-negative, 1 by default. Runs and
        reweighted ensembles, and classifiers with the attribute `run_`, have multiplicities.
    axes
        Axes to draw on.

    Raises
    ------
    OptionError
        There are no classifiers, or nu is not a positive number.
    ProblemError
        Margins are not finite, do not fit c, or nu exceeds the sum of c.
    """
    validate_nu(nu)
    label = algorithm_name(classifiers) if isinstance(classifiers, Run) else "classifier"
    distributions = {
        name: _margin_distribution(name, item, nu, c) for name, item in label_items(classifiers, "a run", label).items()
    }
    panels = make_panels(axes)
    axis = panels.axes[0]
    axis.axvline(0.0, color=GREY, lw=0.8)
    shares = sorted(
        {distribution.nu_fraction for distribution in distributions.values() if distribution.nu_fraction is not None}
    )
    for share in shares:
        axis.axhline(share, color=GREY, ls=":", lw=1.0, label=rf"$\nu/N$ = {share:.3g}")
    for k, (name, distribution) in enumerate(distributions.items()):
        _draw_distribution(axis, name, distribution, curve_style(k))
    axis.set(xlabel=r"margin $m$", ylabel=r"share with $m_n \leq m$", ylim=(-0.02, 1.02))
    panels.legend(axis, columns=2)
    return panels.figure


@dataclass(frozen=True, eq=False)
class MarginDistribution:
    """Margins in ascending order with their multiplicities, and the nu of their soft margin."""

    m: ExampleVector
    c: ExampleVector
    nu: float | None

    @property
    def cumulative_fractions(self) -> ExampleVector:
        """The share of the examples up to each margin."""
        counts = np.cumsum(self.c)
        return counts / counts[-1]

    @property
    def nu_fraction(self) -> float | None:
        """Nu as a share of the examples."""
        return None if self.nu is None else self.nu / float(self.c.sum())

    def quantile_and_mean(self, nu: float) -> tuple[float, float]:
        """Return rho and the soft margin."""
        domain = CappedSimplex(self.c, nu)
        return domain.quantile(self.m), -CappedSimplexIndicator(domain).conjugate_at(-self.m).value


def _margin_distribution(name: str, classifier: Any, nu: float | None, c: Any) -> MarginDistribution:
    """Read margins, multiplicities and nu."""
    run = run_of_classifier(classifier)
    if isinstance(run, Run):
        problem = run.record.problem
        m, goal, multiplicities = (
            run.record.pool.margins.margins(run.w),
            problem.objective,
            effective_multiplicities(problem.examples),
        )
    elif isinstance(run, Reweighted):
        m, goal, multiplicities = run.margins, run.goal, effective_multiplicities(run.goal.examples)
    else:
        margins = getattr(classifier, "margins_", classifier)
        if margins is not classifier and np.ndim(margins) == 2:
            raise ProblemError(
                f"margins must be those of two classes; {name} has {np.shape(margins)[1]} columns of them, each of a "
                "class against the rest. Draw one column of margins_, or several by their labels."
            )
        m, goal = real_array(f"the margins of {name}", margins, 1), None
        multiplicities = validate_multiplicities(c, len(m))
    if isinstance(run, Run | Reweighted):
        if not run.w.any():
            raise ProblemError(f"a classifier must have weights; those of {name} are all 0. Leave it out.")
        m = m / np.abs(run.w).sum()
    nu = soft_margin_nu(goal) if nu is None else nu
    order = np.argsort(m, kind="stable")
    order = order[multiplicities[order] > 0]
    return MarginDistribution(m[order], multiplicities[order], nu)


def _draw_distribution(axis: Axes, name: str, distribution: MarginDistribution, style: CurveStyle) -> None:
    words = f"{name}: smallest {distribution.m[0]:.4g}"
    if distribution.nu is not None:
        rho, soft_margin = distribution.quantile_and_mean(distribution.nu)
        words = rf"{name}: soft margin {soft_margin:.4g}, $\rho$ = {rho:.4g}"
        axis.vlines(rho, 0.0, distribution.nu / distribution.c.sum(), color=style.color, ls=style.dashes, lw=0.9)
        axis.plot([rho], [distribution.nu / distribution.c.sum()], color=style.color, marker=style.marker, ms=6, ls="")
    x, y = (
        np.concatenate([distribution.m[:1], distribution.m]),
        np.concatenate([[0.0], distribution.cumulative_fractions]),
    )
    axis.plot(x, y, color=style.color, ls=style.dashes, lw=1.5, drawstyle="steps-post", label=words)
