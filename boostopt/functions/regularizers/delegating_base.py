"""The base class of regularizers that add a term or a constraint to another regularizer."""

from __future__ import annotations

from dataclasses import dataclass, replace

from boostopt._utils.array_types import ExampleVector
from boostopt._utils.validation import check_instance
from boostopt.errors import ProblemError
from boostopt.functions.convex_function import computed_attribute
from boostopt.functions.regularizers.base import Regularizer


@dataclass(frozen=True)
class DelegatingRegularizer(Regularizer):
    """A regularizer that adds a term or a constraint to a base regularizer, and uses the members of the base.

    Parameters
    ----------
    base
        The base regularizer.
    """

    base: Regularizer

    def __post_init__(self) -> None:
        check_instance(
            "base",
            self.base,
            Regularizer,
            "a regularizer",
            "Pass one, such as CappedSimplexIndicator(domain).",
            ProblemError,
        )

    @property
    def N(self) -> int:
        return self.base.N

    @computed_attribute
    def signed(self) -> bool:
        return self.base.signed

    @property
    def strong_convexity(self) -> float:
        return self.base.strong_convexity

    @property
    def unsmoothed(self) -> Regularizer:
        base = self.base.unsmoothed
        return self if base is self.base else replace(self, base=base)

    @property
    def mass(self) -> float:
        return self.base.mass

    @property
    def weight_scale(self) -> ExampleVector:
        return self.base.weight_scale

    @property
    def objective_scale(self) -> float:
        return self.base.objective_scale

    def support(self, z: ExampleVector) -> float:
        return self.base.support(z)

    def residuals(self, d: ExampleVector) -> dict[str, float]:
        return self.base.residuals(d)

    def room(self, d: ExampleVector) -> ExampleVector:
        return self.base.room(d)
