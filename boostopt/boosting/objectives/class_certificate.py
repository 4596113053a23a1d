"""The interval that is proved to contain the best value over all hypotheses of a class."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from boostopt._utils.array_types import ExampleVector
from boostopt._utils.formatting import format_interval
from boostopt._utils.immutable_arrays import ImmutableArrays, as_immutable
from boostopt.boosting.objectives.soft_margin import SOFT_MARGIN
from boostopt.boosting_certificates.nan_checks import check_bounds


@dataclass(frozen=True, eq=False)
class ClassCertificate(ImmutableArrays):
    """A proved interval that contains the best value over all hypotheses of a class: which `quantity` names.

    Attributes
    ----------
    lower
        The certified value of the returned weights, including rounding.
    upper
        A bound that no weights over the class can exceed; inf if the oracle is heuristic.
    witness
        The distribution that proves `upper`, shape (N,), or a function that makes it; None if there is no proof.
    oracle
        The class, in words.
    recorded
        Whether `upper` was read from a file. Then it was computed when the run was made. Without the oracle, boostopt
        can only check that no collected hypothesis contradicts it. `Run.verify_class` computes it again.
    quantity
        The name of the bounded quantity. "soft margin" stands for the smallest mean of the margins over a set of
        distributions, for a cap the mean of the nu smallest margins. "value of the program" stands for the optimum of
        the program itself. Further words name what is left out: "without its smoothing term", "with the largest edge
        for G".

    Raises
    ------
    ProblemError
        A bound is nan.
    """

    lower: float
    upper: float
    witness: ExampleVector | Callable[[], ExampleVector] | None
    oracle: str
    recorded: bool = False
    quantity: str = SOFT_MARGIN

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bounds(self.lower, self.upper)

    @cached_property
    def d(self) -> ExampleVector | None:
        """The distribution that proves `upper`, shape (N,); None if there is no proof."""
        return as_immutable(self.witness()) if callable(self.witness) else self.witness

    @property
    def gap(self) -> float:
        """The difference of the bounds, at least 0."""
        return max(self.upper - self.lower, 0.0)

    @property
    def has_upper_bound(self) -> bool:
        """True if there is an upper bound."""
        return self.witness is not None

    def __str__(self) -> str:
        if self.lower == math.inf:
            return f"the program is infeasible: no weights of the examples have such edges over {self.oracle}"
        if not self.has_upper_bound:
            return (
                f"the {self.quantity} is at least {self.lower:.10g}; heuristic oracle: no upper bound ({self.oracle})"
            )
        words = f"the best {self.quantity} over {self.oracle} lies in {format_interval(self.lower, self.upper)}"
        if not self.recorded:
            return words
        return (
            f"{words}; this was recorded at the fit: boostopt.verify of a certificate file, or "
            "run.verify_class(oracle) of a stored run, proves it again"
        )

    def __repr__(self) -> str:
        return f"ClassCertificate({self})"
