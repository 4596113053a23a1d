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

LITTLE = 0.01
"""Soft margin of a classifier up to which it is warned of: stumps fit random labels about so well."""

MOST = 0.5
"""Share of the examples from which on a model with f(x) = 0 there is called one that says nothing."""

OF_TWO, OF_SEVERAL = 2.0, 1.0
"""How often the share of the smaller class fits into the largest nu that is not warned of, of two classes and more."""

MOST_NAMED = 3
"""Classes that a warning names."""


@dataclass(frozen=True)
class Judged:
    """What is known of weights that tell two classes apart.

    Attributes
    ----------
    label
        The class that is told apart from the rest, of more than two; "" of two.
    common
        The larger of the two, in words.
    share
        The share of the smaller of the two in the weights of the examples, in (0, 1/2].
    nu
        The share of the weights whose smallest margins the soft margin is the mean of; None where there is no such.
    bounds
        The soft margin, and what no weights over the class exceed; None where none is maximized.
    chance
        The soft margin of f = 0.
    zeros
        The share of the examples with f(x) = 0; nan where it is not known.
    little
        A soft margin that exceeds the one of f = 0 by no more than this is as good as that one.
    measure
        What the bounds are of: "soft margin", or the name of another value.
    """

    label: str
    common: str
    share: float
    nu: float | None
    bounds: tuple[float, float] | None
    chance: float = 0.0
    zeros: float = math.nan
    little: float = 0.0
    measure: str = SOFT_MARGIN

    @property
    def unproved(self) -> bool:
        """Whether the soft margin is not proved to be above chance by more than a little."""
        return self.bounds is not None and self.bounds[0] <= self.chance + max(self.little, ZERO_TOL)

    @property
    def silent(self) -> bool:
        """Whether f(x) = 0 on most examples."""
        return self.zeros >= MOST

    @property
    def constant(self) -> float:
        """The soft margin of the answer "the larger class" to everything, where nu >= share; -1 elsewhere."""
        return -1.0 if self.nu is None or self.nu < self.share else 1.0 - 2.0 * self.share / self.nu

    @property
    def most(self) -> float:
        """The nu above which the smaller class may be given up."""
        return (OF_SEVERAL if self.label else OF_TWO) * self.share

    @property
    def too_large(self) -> bool:
        """Whether nu is above that, by more than rounding, and the soft margin does not rule it out."""
        if self.nu is None or self.nu <= self.most * (1.0 + ZERO_TOL):
            return False
        return self.bounds is None or self.bounds[0] <= 1.0 - self.share / self.nu


@dataclass(frozen=True)
class Advice:
    """What the caller of a function can do.

    Attributes
    ----------
    said
        A share nu in words of the caller: "nu = 0.1".
    at_most
        How a share nu is passed.
    finer
        What makes the interval narrower; "" for nothing.
    others
        What tells the classes apart better, or sets the soft margin where nu does not.
    balanced
        What gives two classes the same weight; "" for nothing.
    """

    said: Callable[[float], str]
    at_most: Callable[[float], str]
    finer: str
    others: str
    balanced: str


def warn_of_margins(judged: Sequence[Judged], over: str, always: str, advice: Advice, stacklevel: int) -> None:
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
    margins, given_up = _unproved(judged, over, advice), _too_large(judged, advice)
    said = [*margins, *_silent(judged, always), *given_up]
    if said and not (margins or given_up):
        said.append(f"{_either([advice.others])}.")
    if said:
        warnings.warn(" ".join(said), MarginWarning, stacklevel=stacklevel + 1)


def warn_of_members(judged: Sequence[Judged], total: float, always: str, stacklevel: int) -> None:
    """Say likewise of new weights for the members of an ensemble, where nu is a count of examples.

    Parameters
    ----------
    judged
        As in `warn_of_margins`.
    total
        The sum of the weights of the examples.
    always
        As in `warn_of_margins`.
    stacklevel
        Of the warning, counted from the caller.
    """
    advice = Advice(
        said=lambda nu: f"nu = {nu * total:g}",
        at_most=lambda nu: f"{max(math.floor(nu * total), 1):g}",
        finer="lower tol, which narrows the interval",
        others="use another ensemble with better members",
        balanced="give both classes the same weight with sample_weight",
    )
    warn_of_margins(judged, "all members", always, advice, stacklevel + 1)


