"""A hypothesis class extended by the constant hypotheses, which act as an intercept of the ensemble."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Int8, Num
from boostopt._utils.json_values import parse_count
from boostopt.errors import require_not_none
from boostopt.oracles import Answer, Column, Hypothesis, Oracle, Query, Stump
from boostopt.oracles.base import DerivedClass, StateDict
from boostopt.oracles.binned_class import BinnedClass, BinnedOracle
from boostopt.oracles.weight_scaling import MACHINE_EPSILON
from boostopt.rows.binned_rows import BinnedRows
from boostopt.rows.row_block import Split


class ClassWithConstants(DerivedClass, BinnedClass):
    """A class of hypotheses extended by the constants: h = 1, and h = -1 if the class is reflexive.

    Attributes
    ----------
    hypotheses
        The class of the other hypotheses.
    features
        The number of features that the hypotheses take.
    """

    reflexive: bool

    def __init__(self, hypotheses: Oracle | BinnedClass, features: int) -> None:
        super().__init__(hypotheses)
        self._features, self.reflexive = features, hypotheses.reflexive

    def __str__(self) -> str:
        return f"{self._hypotheses}, and constants"

    @property
    def binned_rows(self) -> BinnedRows | None:
        rows = self._hypotheses.binned_rows if isinstance(self._hypotheses, BinnedClass) else None
        return rows and rows.with_constant_feature(self._features)

    def hypothesis_of(self, split: Split) -> Hypothesis:
        if split.feature == self._features:
            return Stump(0, -np.inf, split.sign, self._features)
        if not isinstance(self._hypotheses, BinnedClass):
            raise TypeError(f"{self._hypotheses} has no rows")
        return self._hypotheses.hypothesis_of(split)


class OracleWithConstants(ClassWithConstants, BinnedOracle):
    """An oracle whose class also contains the constant hypotheses: h = 1, and h = -1 if the class is reflexive.

    The first answer is the constant alone if its edge is within `tie_tolerance` of the largest edge: if the
    classes have so unequal weights that a constant prediction is as good as any hypothesis, the run begins with the
    constant. Later answers contain the constant if it has the largest edge.

    Attributes
    ----------
    oracle
        The oracle of the other hypotheses, over examples with labels.
    features
        The number of features that the hypotheses take.
    tie_tolerance
        The tolerance of the first answer, non-negative.
    """

    guarantee: float | None

    heterogeneous = True

    def __init__(self, oracle: Oracle, features: int, tie_tolerance: float) -> None:
        super().__init__(oracle, features)
        self._oracle, self._tie_tolerance, self._n_queries = oracle, tie_tolerance, 0
        self.guarantee = oracle.guarantee

    @property
    def c(self) -> ExampleVector:
        return self._oracle.c

    @property
    def y(self) -> Num[Array, " N"]:
        return require_not_none(self._oracle.y, "the classes of an oracle that was made of examples")

    @property
    def digest(self) -> str:
        return hashlib.sha256(f"{self._oracle.digest} and constants".encode()).hexdigest()

    def best(self, query: Query) -> Answer:
        """Return hypotheses with large edges, including the constant if it is one of them.

        The rounding error of an edge, a sum of N products, is at most N eps / 2 times the sum of the absolute products
        (Higham 2002, section 3.1). The bound of the class exceeds the constant's edge by twice this error.
        """
        answer = self._oracle.best(query)
        constant = self._constant(query.d)
        columns = tuple(column for column in answer.columns if column.hypothesis != constant.hypothesis)
        top = max((column.edge for column in columns), default=-np.inf)
        first, self._n_queries = self._n_queries == 0, 1
        preferred = first and top > constant.edge >= top - self._tie_tolerance
        if preferred or constant.edge >= top:
            # The first answer is the constant alone: among several columns, the program would choose another one.
            columns = (constant,) if first else (constant, *columns)
        if answer.edge_bound is None:
            return Answer(columns[: query.count], None)
        rounding = (self.N + 4) * MACHINE_EPSILON * float(np.abs(query.d).sum())
        return Answer(columns[: query.count], max(answer.edge_bound, constant.edge + rounding), preferred)

    def _constant(self, d: ExampleVector) -> Column:
        """Return the constant hypothesis with the larger edge, among those in the class."""
        labels = self.y.astype(np.int8)
        column = Column(Stump(0, -np.inf, 1, self._features), labels, float(labels @ d))
        if not self.reflexive or column.edge >= 0.0:
            return column
        negated: Int8[Array, " N"] = -labels
        return replace(column, hypothesis=Stump(0, -np.inf, -1, self._features), margins=negated, edge=-column.edge)

    def margins_of(self, hypothesis: Hypothesis) -> Num[Array, " N"] | None:
        """Return the margins of a hypothesis; those of a constant are the labels or their negations."""
        labels = self.y.astype(np.int8)
        for constant in (1, -1) if self.reflexive else (1,):
            if hypothesis == Stump(0, -np.inf, constant, self._features):
                return constant * labels
        return self._oracle.margins_of(hypothesis)

    def state(self) -> StateDict:
        return {"asked": self._n_queries, "oracle": dict(self._oracle.state())}

    def restore(self, state: StateDict) -> None:
        self._n_queries = parse_count(state["asked"], "asked")
        self._oracle.restore(state["oracle"])
