"""Regularizers plus a linear term, B(d) + <tilt, d>. The conjugate at z is B*(z - tilt)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import ExampleVector
from boostopt._utils.validation import finite_weights, read_fields
from boostopt.functions.convex_function import computed_attribute
from boostopt.functions.regularizer_statements import Statement, statement_of
from boostopt.functions.regularizers.base import ConjugatePoint, Pointwise, StationarityConditions
from boostopt.functions.regularizers.delegating_base import DelegatingRegularizer

RECORDABLE_BASE_KINDS = ("cap", "relative entropy")
"""Kinds of bases that a certificate file can contain together with a tilt."""


@dataclass(frozen=True)
class Tilted(DelegatingRegularizer):
    """The base regularizer plus a linear function.

    Parameters
    ----------
    base
        The base.
    tilt
        The coefficients of the linear term, shape (N,), finite.
    """

    tilt: ExampleVector

    kind: ClassVar[str] = "tilted"

    def __post_init__(self) -> None:
        super().__post_init__()
        read_fields(self, tilt=lambda name, tilt: finite_weights(name, tilt, self.N))

    def statement(self, c: ExampleVector, d0: ExampleVector, nus: tuple[float, ...] = ()) -> Statement | None:
        base = statement_of(self.base, c, d0, nus)
        if base is None or base.numbers["kind"] not in RECORDABLE_BASE_KINDS:
            return None
        return Statement({"kind": self.kind, "base": base.numbers}, {**base.arrays, "tilt": self.tilt})

    def _required_cones(self) -> frozenset[str]:
        return self.base.cones

    cones: ClassVar[frozenset[str]] = computed_attribute(_required_cones)

    @computed_attribute
    def on_simplex(self) -> bool:
        return self.base.on_simplex

    @computed_attribute
    def has_closed_form_conjugate(self) -> bool:
        return self.base.has_closed_form_conjugate

    @property
    def soft_margin_caps(self) -> ExampleVector | None:
        return None if self.tilt.any() else self.base.soft_margin_caps

    @property
    def price(self) -> float:
        # The linear term does not smooth: both F and F0 have it.
        return self.base.price

    @property
    def value_bound(self) -> float:
        return self.base.value_bound + self.base.support(self.tilt)

    @property
    def magnitude(self) -> float:
        return self.base.magnitude + self.base.mass * float(np.abs(self.tilt).max())

    def value_slack(self, d: ExampleVector, unit: float) -> float:
        return self.base.value_slack(d, unit) + self._tilt_slack(unit)

    def conjugate_slack(self, point: ConjugatePoint, unit: float) -> float:
        return self.base.conjugate_slack(point, unit) + self._tilt_slack(unit)

    def _tilt_slack(self, unit: float) -> float:
        """Return the rounding allowance of the linear term."""
        return unit * self.base.mass * float(np.abs(self.tilt).max())

    def value(self, d: ExampleVector) -> float:
        return self.base.value(d) + float((self.tilt * d).sum())

    def conjugate_at(self, z: ExampleVector, start: ExampleVector | None = None) -> ConjugatePoint:
        return self.base.conjugate_at(z - self.tilt, start)

    def conjugate_bound(self, z: ExampleVector, point: ConjugatePoint) -> float:
        return self.base.conjugate_bound(z - self.tilt, point)

    def project(self, d: ExampleVector | None) -> ExampleVector:
        return self.base.conjugate_at(-self.tilt).d if d is None else self.base.project(d)

    def gaps(self, d: ExampleVector, z: ExampleVector, point: ConjugatePoint) -> ExampleVector:
        return self.base.gaps(d, z - self.tilt, point)

    def stationarity(self, d: ExampleVector, min_relative_weight: float) -> StationarityConditions:
        conditions = self.base.stationarity(d, min_relative_weight)
        return replace(conditions, gradient=conditions.gradient + self.tilt)

    def pointwise(self) -> Pointwise | None:
        base_terms = self.base.pointwise()
        return base_terms and replace(base_terms, derivatives=lambda d: base_terms.derivatives(d) + self.tilt)

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        value, constraints = self.base.cvxpy_value(d)
        return value + self.tilt @ d, constraints

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        return self.base.cvxpy_conjugate(z - self.tilt)
