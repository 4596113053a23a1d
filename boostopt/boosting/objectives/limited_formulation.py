"""The formulation of programs whose hypothesis weights have limits: examples and limits are rows of U.

The limits of a `LimitedClass` are the last rows, and their prices are weights beside d: `PricedLimits` adds them to F.
The program maximizes V(w) - P sum_i [<a_i, w> - b_i]_+ over the simplex, where V(w) = -F*(-Uw) and P is the largest
price.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from boostopt._utils.array_types import Array, Float
from boostopt.errors import OptionError
from boostopt.functions.convex_function import computed_attribute
from boostopt.functions.edge_functions.base import EdgeFunction
from boostopt.functions.regularizers.priced_limits import PricedLimits
from boostopt.oracles.limited_class import LimitedClass
from boostopt.programs.boosting_spec import BoostingSpec, UpdateKind
from boostopt.programs.formulation import Formulation
from boostopt.programs.parameters import Parameter
from boostopt.programs.program import Examples, Program
from boostopt.rows.margin_matrix import MarginMatrix


class LimitedWeights(Formulation[Any]):
    """A formulation with limits on the hypothesis weights, whose last rows of U are limits.

    Parameters
    ----------
    base
        The formulation of the examples. Its G is the largest edge.
    right_sides
        The right sides of the limits, shape (k,).
    row_errors
        Bounds of the rounding errors of the entries of each limit, shape (k,).
    max_price
        The price of a unit above a limit.

    Raises
    ------
    OptionError
        The formulation is not solved as a program over all hypotheses.
    """

    name: ClassVar[str] = "limited_weights"

    def __init__(
        self,
        base: Formulation[Any],
        right_sides: Float[Array, " k"],
        row_errors: Float[Array, " k"],
        max_price: float,
    ) -> None:
        self.base: Formulation[Any] = base
        self.right_sides, self.row_errors, self.max_price = right_sides, row_errors, max_price
        if base.boosting.update is not UpdateKind.TOTAL or base.columns is not None:
            raise OptionError(
                f"limits on the weights need a formulation that is solved over all hypotheses, such as lpboost; "
                f"{base.name} is not. Choose another formulation, or leave out the limits."
            )
        self.source_file = base.source_file
        self.boosting: BoostingSpec = BoostingSpec(  # pyright: ignore[reportIncompatibleVariableOverride]
            rules=("direct",), next_parameters=base.boosting.next_parameters
        )

    def _base_title(self) -> str:
        return f"{self.base.title or self.base.name} with limits on the weights"

    def _base_parameters(self) -> type[Any]:
        return self.base.Parameters

    def _base_uses_reference(self) -> bool:
        return self.base.uses_reference

    title: ClassVar[str] = computed_attribute(_base_title)
    Parameters: ClassVar[type[Any]] = computed_attribute(_base_parameters)
    uses_reference: ClassVar[bool] = computed_attribute(_base_uses_reference)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return LimitedWeights, (self.base, self.right_sides, self.row_errors, self.max_price)

    @property
    def text(self) -> str:
        return self.base.text

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        return self.base.parameters

    def has_limits_of(self, oracle: object) -> bool:
        """Return whether the right sides, their errors and the price are those of a `LimitedClass`."""
        return (
            isinstance(oracle, LimitedClass)
            and np.array_equal(self.right_sides, oracle.right_sides)
            and np.array_equal(self.row_errors, oracle.row_errors)
            and self.max_price == oracle.max_price
        )

    def examples_of(self, examples: Examples) -> Examples:
        """Return the examples without the rows of the limits."""
        n = examples.N - len(self.right_sides)
        return Examples(examples.c[:n], examples.d0[:n])

    def fill_parameters(self, p: Any, examples: Examples) -> Any:
        return self.base.fill_parameters(p, self.examples_of(examples))

    def regularizer(self, p: Any, examples: Examples) -> PricedLimits:
        F = self.base.regularizer(p, self.examples_of(examples))
        return PricedLimits(F, self.right_sides, self.max_price)

    def edge_function(self, p: Any) -> EdgeFunction:
        return self.base.edge_function(p)

    def bind(
        self,
        U: Any,
        *,
        c: npt.ArrayLike | None = None,
        d0: npt.ArrayLike | None = None,
        **parameters: Any,
    ) -> Program:
        """Bind the formulation to a margin matrix whose last rows are those of the limits.

        The arguments are as in `Formulation.bind`. c and d0 may leave out the limits, and arrays with one value for
        each example do so.

        Raises
        ------
        OptionError
            G is not the largest edge with its sign.
        """
        margins, k = MarginMatrix(U), len(self.right_sides)
        n = margins.N - k
        counts = None if c is None else np.asarray(c)[:n]
        reference = None if d0 is None else np.asarray(d0)[:n]
        inner = self.base.bind(margins.take_rows(np.arange(n)), c=counts, d0=reference, **parameters)
        G = inner.edge_function
        if not G.is_largest_edge or G.is_symmetric:
            raise OptionError(
                f"limits on the weights need the largest edge with its sign; {self.base.name} with these parameters "
                "has another edge function. Choose another formulation, or leave out two_sided."
            )
        examples = Examples(
            np.concatenate([inner.examples.c, np.ones(k)]), np.concatenate([inner.examples.d0, np.zeros(k)])
        )
        F = PricedLimits(inner.regularizer, self.right_sides, self.max_price)
        return Program(self, inner.parameters, examples, margins, F, G)


def with_limits(formulation: Formulation[Any], oracle: object) -> Formulation[Any]:
    """Return a formulation over the examples of an oracle, with the limits of a `LimitedClass`.

    The limits are those of the oracle: those of a formulation with limits are replaced.

    Raises
    ------
    OptionError
        The formulation has limits, and the oracle has none.
    """
    if isinstance(oracle, LimitedClass):
        base = formulation.base if isinstance(formulation, LimitedWeights) else formulation
        return LimitedWeights(base, oracle.right_sides, oracle.row_errors, oracle.max_price)
    if isinstance(formulation, LimitedWeights):
        raise OptionError(
            f"expected a LimitedClass for a formulation with limits; got {oracle!r:.100}. Pass the formulation "
            "without limits, which is its attribute base, or LimitedClass(oracle, limits)."
        )
    return formulation