def _unproved(judged: Sequence[Judged], over: str, advice: Advice) -> list[str]:
    """Say where the soft margin is not proved to be above chance."""
    found = [(j, j.bounds) for j in judged if j.unproved and j.bounds is not None]
    if not found:
        return []
    worst, (lower, upper) = min(found, key=lambda each: each[1][1])
    none, above = upper <= worst.chance + ZERO_TOL, lower > worst.chance + ZERO_TOL
    at = "" if worst.nu is None else f"at {advice.said(worst.nu)} "
    what = "no weights have" if none else "the weights are not proved to have"
    over_it = f", by more than {worst.little:g}" if above else ""
    whose = f" of class {worst.label}" if worst.label else ""
    where = _where(judged, found)
    steps = [
        f"raise nu, to {advice.at_most(worst.most)} at most" if worst.nu is not None and worst.nu < worst.most else "",
        "" if none else advice.finer,
        advice.others,
    ]
    return [
        f"{at}{what} a {worst.measure} above {abs(worst.chance):.3g}, that of f(x) = 0, which predicts nothing{over_it}"
        f"{where}: "
        f"the best one{whose} over {over} lies in {format_interval(lower, upper)}. {_either(steps)}."
    ]


def _silent(judged: Sequence[Judged], always: str) -> list[str]:
    """Say where f(x) = 0 on most examples, or where one class is predicted for all."""
    said, found = list[str](), [j for j in judged if j.silent]
    if found:
        share = max(j.zeros for j in found)
        said.append(
            f"f(x) = 0 on {share:.0%} of the training examples{_where(judged, found)}: hypotheses and their negations "
            "cancel, or every weight costs more than it gains."
        )
    if always:
        said.append(f"Every training example is predicted as {always}.")
    return said


def _too_large(judged: Sequence[Judged], advice: Advice) -> list[str]:
    """Say where nu lets a class be given up."""
    found = [j for j in judged if j.too_large]
    if not found:
        return []
    least = min(found, key=lambda j: j.share)
    nu = math.nan if least.nu is None else least.nu
    reached = math.nan if least.bounds is None else least.bounds[0]
    own = "" if least.bounds is None else f"; the {least.measure} of the model, {reached:.3g}, does not rule this out"
    balance = advice.balanced if len(judged) == 1 else ""
    return [
        f"{advice.said(nu)} is {nu / least.share:.2g} times the share {least.share:.3g} of the smaller class in the "
        f"weights{_where(judged, found)}, so the model may give up the whole class: the constant prediction "
        f"{least.common} has the soft margin {least.constant:.3g}{own}. "
        f"{_either([f'set nu to {advice.at_most(least.most)} or less', balance])}."
    ]


def _where(judged: Sequence[Judged], found: Sequence[Judged | tuple[Judged, tuple[float, float]]]) -> str:
    """Name the classes of several, "" of two."""
    if len(judged) == 1:
        return ""
    return against_rest([(each if isinstance(each, Judged) else each[0]).label for each in found])


def against_rest(labels: Sequence[str]) -> str:
    """Name classes, each of which is told apart from the rest."""
    more = f" and {len(labels) - MOST_NAMED} more" if len(labels) > MOST_NAMED else ""
    which = "class" if len(labels) == 1 else "classes"
    return f" ({which} {', '.join(labels[:MOST_NAMED])}{more} against the rest)"


def _either(steps: Sequence[str]) -> str:
    """Return what can be done, one or the other."""
    steps = [step for step in steps if step]
    words = steps[0] if len(steps) == 1 else f"{', '.join(steps[:-1])}, or {steps[-1]}"
    return words[:1].upper() + words[1:]
