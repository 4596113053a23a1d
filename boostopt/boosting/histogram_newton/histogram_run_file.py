"""Runs of looks in files: hypotheses, whole weights, and both ends with what proves them: nothing as long as the rows.

A file is believed nothing that the rows can say: who goes on from one, or verifies one, tells both ends anew.
"""

from __future__ import annotations

import itertools
import json
import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from os import PathLike
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Int
from boostopt._utils.files import Keys, write_atomically, write_npz
from boostopt._utils.validation import check_path
from boostopt.boosting.histogram_newton.solver_state import EvaluationRecord, ExactBounds, Snapshot, SolverState
from boostopt.boosting.options import BoostOptions
from boostopt.boosting.problem import Problem, exact_objective_of_problem
from boostopt.boosting.run.run_file import (
    FORMAT,
    HISTOGRAM_KIND,
    META,
    ArrayExtractor,
    decode_run,
    formulation_from_json,
    formulation_to_json,
    insert_arrays,
    read_run_file,
    require,
    require_numbers,
)
from boostopt.errors import DataError
from boostopt.objectives.exact import ExactObjective
from boostopt.objectives.upper_bound import UpperBound, check_hypotheses, upper_bound
from boostopt.oracles.base import Hypothesis
from boostopt.oracles.binned_oracle import BinnedOracle
from boostopt.oracles.distributed.detached import DetachedOracle
from boostopt.oracles.hypothesis_state import hypothesis_from_state, to_state
from boostopt.rows.binned_rows import BinnedRows
from boostopt.rows.margin_grid import MARGIN_BITS, MARGIN_SCALE, N_BINS, MarginGrid
from boostopt.rows.row_block import Split

STAND = Keys(
    SolverState,
    {
        "W": "W",
        "level": "level",
        "total": "total",
        "count": "count",
        "waited": "waited",
        "least": "least",
        "nearer": "nearer",
        "gamma": "gamma",
        "stage": "stage",
        "spread": "spread",
    },
)
"""Keys of where a run stands."""

GLANCE = Keys(
    EvaluationRecord,
    {
        "rows": "rows",
        "hypotheses": "hypotheses",
        "active": "active",
        "level": "level",
        "edge": "edge",
        "value": "value",
        "lower": "lower",
        "upper": "upper",
        "edges_seconds": "edges_seconds",
        "seconds": "seconds",
    },
)
"""The numbers of a line about a look; a file holds them in this order, without the keys."""

MIN_CHECKPOINT_SECONDS = 1.0
"""Seconds after which a checkpoint is made before the next look: it takes some milliseconds."""


