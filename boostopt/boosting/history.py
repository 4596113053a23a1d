"""The weights of the rounds, kept sparse, so that a run can be looked at as it stood after any of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from boostopt.arguments import whole
from boostopt.boosting.classifier import combined
from boostopt.boosting.collected import Collected
from boostopt.boosting.problem import Problem
from boostopt.boosting.state import Bounds, State
from boostopt.certificates.certificate import Certificate
from boostopt.errors import OptionError
from boostopt.oracles.base import Hypothesis
from boostopt.programs.program import Program
from boostopt.shapes import Array, Float, Int


@dataclass(frozen=True, eq=False)
class Sparse:
    """A vector by its non-zero entries.

    Attributes
    ----------
    size
        Its length.
    at, values
        Where the entries are, and what they are.
    """

    size: int
    at: Int[Array, " k"]
    values: Float[Array, " k"]

    @classmethod
    def of(cls, vector: Float[Array, " n"]) -> Sparse:
        """Keep a vector."""
        at = np.flatnonzero(vector)
        return cls(len(vector), at, vector[at])

    @property
    def full(self) -> Float[Array, " n"]:
        """The vector."""
        vector = np.zeros(self.size)
        vector[self.at] = self.values
        return vector


@dataclass(frozen=True, eq=False)
class Kept:
    """One round.

    Attributes
    ----------
    t
        Hypotheses collected by then.
    w
        Their weights.
    d
        The next distribution; None where d(w) gives it.
    smallest_edge
        The smallest edge by then.
    """

    t: int
    w: Sparse
    d: Sparse | None
    smallest_edge: float


@dataclass(frozen=True, eq=False)
class Round:
    """A run after k rounds.

    Attributes
    ----------
    number
        k.
    w
        Weights of the hypotheses collected by then, shape (t_k,).
    d
        The distribution that the oracle was asked with next, shape (N,).
    program
        The program over these hypotheses.
    hypotheses
        They themselves.
    """

    number: int
    w: Float[Array, " t"]
    d: Float[Array, " N"]
    program: Program
    hypotheses: Sequence[Hypothesis] = field(repr=False)

    @cached_property
    def certificate(self) -> Certificate:
        """The interval that d and w prove for the program over these hypotheses."""
        return self.program.certify(self.d, self.w)

    def decision_function(self, X: Any) -> Float[Array, " n"]:
        """Return f(x) = sum_q w_q h_q(x) / sum |w| in [-1, 1] for each row of X."""
        return combined(self.hypotheses, self.w, X)


@dataclass(eq=False)
class History:
    """The rounds that were kept.

    Attributes
    ----------
    wanted
        Whether rounds are kept.
    rounds
        Those that were.
    """

    wanted: bool
    rounds: list[Kept] = field(default_factory=list[Kept])

    def keep(self, state: State, t: int, smooth: bool) -> None:
        """Keep a round, if rounds are kept."""
        if self.wanted:
            d = None if smooth else Sparse.of(state.d)
            self.rounds.append(Kept(t, Sparse.of(state.w), d, state.bounds.smallest_edge))

    def arrays(self) -> dict[str, Any]:
        """Return the rounds as a few long arrays, for files: `of_arrays` makes the same of them."""
        d = [kept.d for kept in self.rounds if kept.d is not None]
        return {
            "t": np.array([kept.t for kept in self.rounds], dtype=np.int64),
            "smallest_edge": np.array([kept.smallest_edge for kept in self.rounds], dtype=np.float64),
            "w": _joined([kept.w for kept in self.rounds]),
            "d": _joined(d) if d else None,
        }

    @classmethod
    def of_arrays(cls, wanted: Any, arrays: Mapping[str, Any], N: int, t: int) -> History:
        """Return the rounds whose `arrays` these are, of a run with N examples and t hypotheses.

        Raises
        ------
        ValueError
            They are no rounds of such a run.
        """
        w = _parted(arrays["w"])
        d = [None] * len(w) if arrays["d"] is None else _parted(arrays["d"])
        columns = arrays["t"].tolist(), w, d, arrays["smallest_edge"].tolist()
        rounds = [Kept(*kept) for kept in zip(*columns, strict=True)]
        for kept in rounds:
            numbers = type(kept.t) is int and isinstance(kept.smallest_edge, float)
            if not (numbers and 1 <= kept.t <= t and kept.w.size == kept.t and (kept.d is None or kept.d.size == N)):
                raise ValueError("rounds with weights of another size")
        if not isinstance(wanted, bool) or (rounds and not wanted):
            raise ValueError("rounds that were not kept")
        return cls(wanted, rounds)

    def at(self, problem: Problem, collected: Collected, k: int) -> Round:
        """Return the run as it stood after k rounds."""
        if not self.wanted:
            raise OptionError(
                "the rounds of this run were not kept: corrective runs may have too many. Pass history=True to boost."
            )
        last = len(self.rounds)
        k = whole("k", k, None, f"the number of a round, 1 to {last}")
        if not 1 <= k <= last:
            raise OptionError(f"k must be the number of a round, 1 to {last}; got {k}. Pass one of them.")
        kept = self.rounds[k - 1]
        w = kept.w.full
        U = collected.margins.take_columns(np.arange(kept.t))
        m = U.margins(w)
        d = problem.at(m).d if kept.d is None else kept.d.full
        state = State(k, w, m, d, math.nan, math.nan, Bounds(smallest_edge=kept.smallest_edge))
        if problem.adds and problem.goal is not None:
            program = problem.goal.program(U)
        else:
            program = problem.program(U, state.progress(problem, U.column(kept.t - 1)))
        return Round(k, w, d, program, collected.hypotheses[: kept.t])


def _joined(vectors: Sequence[Sparse]) -> dict[str, Array]:
    """Return sparse vectors one behind the other."""
    return {
        "sizes": np.array([vector.size for vector in vectors], dtype=np.int64),
        "counts": np.array([len(vector.at) for vector in vectors], dtype=np.int64),
        "at": np.concatenate([vector.at for vector in vectors] or [np.zeros(0, dtype=np.int64)]),
        "values": np.concatenate([vector.values for vector in vectors] or [np.zeros(0)]),
    }


def _parted(joined: Mapping[str, Array]) -> list[Sparse]:
    """Return the sparse vectors that were joined; ValueError for arrays that are none."""
    sizes, counts, at, values = (joined[name] for name in ("sizes", "counts", "at", "values"))
    whole = all(part.dtype.kind == "i" and part.ndim == 1 for part in (sizes, counts, at))
    if not whole or values.dtype != np.float64 or values.shape != at.shape or sizes.shape != counts.shape:
        raise ValueError("weights of rounds that are no arrays of numbers")
    if (counts < 0).any() or counts.sum() != len(at) or (at < 0).any() or not np.isfinite(values).all():
        raise ValueError("weights of rounds that are not what their counts say, or not finite")
    if (at >= np.repeat(sizes, counts)).any():
        raise ValueError("weights of rounds beyond their size")
    ends = np.cumsum(counts)[:-1]
    parts = np.split(at, ends), np.split(values, ends)
    return [Sparse(*vector) for vector in zip(sizes.tolist(), *parts, strict=True)] if len(sizes) else []
