"""What a practitioner is warned of: a soft margin that is not proved to be above chance, and a nu that is too large.

Chance is f = 0, which says nothing. Its soft margin is 0 for a cap; with another F0 its value is the least F0.

Of two classes let p be the share of the smaller one in the weights. To answer "the larger one" to everything has the
margin -1 on the share p and 1 elsewhere. For nu >= p the mean of the nu smallest margins is 1 - 2 p / nu, which is
positive for nu > 2 p: an answer that tells nothing apart then has a soft margin, and may well be the best one. It is
the same bound above which a nu-SVM has no solution. Of more than two classes the largest f decides, and to be given up
against the rest costs accuracy for nu > p already: on held-out digits (p = 0.097) it is 0.94 for nu = 0.1, 0.92 for
0.15, 0.82 for 0.2, 0.47 for 0.3. Where the smaller class is wrong or at 0 as a whole, the soft margin is at most
1 - p / nu: weights with more are not warned of.

References: Crisp, Burges, "A geometric interpretation of nu-SVM classifiers", 1999, for nu <= 2 min(N+, N-) / N.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from boostopt._utils.formatting import format_interval
from boostopt.boosting.run.combined_hypothesis import ZERO_TOL
from boostopt.errors import MarginWarning
from boostopt.objectives.soft_margin import SOFT_MARGIN

SMALL_SOFT_MARGIN = 0.01
"""Soft margin of a classifier up to which it is warned of: stumps fit random labels about so well."""

MOSTLY_ZERO_FRACTION = 0.5
"""Share of the examples from which on a model with f(x) = 0 there is called one that says nothing."""

NU_LIMIT_BINARY, NU_LIMIT_MULTICLASS = 2.0, 1.0
"""How often the share of the smaller class fits into the largest nu that is not warned of, of two classes and more."""

MAX_NAMED_CLASSES = 3
"""Classes that a warning names."""


@dataclass(frozen=True)
class MarginSummary:
    """What is known of weights that tell two classes apart.

    Attributes
    ----------
    label
        The class that is told apart from the rest, of more than two; "" of two.
    majority_name
        The larger of the two, in words.
    minority_fraction
        The share of the smaller of the two in the weights of the examples, in (0, 1/2].
    nu
        The share of the weights whose smallest margins the soft margin is the mean of; None where there is no such.
    soft_margin_bounds
        The soft margin, and what no weights over the class exceed; None where none is maximized.
    baseline
        The soft margin of f = 0.
    zero_fraction
        The share of the examples with f(x) = 0; nan where it is not known.
    tolerance
        A soft margin that exceeds the one of f = 0 by no more than this is as good as that one.
    measure
        What the bounds are of: "soft margin", or the name of another value.
    """

    label: str
    majority_name: str
    minority_fraction: float
    nu: float | None
    soft_margin_bounds: tuple[float, float] | None
    baseline: float = 0.0
    zero_fraction: float = math.nan
    tolerance: float = 0.0
    measure: str = SOFT_MARGIN

    @property
    def is_unproved(self) -> bool:
        """Whether the soft margin is not proved to be above chance by more than a little."""
        return self.soft_margin_bounds is not None and self.soft_margin_bounds[0] <= self.baseline + max(
            self.tolerance, ZERO_TOL
        )

    @property
    def is_mostly_zero(self) -> bool:
        """Whether f(x) = 0 on most examples."""
        return self.zero_fraction >= MOSTLY_ZERO_FRACTION

    @property
    def constant_prediction_margin(self) -> float:
        """The soft margin of the answer "the larger class" to everything, where nu >= share; -1 elsewhere."""
        return (
            -1.0
            if self.nu is None or self.nu < self.minority_fraction
            else 1.0 - 2.0 * self.minority_fraction / self.nu
        )

    @property
    def nu_limit(self) -> float:
        """The nu above which the smaller class may be given up."""
        return (NU_LIMIT_MULTICLASS if self.label else NU_LIMIT_BINARY) * self.minority_fraction

    @property
    def may_sacrifice_minority(self) -> bool:
        """Whether nu is above that, by more than rounding, and the soft margin does not rule it out."""
        if self.nu is None or self.nu <= self.nu_limit * (1.0 + ZERO_TOL):
            return False
        return self.soft_margin_bounds is None or self.soft_margin_bounds[0] <= 1.0 - self.minority_fraction / self.nu


@dataclass(frozen=True)
class Recommendations:
    """What the caller of a function can do.

    Attributes
    ----------
    format_nu
        A share nu in words of the caller: "nu = 0.1".
    format_nu_limit
        How a share nu is passed.
    narrow_interval
        What makes the interval narrower; "" for nothing.
    better_hypotheses
        What tells the classes apart better, or sets the soft margin where nu does not.
    balance_classes
        What gives two classes the same weight; "" for nothing.
    """

    format_nu: Callable[[float], str]
    format_nu_limit: Callable[[float], str]
    narrow_interval: str
    better_hypotheses: str
    balance_classes: str


def warn_about_margins(
    judged: Sequence[MarginSummary], over: str, always: str, advice: Recommendations, stacklevel: int
) -> None:
    """Say once where weights are not proved to be better than chance, or nu lets a class be given up, and what to do.

    Parameters
    ----------
    judged
        Two classes, or each of several against the rest.
    over
        The class of hypotheses, in words.
    always
        The class that is predicted for all examples; "" where there are several, or it is not known.
    advice
        What can be done.
    stacklevel
        Of the warning, counted from the caller.
    """
    margins, given_up = _unproved_messages(judged, over, advice), _nu_messages(judged, advice)
    said = [*margins, *_prediction_messages(judged, always), *given_up]
    if said and not (margins or given_up):
        said.append(f"{_alternatives([advice.better_hypotheses])}.")
    if said:
        warnings.warn(" ".join(said), MarginWarning, stacklevel=stacklevel + 1)


def warn_about_member_weights(judged: Sequence[MarginSummary], total: float, always: str, stacklevel: int) -> None:
    """Say likewise of new weights for the members of an ensemble, where nu is a count of examples.

    Parameters
    ----------
    judged
        As in `warn_about_margins`.
    total
        The sum of the weights of the examples.
    always
        As in `warn_about_margins`.
    stacklevel
        Of the warning, counted from the caller.
    """
    advice = Recommendations(
        format_nu=lambda nu: f"nu = {nu * total:g}",
        format_nu_limit=lambda nu: f"{max(math.floor(nu * total), 1):g}",
        narrow_interval="lower tol, which narrows the interval",
        better_hypotheses="use another ensemble with better members",
        balance_classes="give both classes the same weight with sample_weight",
    )
    warn_about_margins(judged, "all members", always, advice, stacklevel + 1)


def _unproved_messages(judged: Sequence[MarginSummary], over: str, advice: Recommendations) -> list[str]:
    """Say where the soft margin is not proved to be above chance."""
    found = [(j, j.soft_margin_bounds) for j in judged if j.is_unproved and j.soft_margin_bounds is not None]
    if not found:
        return []
    worst, (lower, upper) = min(found, key=lambda each: each[1][1])
    none, above = upper <= worst.baseline + ZERO_TOL, lower > worst.baseline + ZERO_TOL
    at = "" if worst.nu is None else f"at {advice.format_nu(worst.nu)} "
    what = "no weights have" if none else "the weights are not proved to have"
    over_it = f", by more than {worst.tolerance:g}" if above else ""
    whose = f" of class {worst.label}" if worst.label else ""
    where = _affected_classes(judged, found)
    steps = [
        f"raise nu, to {advice.format_nu_limit(worst.nu_limit)} at most"
        if worst.nu is not None and worst.nu < worst.nu_limit
        else "",
        "" if none else advice.narrow_interval,
        advice.better_hypotheses,
    ]
    return [
        f"{at}{what} a {worst.measure} above {abs(worst.baseline):.3g}, that of f(x) = 0, which predicts nothing{over_it}"
        f"{where}: "
        f"the best one{whose} over {over} lies in {format_interval(lower, upper)}. {_alternatives(steps)}."
    ]


def _prediction_messages(judged: Sequence[MarginSummary], always: str) -> list[str]:
    """Say where f(x) = 0 on most examples, or where one class is predicted for all."""
    said, found = list[str](), [j for j in judged if j.is_mostly_zero]
    if found:
        share = max(j.zero_fraction for j in found)
        said.append(
            f"f(x) = 0 on {share:.0%} of the training examples{_affected_classes(judged, found)}: hypotheses and their negations "
            "cancel, or every weight costs more than it gains."
        )
    if always:
        said.append(f"Every training example is predicted as {always}.")
    return said


def _nu_messages(judged: Sequence[MarginSummary], advice: Recommendations) -> list[str]:
    """Say where nu lets a class be given up."""
    found = [j for j in judged if j.may_sacrifice_minority]
    if not found:
        return []
    least = min(found, key=lambda j: j.minority_fraction)
    nu = math.nan if least.nu is None else least.nu
    reached = math.nan if least.soft_margin_bounds is None else least.soft_margin_bounds[0]
    own = (
        ""
        if least.soft_margin_bounds is None
        else f"; the {least.measure} of the model, {reached:.3g}, does not rule this out"
    )
    balance = advice.balance_classes if len(judged) == 1 else ""
    return [
        f"{advice.format_nu(nu)} is {nu / least.minority_fraction:.2g} times the share {least.minority_fraction:.3g} of the smaller class in the "
        f"weights{_affected_classes(judged, found)}, so the model may give up the whole class: the constant prediction "
        f"{least.majority_name} has the soft margin {least.constant_prediction_margin:.3g}{own}. "
        f"{_alternatives([f'set nu to {advice.format_nu_limit(least.nu_limit)} or less', balance])}."
    ]


def _affected_classes(
    judged: Sequence[MarginSummary], found: Sequence[MarginSummary | tuple[MarginSummary, tuple[float, float]]]
) -> str:
    """Name the classes of several, "" of two."""
    if len(judged) == 1:
        return ""
    return one_vs_rest_text([(each if isinstance(each, MarginSummary) else each[0]).label for each in found])


def one_vs_rest_text(labels: Sequence[str]) -> str:
    """Name classes, each of which is told apart from the rest."""
    more = f" and {len(labels) - MAX_NAMED_CLASSES} more" if len(labels) > MAX_NAMED_CLASSES else ""
    which = "class" if len(labels) == 1 else "classes"
    return f" ({which} {', '.join(labels[:MAX_NAMED_CLASSES])}{more} against the rest)"


def _alternatives(steps: Sequence[str]) -> str:
    """Return what can be done, one or the other."""
    steps = [step for step in steps if step]
    words = steps[0] if len(steps) == 1 else f"{', '.join(steps[:-1])}, or {steps[-1]}"
    return words[:1].upper() + words[1:]