@dataclass(frozen=True, eq=False)
class StoredHistogramRun:
    """A run of looks as a file holds it.

    Attributes
    ----------
    problem
        What was boosted: of examples that stand for all.
    oracle
        The class in words, and the sizes of the examples.
    hypotheses
        Those collected.
    reached
        How far the run has come.
    reason
        Why it ended; "" while it goes on.
    page_digest
        That of the file which stated the formulation when the run was made.
    """

    problem: Problem
    oracle: DetachedOracle
    hypotheses: Sequence[Hypothesis]
    reached: Snapshot
    reason: str
    page_digest: str

    def save(self, path: str | PathLike[str]) -> None:
        """Write the file.

        Raises
        ------
        DataError
            The file cannot be written.
        """
        writer, reached, problem, oracle = ArrayExtractor(), self.reached, self.problem, self.oracle
        ends, proof = reached.bounds, reached.bounds.upper_witness
        about = writer.extract(
            {
                "kind": HISTOGRAM_KIND,
                "format": FORMAT,
                "formulation": problem.formulation.name,
                "page": formulation_to_json(problem.formulation, self.page_digest),
                "given": problem.user_parameters,
                "epsilon": problem.epsilon,
                "c": problem.examples.c,
                "oracle": {
                    "words": str(oracle),
                    "N": oracle.N,
                    "total": oracle.total,
                    "majority": oracle.majority,
                    "reflexive": oracle.reflexive,
                },
                "splits": np.array(reached.pool, dtype=np.int64).reshape(-1, 3),
                "hypotheses": [to_state(hypothesis) for hypothesis in self.hypotheses],
                "stand": STAND.to_file(reached.state),
                "lower": _fraction_to_json(ends.lower),
                "W": ends.integer_weights,
                "sum": ends.weight_sum,
                "proof": None
                if proof is None
                else {
                    "upper": _fraction_to_json(proof.edge),
                    "cost": _fraction_to_json(proof.regularizer_bound),
                    "W": proof.hypothesis_weights,
                    "origin": proof.grid.origin,
                    "shift": proof.grid.log2_bin_width,
                    "table": proof.integer_weights,
                    "total": proof.normalizer,
                },
                "glances": [list(GLANCE.to_file(glance).values()) for glance in reached.log],
                "sizes": np.array([len(W) for W in reached.weights_by_iteration], dtype=np.int64),
                "kept": np.concatenate([np.zeros(0), *reached.weights_by_iteration]),
                "reason": self.reason,
            }
        )
        writer.arrays[META] = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
        write_atomically(check_path("path", path), lambda file: write_npz(file, writer.arrays))

    @classmethod
    def load(cls, path: str | PathLike[str], formulation: Any = None) -> StoredHistogramRun:
        """Return the run that a file holds.

        Raises
        ------
        DataError
            The file is not there, is no saved run of looks, was made by another version, or is damaged.
        """
        source, about, arrays = read_run_file(path, (HISTOGRAM_KIND, FORMAT))
        return decode_run(source, lambda: _run_from_json(insert_arrays(about, arrays), formulation))

    def recompute_bounds(
        self, oracle: BinnedOracle, rows: BinnedRows, aim: ExactObjective
    ) -> tuple[ExactBounds, Fraction]:
        """Return both ends as the run has them, which the rows confirm, and the best lower one of the weights.

        Raises
        ------
        ValueError
            The rows say otherwise: they are others.
        """
        reached, ends = self.reached, self.reached.bounds
        check_hypotheses(oracle, rows, reached.pool, self.hypotheses)
        if ends.upper_witness is None:
            return ExactBounds(), ExactBounds().lower
        proof = ends.upper_witness
        again = upper_bound(
            rows, aim, oracle.reflexive, proof.columns, proof.hypothesis_weights, proof.grid, proof.integer_weights
        )
        kept = (
            None
            if ends.integer_weights is None
            else rows.margins(reached.pool[: len(ends.integer_weights)], ends.integer_weights)
        )
        lower = ends.lower if kept is None else aim.best_lower_bound(rows, kept)
        same = (
            again.edge == proof.edge
            and again.normalizer == proof.normalizer
            and abs(again.regularizer_bound - proof.regularizer_bound) <= aim.platform_tolerance
        )
        if not (same and ends.lower <= lower + aim.platform_tolerance):
            raise ValueError(
                f"the ends {float(ends.lower):.10g} and {float(proof.value):.10g}, but these examples have the ends "
                f"{float(lower):.10g} and {float(again.value):.10g}"
            )
        return replace(ends, lower=min(ends.lower, lower), upper_witness=again), lower


class CheckpointWriter:
    """The file that a run of looks is stored in while it goes on.

    Parameters
    ----------
    options
        Where, and how often.
    made
        Returns what is stored of a run that has come so far.
    """

    def __init__(self, options: BoostOptions, made: Callable[[Snapshot], StoredHistogramRun]) -> None:
        self._options, self._made, self._last = options, made, time.perf_counter()
        self._reached: Snapshot | None = None

    def on_snapshot(self, reached: Snapshot) -> None:
        """Store a run before its next look, where that is due."""
        self._reached = reached
        often = min(MIN_CHECKPOINT_SECONDS, self._options.checkpoint_seconds or MIN_CHECKPOINT_SECONDS)
        looks = len(reached.weights_by_iteration)
        if (looks and looks % self._options.checkpoint_rounds == 0) or time.perf_counter() - self._last >= often:
            self.write()

    def write(self) -> None:
        """Store a run as it stood before its last look, which will be made again; it is not lost for a full disk."""
        if self._options.checkpoint is None or self._reached is None:
            return
        try:
            self._made(self._reached).save(self._options.checkpoint)
        except DataError as failure:
            warnings.warn(
                f"the checkpoint of look {len(self._reached.weights_by_iteration)} was not written: {failure}",
                RuntimeWarning,
                stacklevel=5,
            )
        self._last, self._reached = time.perf_counter(), None


def detached(oracle: BinnedOracle) -> DetachedOracle:
    """Return what a file says of an oracle."""
    return DetachedOracle(str(oracle), oracle.N, oracle.total, oracle.majority, oracle.reflexive)


def _fraction_to_json(fraction: Fraction) -> list[str]:
    return [str(fraction.numerator), str(fraction.denominator)]


def _fraction_from_json(written: Sequence[str]) -> Fraction:
    numerator, denominator = map(int, written)
    require(denominator > 0, "an end is not a fraction")
    return Fraction(numerator, denominator)


