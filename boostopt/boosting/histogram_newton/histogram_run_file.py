"""Files of histogram runs: hypotheses, integer weights and both bounds with witnesses; nothing as long as the rows.

A file is not trusted: a run that continues from a file, and a verifier, recompute both bounds from the rows.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from os import PathLike
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Int
from boostopt._utils.files import Keys, write_atomically, write_npz
from boostopt._utils.json_values import parse_integer, read_integer
from boostopt._utils.validation import check_path
from boostopt.boosting.boost_options import BoostOptions
from boostopt.boosting.boosting_problem import Problem, exact_objective_of_problem
from boostopt.boosting.histogram_newton.solver_state import EvaluationRecord, ExactBounds, Snapshot, SolverState
from boostopt.boosting.objectives.class_upper_bound import UpperBound, check_hypotheses, upper_bound
from boostopt.boosting.objectives.exact_objective import ExactObjective
from boostopt.boosting.run.checkpoint_writer import CheckpointWriter
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
from boostopt.oracles.base import Hypothesis, HypothesisClass
from boostopt.oracles.binned_class import BinnedClass
from boostopt.oracles.distributed.oracle_without_rows import OracleWithoutRows
from boostopt.oracles.hypothesis_serialization import hypothesis_from_state, to_state
from boostopt.rows.binned_rows import BinnedRows
from boostopt.rows.margin_grid import MARGIN_BITS, MARGIN_SCALE, N_BINS, MarginGrid
from boostopt.rows.row_block import Split

STATE_KEYS = Keys(
    SolverState,
    {
        "W": "integer_weights",
        "level": "level",
        "total": "weight_sum",
        "count": "n_iterations",
        "waited": "stalled_iterations",
        "least": "reference_gap",
        "nearer": "reference_iteration",
        "gamma": "edge_bound",
        "stage": "gap_at_last_increase",
        "spread": "spread",
    },
)
"""The keys of a solver state in a file."""

RECORD_KEYS = Keys(
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
"""The numbers of the record of an evaluation; a file has them in this order, without the keys."""

MAX_CHECKPOINT_SECONDS = 1.0
"""The largest number of seconds between checkpoints; writing one takes some milliseconds."""


@dataclass(frozen=True, eq=False)
class StoredHistogramRun:
    """A histogram run as stored in a file.

    Attributes
    ----------
    problem
        The problem with representative examples.
    oracle
        The description of the class, and the sizes of the examples.
    hypotheses
        The hypotheses of the pool.
    snapshot
        The snapshot of the run.
    reason
        The reason why the run ended; "" before its end.
    formulation_digest
        The digest of the file that stated the formulation at the time of the run.
    """

    problem: Problem
    oracle: OracleWithoutRows
    hypotheses: Sequence[Hypothesis]
    snapshot: Snapshot
    reason: str
    formulation_digest: str

    def save(self, path: str | PathLike[str]) -> None:
        """Write the file.

        Raises
        ------
        DataError
            The file cannot be written.
        """
        writer, snapshot, problem, oracle = ArrayExtractor(), self.snapshot, self.problem, self.oracle
        bounds, witness = snapshot.bounds, snapshot.bounds.upper_witness
        content = writer.extract(
            {
                "kind": HISTOGRAM_KIND,
                "format": FORMAT,
                "formulation": problem.formulation.name,
                "page": formulation_to_json(problem.formulation, self.formulation_digest),
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
                "splits": np.array(snapshot.pool, dtype=np.int64).reshape(-1, 3),
                "hypotheses": [to_state(hypothesis) for hypothesis in self.hypotheses],
                "stand": STATE_KEYS.to_file(snapshot.state),
                "lower": _fraction_to_json(bounds.lower),
                "W": bounds.integer_weights,
                "sum": bounds.weight_sum,
                "proof": None
                if witness is None
                else {
                    "upper": _fraction_to_json(witness.edge),
                    "cost": _fraction_to_json(witness.regularizer_bound),
                    "W": witness.hypothesis_weights,
                    "origin": witness.grid.origin,
                    "shift": witness.grid.log2_bin_width,
                    "table": witness.integer_weights,
                    "total": witness.normalizer,
                },
                "glances": [list(RECORD_KEYS.to_file(record).values()) for record in snapshot.log],
                "sizes": np.array([len(W) for W in snapshot.weights_by_iteration], dtype=np.int64),
                "kept": np.concatenate([np.zeros(0), *snapshot.weights_by_iteration]),
                "reason": self.reason,
            }
        )
        writer.arrays[META] = np.frombuffer(json.dumps(content).encode(), dtype=np.uint8)
        write_atomically(check_path("path", path), lambda file: write_npz(file, writer.arrays))

    @classmethod
    def load(cls, path: str | PathLike[str], formulation: Any = None) -> StoredHistogramRun:
        """Return the run of a file.

        Raises
        ------
        DataError
            The file is missing or damaged, is not a saved histogram run, or was written by another version.
        """
        source, content, arrays = read_run_file(path, (HISTOGRAM_KIND, FORMAT))
        return decode_run(source, lambda: _run_from_json(insert_arrays(content, arrays), formulation))

    def recompute_bounds(
        self, oracle: BinnedClass, rows: BinnedRows, objective: ExactObjective
    ) -> tuple[ExactBounds, Fraction]:
        """Return both bounds of the run, which the rows confirm, and the best lower bound of the weights.

        Raises
        ------
        ValueError
            The rows give other bounds: they are not the rows of the run.
        """
        snapshot, bounds = self.snapshot, self.snapshot.bounds
        check_hypotheses(oracle, rows, snapshot.pool, self.hypotheses)
        if bounds.upper_witness is None:
            return ExactBounds(), ExactBounds().lower
        witness = bounds.upper_witness
        recomputed = upper_bound(
            rows,
            objective,
            oracle.reflexive,
            witness.columns,
            witness.hypothesis_weights,
            witness.grid,
            witness.integer_weights,
        )
        margins = (
            None
            if bounds.integer_weights is None
            else rows.margins(snapshot.pool[: len(bounds.integer_weights)], bounds.integer_weights)
        )
        lower = bounds.lower if margins is None else objective.best_lower_bound(rows, margins)
        is_confirmed = (
            recomputed.edge == witness.edge
            and recomputed.normalizer == witness.normalizer
            and abs(recomputed.regularizer_bound - witness.regularizer_bound) <= objective.platform_tolerance
        )
        if not (is_confirmed and bounds.lower <= lower + objective.platform_tolerance):
            raise ValueError(
                f"the bounds {float(bounds.lower):.10g} and {float(witness.value):.10g}, but these examples have the "
                f"bounds {float(lower):.10g} and {float(recomputed.value):.10g}"
            )
        return replace(bounds, lower=min(bounds.lower, lower), upper_witness=recomputed), lower


class SnapshotWriter:
    """Writer of the checkpoint file of a histogram run.

    Parameters
    ----------
    options
        The path of the checkpoint, and its intervals.
    make_stored_run
        A function that returns the stored form of the run at a snapshot.
    """

    def __init__(self, options: BoostOptions, make_stored_run: Callable[[Snapshot], StoredHistogramRun]) -> None:
        self._checkpoints = CheckpointWriter(options, MAX_CHECKPOINT_SECONDS)
        self._make_stored_run = make_stored_run
        self._snapshot: Snapshot | None = None

    def on_snapshot(self, snapshot: Snapshot) -> None:
        """Write the checkpoint before the next evaluation if it is due."""
        self._snapshot = snapshot
        if self._checkpoints.is_due(len(snapshot.weights_by_iteration)):
            self.write()

    def write(self) -> None:
        """Write the run as of its last snapshot; the next evaluation is repeated. A full disk causes a warning only."""
        snapshot = self._snapshot
        if snapshot is None:
            return
        self._checkpoints.write(
            lambda path: self._make_stored_run(snapshot).save(path),
            f"evaluation {len(snapshot.weights_by_iteration)}",
        )
        self._snapshot = None


def detached(oracle: HypothesisClass) -> OracleWithoutRows:
    """Return the description of a class without its rows."""
    return OracleWithoutRows(str(oracle), oracle.N, oracle.total, oracle.majority, oracle.reflexive)


def _fraction_to_json(fraction: Fraction) -> list[str]:
    return [str(fraction.numerator), str(fraction.denominator)]


def _fraction_from_json(texts: Sequence[Any]) -> Fraction:
    require(all(isinstance(text, str) for text in texts), "a bound is not a fraction")
    numerator, denominator = map(int, texts)
    require(denominator > 0, "a bound is not a fraction")
    return Fraction(numerator, denominator)


def _run_from_json(content: Mapping[str, Any], formulation: Any) -> StoredHistogramRun:
    """Parse a run; raise if its parts do not belong together."""
    trusted, formulation_digest = formulation_from_json(content, formulation)
    problem = Problem.create(trusted, content["c"], None, content["epsilon"], "newton", content["given"])
    summary = content["oracle"]
    require(
        exact_objective_of_problem(problem, float(summary["total"])) is not None,
        "histogram Newton does not support the problem",
    )
    _require_kinds([summary["N"]], [summary["total"], summary["majority"]])
    require(
        isinstance(summary["words"], str) and summary["majority"] in (-1, 1) and isinstance(summary["reflexive"], bool),
        "the class has no words, no majority, or does not say whether it has negations",
    )
    oracle = OracleWithoutRows(
        summary["words"], summary["N"], float(summary["total"]), summary["majority"], summary["reflexive"]
    )
    splits = tuple(Split(*(parse_integer(value, "splits") for value in row)) for row in content["splits"])
    hypotheses = [hypothesis_from_state(state) for state in content["hypotheses"]]
    require(len(splits) == len(hypotheses), "the splits and the hypotheses do not belong together")
    sizes = content["sizes"].tolist()
    offsets = np.cumsum([0, *sizes]).tolist()
    require(offsets[-1] == len(content["kept"]), "the number of the weights is wrong")
    weights_by_iteration = [np.asarray(content["kept"][i:j], dtype=np.float64) for i, j in itertools.pairwise(offsets)]
    W = content["W"]
    snapshot = Snapshot(
        splits,
        _state_from_json(content["stand"], len(splits)),
        ExactBounds(
            _fraction_from_json(content["lower"]),
            None if W is None else _integer_weights_from_json(W, len(splits)),
            float(content["sum"]),
            None if content["proof"] is None else _upper_bound_from_json(content["proof"], splits),
        ),
        [_log_record_from_json(row) for row in content["glances"]],
        weights_by_iteration,
    )
    require(isinstance(content["reason"], str), "the reason is not a text")
    require(content["proof"] is not None or W is None, "it has weights without a distribution")
    require(
        W is not None or _fraction_from_json(content["lower"]) == ExactBounds().lower,
        "it has a soft margin without weights",
    )
    require(W is None or W.sum() == MARGIN_SCALE, f"the weights do not sum to 2^{MARGIN_BITS}")
    lower, upper, total = snapshot.bounds.lower, snapshot.bounds.upper, snapshot.bounds.weight_sum
    require(W is None or -1 <= lower <= upper <= 1, "the bounds are not an interval in [-1, 1]")
    require(0.0 < total < math.inf, "the sum of the weights is not positive and finite")
    n_evaluations = sum(record.rows == oracle.N and record.active > 0 for record in snapshot.log)
    require(n_evaluations == len(weights_by_iteration), "the weights belong to another number of evaluations")
    return StoredHistogramRun(problem, oracle, hypotheses, snapshot, content["reason"], formulation_digest)


def _state_from_json(content: Mapping[str, Any], max_length: int) -> SolverState:
    """Parse a solver state with at most `max_length` weights."""
    _require_kinds(
        [content[name] for name in ("level", "count", "waited", "nearer")],
        [content[name] for name in ("total", "least", "gamma", "stage")] + [content.get("spread", 0.0)],
    )
    W = _integer_weights_from_json(content["W"], max_length)
    require(not W.any() or W.sum() == MARGIN_SCALE, f"the weights do not sum to 2^{MARGIN_BITS} or 0")
    state = replace(SolverState(**STATE_KEYS.from_file(content)), integer_weights=W)
    is_valid = (
        0.0 < state.weight_sum < math.inf
        and abs(state.edge_bound) <= 2.0
        and min(state.reference_gap, state.gap_at_last_increase) >= -1.0
    )
    is_valid = is_valid and 0.0 <= state.spread <= 1.0
    require(is_valid, "some numbers cannot belong to a run")
    return state


def _log_record_from_json(row: Sequence[Any]) -> EvaluationRecord:
    """Parse the record of an evaluation."""
    _require_kinds(row[:4], row[4:])
    return EvaluationRecord(**RECORD_KEYS.from_file(dict(zip(RECORD_KEYS.attributes, row, strict=True))))


def _require_kinds(counts: Sequence[Any], numbers: Sequence[Any]) -> None:
    """Raise unless all counts are non-negative integers and all numbers are numbers."""
    require(all(type(count) is int and count >= 0 for count in counts), "a count is not a whole number of at least 0")
    require_numbers(numbers)


def _upper_bound_from_json(content: Mapping[str, Any], splits: Sequence[Split]) -> UpperBound:
    """Parse an upper bound, which proves nothing before the rows confirm it."""
    W, table = _integer_weights_from_json(content["W"], len(splits)), content["table"]
    require(table.shape == (N_BINS + 2,) and table.dtype.kind == "i", "the weights belong to other bins")
    grid = MarginGrid(read_integer(content, "origin"), read_integer(content, "shift"))
    require(
        abs(grid.origin) <= MARGIN_SCALE and 0 <= grid.log2_bin_width <= MARGIN_BITS,
        "the window lies outside the margins",
    )
    edge, cost = _fraction_from_json(content["upper"]), _fraction_from_json(content.get("cost", ["0", "1"]))
    return UpperBound(edge, cost, splits[: len(W)], W, grid, table.astype(np.int64), read_integer(content, "total"))


def _integer_weights_from_json(values: Array, max_length: int) -> Int[Array, " t"]:
    """Parse integer weights of at most `max_length` hypotheses."""
    is_integer = values.ndim == 1 and len(values) <= max_length and (values.dtype.kind == "i" or len(values) == 0)
    require(
        is_integer and bool(((values >= 0) & (values <= MARGIN_SCALE)).all()),
        "the weights are not whole numbers in their range",
    )
    W = values.astype(np.int64)
    require(W.sum() <= MARGIN_SCALE, f"the sum of the weights is above 2^{MARGIN_BITS}")
    return W
