"""A class of hypotheses together with the constant ones: what an intercept is to boosting."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from operator import index

import numpy as np

from boostopt._utils.array_types import Array, Float, Int8, Num
from boostopt.errors import require_not_none
from boostopt.oracles import Answer, Column, Hypothesis, Oracle, Query, Stump
from boostopt.oracles.base import StateDict
from boostopt.oracles.binned_oracle import BinnedOracle
from boostopt.oracles.weight_scaling import MACHINE_EPSILON
from boostopt.rows.binned_rows import BinnedRows
from boostopt.rows.row_block import Split


class OracleWithConstants(BinnedOracle):
    """An oracle whose class has the constant hypotheses as well: h = 1, and h = -1 if the class is reflexive.

    The first call answers with the constant if its edge is within `tie_tolerance` of the largest: where classes weigh so
    unequally that one answer to everything is as good as any, it is the answer. Later it comes where its edge is the
    largest.

    Parameters
    ----------
    oracle
        The other hypotheses, of examples with labels.
    features
        Number of features that they take.
    tie_tolerance
        Non-negative.
    """

    reflexive: bool
    guarantee: float | None

    mixed = True

    def __init__(self, oracle: Oracle, features: int, tie_tolerance: float) -> None:
        self._oracle, self._features, self._tie_tolerance, self._n_queries = oracle, features, tie_tolerance, 0
        self.reflexive, self.guarantee = oracle.reflexive, oracle.guarantee
        self.aggregates_only: bool = isinstance(oracle, BinnedOracle) and oracle.aggregates_only

    @property
    def N(self) -> int:
        return self._oracle.N

    @property
    def c(self) -> Float[Array, " N"]:
        return self._oracle.c

    @property
    def y(self) -> Num[Array, " N"]:
        return require_not_none(self._oracle.y, "the classes of an oracle that was made of examples")

    @property
    def n_rows(self) -> int:
        return self._oracle.n_rows

    def select_examples(self, values: Num[Array, " rows"]) -> Num[Array, " selected"]:
        return self._oracle.select_examples(values)

    @property
    def total(self) -> float:
        return self._oracle.total

    @property
    def balance(self) -> float:
        return self._oracle.balance

    @property
    def digest(self) -> str:
        return hashlib.sha256(f"{self._oracle.digest} and constants".encode()).hexdigest()

    def __str__(self) -> str:
        return f"{self._oracle}, and constants"

    def best(self, query: Query) -> Answer:
        """Return hypotheses with large edges, the constant among them if it is one of these.

        An edge summed from N products is wrong by N eps / 2 of the sum of their sizes at most (Higham 2002, section
        3.1): a bound of the class is raised by twice that over the constant's edge.
        """
        answer = self._oracle.best(query)
        constant = self._constant(query.d)
        others = tuple(column for column in answer.columns if column.hypothesis != constant.hypothesis)
        top = max((column.edge for column in others), default=-np.inf)
        first, self._n_queries = self._n_queries == 0, 1
        preferred = first and top > constant.edge >= top - self._tie_tolerance
        if preferred or constant.edge >= top:
            # Alone at first: among others the program would take one of these.
            others = (constant,) if first else (constant, *others)
        if answer.largest is None:
            return Answer(others[: query.count], None)
        rounding = (self.N + 4) * MACHINE_EPSILON * float(np.abs(query.d).sum())
        return Answer(others[: query.count], max(answer.largest, constant.edge + rounding), preferred)

    @property
    def binned_rows(self) -> BinnedRows | None:
        rows = self._oracle.binned_rows if isinstance(self._oracle, BinnedOracle) else None
        return rows and rows.with_constant_feature(self._features)

    def hypothesis_of(self, split: Split) -> Hypothesis:
        if split.feature == self._features:
            return Stump(0, -np.inf, split.sign, self._features)
        if not isinstance(self._oracle, BinnedOracle):
            raise TypeError(f"{self._oracle} has no rows")
        return self._oracle.hypothesis_of(split)

    def _constant(self, d: Float[Array, " N"]) -> Column:
        """Return the constant hypothesis with the larger edge, of those that belong to the class."""
        labels = self.y.astype(np.int8)
        column = Column(Stump(0, -np.inf, 1, self._features), labels, float(labels @ d))
        if not self.reflexive or column.edge >= 0.0:
            return column
        negated: Int8[Array, " N"] = -labels
        return replace(column, hypothesis=Stump(0, -np.inf, -1, self._features), margins=negated, edge=-column.edge)

    def margins_of(self, hypothesis: Hypothesis) -> Num[Array, " N"] | None:
        """Return the margins of a hypothesis: of a constant one the labels, or their negations."""
        labels = self.y.astype(np.int8)
        for constant in (1, -1) if self.reflexive else (1,):
            if hypothesis == Stump(0, -np.inf, constant, self._features):
                return constant * labels
        return self._oracle.margins_of(hypothesis)

    def state(self) -> StateDict:
        return {"asked": self._n_queries, "oracle": dict(self._oracle.state())}

    def restore(self, state: StateDict) -> None:
        self._n_queries = index(state["asked"])
        self._oracle.restore(state["oracle"])