def _run_from_json(about: Mapping[str, Any], formulation: Any) -> StoredHistogramRun:
    """Return the run that was described."""
    page, page_digest = formulation_from_json(about, formulation)
    problem = Problem.create(page, about["c"], None, about["epsilon"], "newton", about["given"])
    of = about["oracle"]
    require(exact_objective_of_problem(problem, float(of["total"])) is not None, "looks do not support the problem")
    require(isinstance(of["words"], str) and of["majority"] in (-1, 1), "the class has no words or no majority")
    oracle = DetachedOracle(of["words"], int(of["N"]), float(of["total"]), of["majority"], bool(of["reflexive"]))
    splits = tuple(Split(*map(int, row)) for row in about["splits"])
    hypotheses = [hypothesis_from_state(state) for state in about["hypotheses"]]
    require(len(splits) == len(hypotheses), "the splits and the hypotheses do not belong together")
    sizes = about["sizes"].tolist()
    ends = np.cumsum([0, *sizes]).tolist()
    require(ends[-1] == len(about["kept"]), "the number of the weights is wrong")
    kept = [np.asarray(about["kept"][i:j], dtype=np.float64) for i, j in itertools.pairwise(ends)]
    W = about["W"]
    reached = Snapshot(
        splits,
        _state_from_json(about["stand"], len(splits)),
        ExactBounds(
            _fraction_from_json(about["lower"]),
            None if W is None else _integer_weights_from_json(W, len(splits)),
            float(about["sum"]),
            None if about["proof"] is None else _upper_bound_from_json(about["proof"], splits),
        ),
        [_log_record_from_json(row) for row in about["glances"]],
        kept,
    )
    require(isinstance(about["reason"], str), "the reason is not a text")
    require(about["proof"] is not None or W is None, "it has weights without a distribution")
    require(
        W is not None or _fraction_from_json(about["lower"]) == ExactBounds().lower,
        "it has a soft margin without weights",
    )
    require(W is None or W.sum() == MARGIN_SCALE, f"the weights do not sum to 2^{MARGIN_BITS}")
    lower, upper, total = reached.bounds.lower, reached.bounds.upper, reached.bounds.weight_sum
    require(W is None or -1 <= lower <= upper <= 1, "the ends are not an interval in [-1, 1]")
    require(0.0 < total < math.inf, "the sum of the weights is not positive and finite")
    seen = sum(glance.rows == oracle.N and glance.active > 0 for glance in reached.log)
    require(seen == len(kept), "the weights belong to another number of looks")
    return StoredHistogramRun(problem, oracle, hypotheses, reached, about["reason"], page_digest)


def _state_from_json(about: Mapping[str, Any], most: int) -> SolverState:
    """Return where a run stood."""
    _require_kinds(
        [about[name] for name in ("level", "count", "waited", "nearer")],
        [about[name] for name in ("total", "least", "gamma", "stage")] + [about.get("spread", 0.0)],
    )
    W = _integer_weights_from_json(about["W"], most)
    require(not W.any() or W.sum() == MARGIN_SCALE, f"the weights do not sum to 2^{MARGIN_BITS} or 0")
    stand = replace(SolverState(**STAND.from_file(about)), W=W)
    known = 0.0 < stand.total < math.inf and abs(stand.gamma) <= 2.0 and min(stand.least, stand.stage) >= -1.0
    known = known and 0.0 <= stand.spread <= 1.0
    require(known, "some numbers cannot belong to a run")
    return stand


def _log_record_from_json(row: Sequence[Any]) -> EvaluationRecord:
    """Return a line about a look."""
    _require_kinds(row[:4], row[4:])
    return EvaluationRecord(**GLANCE.from_file(dict(zip(GLANCE.attributes, row, strict=True))))


def _require_kinds(counts: Sequence[Any], numbers: Sequence[Any]) -> None:
    """Raise what names it where counts are no whole numbers from 0 up, or numbers none."""
    require(all(type(count) is int and count >= 0 for count in counts), "a count is not a whole number of at least 0")
    require_numbers(numbers)


def _upper_bound_from_json(about: Mapping[str, Any], splits: Sequence[Split]) -> UpperBound:
    """Return a proof as it was described; whether it proves anything the rows must say."""
    W, table = _integer_weights_from_json(about["W"], len(splits)), about["table"]
    require(table.shape == (N_BINS + 2,) and table.dtype.kind == "i", "the weights belong to other buckets")
    window = MarginGrid(int(about["origin"]), int(about["shift"]))
    require(
        abs(window.origin) <= MARGIN_SCALE and 0 <= window.log2_bin_width <= MARGIN_BITS,
        "the window lies outside the margins",
    )
    edge, cost = _fraction_from_json(about["upper"]), _fraction_from_json(about.get("cost", ["0", "1"]))
    return UpperBound(edge, cost, splits[: len(W)], W, window, table.astype(np.int64), int(about["total"]))


def _integer_weights_from_json(stated: Array, most: int) -> Int[Array, " t"]:
    """Return whole weights of some hypotheses."""
    whole = stated.ndim == 1 and len(stated) <= most and (stated.dtype.kind == "i" or len(stated) == 0)
    require(
        whole and bool(((stated >= 0) & (stated <= MARGIN_SCALE)).all()),
        "the weights are not whole numbers in their range",
    )
    W = stated.astype(np.int64)
    require(W.sum() <= MARGIN_SCALE, f"the sum of the weights is above 2^{MARGIN_BITS}")
    return W
