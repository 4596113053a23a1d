"""The weights of the rounds in sparse form, from which the state of a run after any round is restored."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float, HypothesisVector, Int
from boostopt._utils.immutable_arrays import ImmutableArrays
from boostopt._utils.validation import check_integer
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.column_pool import ColumnPool
from boostopt.boosting.run.combined_hypothesis import weighted_vote
from boostopt.boosting.run.run_state import OracleBounds, State
from boostopt.boosting_certificates.certificate import Certificate
from boostopt.errors import OptionError
from boostopt.oracles.base import Hypothesis
from boostopt.programs.program import Program


@dataclass(frozen=True, eq=False)
class Sparse(ImmutableArrays):
    """A vector, stored by its nonzero entries.

    Attributes
    ----------
    size
        The length of the vector.
    positions, values
        The positions and the values of the nonzero entries.
    """

    size: int
    positions: Int[Array, " k"]
    values: Float[Array, " k"]

    @classmethod
    def from_dense(cls, vector: Float[Array, " n"]) -> Sparse:
        """Return a vector in sparse form."""
        positions = np.flatnonzero(vector)
        return cls(len(vector), positions, vector[positions])

    @property
    def full(self) -> Float[Array, " n"]:
        """The full vector, shape (size,)."""
        vector = np.zeros(self.size)
        vector[self.positions] = self.values
        return vector


@dataclass(frozen=True, eq=False)
class StoredRound:
    """The weights of one round.

    Attributes
    ----------
    t
        The number of hypotheses collected up to this round.
    w
        The weights of these hypotheses.
    d
        The next distribution; None if it is d(w).
    smallest_edge
        The smallest edge up to this round.
    """

    t: int
    w: Sparse
    d: Sparse | None
    smallest_edge: float


@dataclass(frozen=True, eq=False)
class Round(ImmutableArrays):
    """The state of a run after k rounds.

    Attributes
    ----------
    number
        The number k.
    w
        The weights of the hypotheses collected up to this round, shape (t_k,).
    d
        The distribution of the next query to the oracle, shape (N,).
    program
        The program over these hypotheses.
    hypotheses
        The hypotheses collected up to this round.
    """

    number: int
    w: HypothesisVector
    d: ExampleVector
    program: Program
    hypotheses: Sequence[Hypothesis] = field(repr=False)

    @cached_property
    def certificate(self) -> Certificate:
        """The interval that d and w prove for the program over these hypotheses."""
        return self.program.certify(self.d, self.w)

    def decision_function(self, X: Any) -> Float[Array, "n ..."]:
        """Return f(x) = sum_q w_q h_q(x) / sum |w| in [-1, 1] for each row of X, as `Run.decision_function`."""
        return weighted_vote(self.hypotheses, self.w, X)


@dataclass(eq=False)
class History:
    """The stored rounds of a run.

    Attributes
    ----------
    is_enabled
        Whether the run stores its rounds.
    rounds
        The stored rounds.
    """

    is_enabled: bool
    rounds: list[StoredRound] = field(default_factory=list[StoredRound])

    def append(self, state: State, t: int, smooth: bool) -> None:
        """Store a round, if the history is enabled."""
        if self.is_enabled:
            d = None if smooth else Sparse.from_dense(state.d)
            self.rounds.append(StoredRound(t, Sparse.from_dense(state.w), d, state.bounds.smallest_edge))

    def arrays(self) -> dict[str, Any]:
        """Return the rounds as a few long arrays, for files; `from_arrays` restores them."""
        d = [entry.d for entry in self.rounds if entry.d is not None]
        return {
            "t": np.array([entry.t for entry in self.rounds], dtype=np.int64),
            "smallest_edge": np.array([entry.smallest_edge for entry in self.rounds], dtype=np.float64),
            "w": _concatenate([entry.w for entry in self.rounds]),
            "d": _concatenate(d) if d else None,
        }

    @classmethod
    def from_arrays(cls, is_enabled: Any, arrays: Mapping[str, Any], N: int, t: int) -> History:
        """Return the rounds with these `arrays`, of a run with N examples and t hypotheses.

        Raises
        ------
        ValueError
            The arrays do not belong to such a run.
        """
        w = _check_csr(arrays["w"])
        d = [None] * len(w) if arrays["d"] is None else _check_csr(arrays["d"])
        columns = arrays["t"].tolist(), w, d, arrays["smallest_edge"].tolist()
        if len(set(map(len, columns))) > 1:
            lengths = ", ".join(str(len(column)) for column in columns)
            raise ValueError(f"t, w, d and smallest_edge of the rounds must have one length; got {lengths}")
        rounds = [StoredRound(*entry) for entry in zip(*columns, strict=True)]
        for entry in rounds:
            numbers = type(entry.t) is int and isinstance(entry.smallest_edge, float)
            if not (
                numbers and 1 <= entry.t <= t and entry.w.size == entry.t and (entry.d is None or entry.d.size == N)
            ):
                raise ValueError("a round has weights of a wrong size")
        if not isinstance(is_enabled, bool) or (rounds and not is_enabled):
            raise ValueError("it has rounds although none were stored")
        return cls(is_enabled, rounds)

    def round_after(self, problem: Problem, pool: ColumnPool, k: int) -> Round:
        """Return the state of the run after k rounds."""
        if not self.is_enabled:
            raise OptionError(
                "at(k) needs the weights of every round; this run did not store them, because a corrective run may "
                "have many rounds. Pass history=True to boost."
            )
        last = len(self.rounds)
        k = check_integer("k", k, None, f"the number of a round, 1 to {last}")
        if not 1 <= k <= last:
            raise OptionError(f"k must be the number of a round, 1 to {last}; got {k}. Pass one of them.")
        entry = self.rounds[k - 1]
        w = entry.w.full
        U = pool.margins.take_columns(np.arange(entry.t))
        m = U.margins(w)
        d = problem.conjugate_at_margins(m).d if entry.d is None else entry.d.full
        state = State(k, w, m, d, math.nan, math.nan, OracleBounds(smallest_edge=entry.smallest_edge))
        if problem.is_additive and problem.objective is not None:
            program = problem.objective.program(U)
        else:
            program = problem.program(U, state.progress(problem, U.column(entry.t - 1)))
        return Round(k, w, d, program, pool.hypotheses[: entry.t])


def _concatenate(vectors: Sequence[Sparse]) -> dict[str, Array]:
    """Return the concatenation of sparse vectors as arrays."""
    return {
        "sizes": np.array([vector.size for vector in vectors], dtype=np.int64),
        "counts": np.array([len(vector.positions) for vector in vectors], dtype=np.int64),
        "at": np.concatenate([vector.positions for vector in vectors] or [np.zeros(0, dtype=np.int64)]),
        "values": np.concatenate([vector.values for vector in vectors] or [np.zeros(0)]),
    }


def _check_csr(arrays: Mapping[str, Array]) -> list[Sparse]:
    """Return the sparse vectors of concatenated arrays; ValueError if the arrays are inconsistent."""
    sizes, counts, positions, values = (arrays[name] for name in ("sizes", "counts", "at", "values"))
    are_integers = all(part.dtype.kind == "i" and part.ndim == 1 for part in (sizes, counts, positions))
    if not are_integers or values.dtype != np.float64 or values.shape != positions.shape or sizes.shape != counts.shape:
        raise ValueError("the weights of the rounds are not arrays of numbers")
    if (counts < 0).any() or counts.sum() != len(positions) or (positions < 0).any() or not np.isfinite(values).all():
        raise ValueError("the weights of the rounds do not match their counts, or are not finite")
    if (positions >= np.repeat(sizes, counts)).any():
        raise ValueError("the weights of the rounds exceed their size")
    ends = np.cumsum(counts)[:-1]
    parts = np.split(positions, ends), np.split(values, ends)
    return [Sparse(*vector) for vector in zip(sizes.tolist(), *parts, strict=True)] if len(sizes) else []
