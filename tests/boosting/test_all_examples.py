"""Two examples stand for all where a formulation says so, wherever its class is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import boostopt
from boostopt import OptionError, get_formulation, list_formulations
from boostopt.authoring import COUNT, BoostingSpec, RelativeEntropy, parameter
from boostopt.boosting.histogram_newton.method_selection import representative_multiplicities
from boostopt.errors import require_not_none as present
from boostopt.formulations.erlpboost import ERLPBoost
from boostopt.formulations.lpboost import LPBoost
from boostopt.oracles import BinnedStumps
from boostopt.oracles.binned_class import BinnedOracle
from boostopt.oracles.distributed.cluster_classes import DistributedClass
from boostopt.programs.parameters import typical_value
from boostopt.programs.program import Examples

N = 60
RNG = np.random.default_rng(3)
X = RNG.integers(0, 6, (N, 3)).astype(float)
Y = np.where(X[:, 0] + X[:, 1] + RNG.normal(size=N) > 5, 1, -1)


class Far(DistributedClass):
    """A distributed class whose queries run in this process."""

    def __init__(self) -> None:
        self.reflexive: bool = True
        self.local_class = BinnedStumps(X, Y)
        rows = self.local_class.binned_rows
        assert rows is not None
        self._set_rows(rows, int(Y.sum()))

    def hypothesis_of(self, split: Any) -> Any:
        return self.local_class.hypothesis_of(split)

    def __str__(self) -> str:
        return str(self.local_class)


class Renamed(ERLPBoost):
    """ERLPBoost under another name."""

    name = "renamed"


class Priced(ERLPBoost):
    """ERLPBoost with an F of its own, of which nothing is known."""

    name = "priced"

    def regularizer(self, p: Any, examples: Examples) -> RelativeEntropy:
        return RelativeEntropy.capped(
            np.where(np.arange(examples.N) > 3, 1.0, 2.0) * examples.c, p.nu, p.eta, examples.d0
        )


class Declared(Priced):
    """The same F as ERLPBoost's, written anew and declared."""

    name = "declared"
    needs_all_examples = False

    def regularizer(self, p: Any, examples: Examples) -> RelativeEntropy:
        return RelativeEntropy.capped(examples.c, p.nu, p.eta, examples.d0)


@dataclass(frozen=True, kw_only=True)
class OwnParameters:
    """A parameter that says something else."""

    nu: float = parameter("half of the count", COUNT)


def test_a_subclass_inherits_what_it_depends_on_only_with_its_statement() -> None:
    assert not ERLPBoost.needs_all_examples and not Renamed.needs_all_examples and not Declared.needs_all_examples
    assert Priced.needs_all_examples
    bodies: tuple[dict[str, Any], ...] = (
        {"Parameters": OwnParameters},
        {"fill_parameters": lambda self, p, examples: p},
        {"edge_function": lambda self, p: None},
        {"boosting": BoostingSpec(smoothed_formulation="priced")},
    )
    for body in bodies:
        assert type("Own", (LPBoost,), body).needs_all_examples
    assert not type("Own", (LPBoost,), {"__doc__": "a page"}).needs_all_examples


@pytest.mark.parametrize("formulation", (Renamed(), Declared()))
def test_a_formulation_of_ones_own_is_boosted_on_rows_elsewhere(formulation: ERLPBoost) -> None:
    run = boostopt.boost(formulation, Far(), nu=12.0, epsilon=0.2)
    twin = boostopt.boost("erlpboost", BinnedStumps(X, Y), nu=12.0, epsilon=0.2)
    certificate, reference = run.class_certificate, twin.class_certificate
    assert (certificate.lower, certificate.upper) == (reference.lower, reference.upper) and np.array_equal(
        run.w, twin.w
    )


def test_a_formulation_that_needs_all_examples_is_refused_by_name() -> None:
    with pytest.raises(OptionError, match=r"\bpriced\b.*needs_all_examples"):
        boostopt.boost(Priced(), Far(), nu=12.0, epsilon=0.2)


@pytest.mark.parametrize("formulation", (Priced(), Renamed()))
def test_examples_that_stand_for_all(formulation: ERLPBoost) -> None:
    oracle: BinnedOracle = BinnedStumps(X, Y)
    expected = oracle.c if formulation.needs_all_examples else [12.0, N - 12.0]
    assert np.array_equal(representative_multiplicities(formulation, oracle, 12.0), expected)


NEEDING_ALL = {"lp_adaboost", "norm_ball", "norm_penalty"}
"""Its nu is the smallest multiplicity; and two whose F are norms, no sums over the examples."""


@pytest.mark.parametrize("name", list_formulations())
def test_formulations_depend_on_the_examples_as_they_say(name: str) -> None:
    """F of an example follows from its multiplicity and the sum alone: examples with the same c have the same f."""
    formulation = get_formulation(name)
    assert formulation.needs_all_examples == (name in NEEDING_ALL)
    if formulation.needs_all_examples:
        return
    functions = list[tuple[Any, ...]]()
    for c in (np.array([4.0, 8.0]), np.array([2.5, 4.0, 1.5, 3.0, 1.0])):
        values = {key: typical_value(p.domain, len(c)) for key, p in formulation.parameters.items() if p.required}
        F = formulation.bind(np.ones((len(c), formulation.columns or 1)) * 0.0, c=c, **values).regularizer
        n = int(np.argmax(c == 4.0))
        terms = present(F.pointwise(), "a sum over the examples")
        low, high = terms.lower, terms.upper
        d = low + 0.3 * (high - low)
        functions.append((low[n], high[n], terms.derivatives(d)[n], terms.curvatures(d)[n]))
    assert functions[0] == pytest.approx(functions[1], rel=1e-12)
