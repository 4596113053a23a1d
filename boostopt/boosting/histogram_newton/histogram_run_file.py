"""Files of histogram runs: hypotheses, integer weights and both bounds with witnesses; nothing as long as the rows.

A file is not trusted: a run that continues from a file, and a verifier, recompute both bounds from the rows.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from os import PathLike
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Int
from boostopt._utils.files import Keys, write_atomically, write_npz
from boostopt._utils.formatting import format_count, with_singular
from boostopt._utils.json_values import (
    DESCRIPTION,
    parse_array,
    parse_bound,
    parse_count,
    parse_entries,
    parse_finite,
    parse_flag,
    parse_integer,
    parse_keys,
    parse_list,
    parse_or_null,
    parse_sign,
    parse_text,
)
from boostopt._utils.validation import check_path
from boostopt.boosting.boost_options import BoostOptions
from boostopt.boosting.boosting_problem import Problem, exact_objective_of_problem
from boostopt.boosting.histogram_newton.solver_state import EvaluationRecord, ExactBounds, Snapshot, SolverState
from boostopt.boosting.objectives.class_upper_bound import UpperBound, check_hypotheses, upper_bound
from boostopt.boosting.objectives.exact_objective import ExactObjective
from boostopt.boosting.run.checkpoint_writer import CheckpointWriter
from boostopt.boosting.run.run_file import (
    COMMON_READERS,
    FORMAT,
    HISTOGRAM_KIND,
    META,
    ArrayExtractor,
    decode_run,
    formulation_from_json,
    formulation_to_json,
    insert_arrays,
    parse_floats,
    parse_integers,
    read_run_file,
    require,
)
from boostopt.errors import short_repr
from boostopt.oracles.base import Hypothesis, HypothesisClass
from boostopt.oracles.binned_class import BinnedClass
from boostopt.oracles.distributed.oracle_without_rows import OracleWithoutRows
from boostopt.oracles.hypothesis_serialization import hypothesis_from_state, to_state
from boostopt.programs.parameters import LARGEST, SMALLEST
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

COUNTS = ("rows", "hypotheses", "active", "level")
"""The numbers of the record of an evaluation that are counts."""

FRACTION_DIGITS = re.compile("-?[0-9]{1,4000}")
"""The numerator or the denominator of a fraction as a text; Python converts no more digits by default."""

MAX_LEVEL = 1000
"""The largest smoothing level; eta times 2^-level is positive for levels up to it."""

MAX_CHECKPOINT_SECONDS = 1.0
"""The largest number of seconds between checkpoints; writing one takes some milliseconds."""


_parse_fraction_texts = parse_entries(parse_text)

_parse_histogram_run = parse_keys(
    {
        **COMMON_READERS,
        "oracle": parse_keys(
            {
                "words": parse_text,
                "N": parse_count,
                "total": parse_finite,
                "majority": parse_sign,
                "reflexive": parse_flag,
            }
        ),
        "splits": parse_array(np.int64, 2),
        "stand": parse_keys(
            {
                "W": parse_integers,
                **dict.fromkeys(("level", "count", "waited", "nearer"), parse_count),
                **dict.fromkeys(("total", "gamma", "spread"), parse_finite),
                **dict.fromkeys(("least", "stage"), parse_bound),
            },
            optional=("spread",),
        ),
        "lower": _parse_fraction_texts,
        "W": parse_or_null(parse_integers),
        "sum": parse_finite,
        "proof": parse_or_null(
            parse_keys(
                {
                    "upper": _parse_fraction_texts,
                    "cost": _parse_fraction_texts,
                    "W": parse_integers,
                    "origin": parse_integer,
                    "shift": parse_count,
                    "table": parse_integers,
                    "total": parse_count,
                },
                optional=("cost",),
            )
        ),
        "glances": parse_entries(parse_list),
        "sizes": parse_integers,
        "kept": parse_floats,
    },
    optional=("page", "limits"),
)
"""Reader of a run by histogram Newton."""


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
        return decode_run(
            source,
            lambda: _run_from_json(_parse_histogram_run(insert_arrays(content, arrays), DESCRIPTION), formulation),
        )

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
        true_witness = upper_bound(
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
            true_witness.edge == witness.edge
            and true_witness.normalizer == witness.normalizer
            and abs(true_witness.regularizer_bound - witness.regularizer_bound) <= objective.platform_tolerance
        )
        if not (is_confirmed and bounds.lower <= lower + objective.platform_tolerance):
            raise ValueError(
                f"the bounds {float(bounds.lower):.10g} and {float(witness.value):.10g}, but these examples have the "
                f"bounds {float(lower):.10g} and {float(true_witness.value):.10g}"
            )
        return replace(bounds, lower=min(bounds.lower, lower), upper_witness=true_witness), lower


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
    requirement = f"lower, proof.upper and proof.cost must be fractions, two texts of digits; got {short_repr(texts)}"
    require(len(texts) == 2 and all(FRACTION_DIGITS.fullmatch(text) for text in texts), requirement)
    numerator, denominator = map(int, texts)
    require(denominator > 0, requirement)
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
    oracle = OracleWithoutRows(
        with_singular(summary["words"]),
        summary["N"],
        float(summary["total"]),
        summary["majority"],
        summary["reflexive"],
    )
    hypotheses = [hypothesis_from_state(state) for state in content["hypotheses"]]
    shape = content["splits"].shape
    require(shape == (len(hypotheses), 3), f"splits must have the shape {(len(hypotheses), 3)}; got {shape}")
    splits = tuple(Split(*row) for row in content["splits"].tolist())
    sizes, n_kept = content["sizes"].tolist(), len(content["kept"])
    is_partition = min(sizes, default=0) >= 0 and max(sizes, default=0) <= len(splits) and sum(sizes) == n_kept
    require(is_partition, f"sizes must be counts with the sum {n_kept}, the length of kept; got {short_repr(sizes)}")
    offsets = itertools.accumulate(sizes, initial=0)
    weights_by_iteration = [content["kept"][i:j] for i, j in itertools.pairwise(offsets)]
    W = content["W"]
    snapshot = Snapshot(
        splits,
        _state_from_json(content["stand"], len(splits)),
        ExactBounds(
            _fraction_from_json(content["lower"]),
            None if W is None else _integer_weights_from_json("W", W, len(splits)),
            float(content["sum"]),
            None if content["proof"] is None else _upper_bound_from_json(content["proof"], splits),
        ),
        [_log_record_from_json(row) for row in content["glances"]],
        weights_by_iteration,
    )
    require(content["proof"] is not None or W is None, "W must be null where proof is; got weights")
    require(
        W is not None or snapshot.bounds.lower == ExactBounds().lower,
        f"lower must be {ExactBounds().lower} where W is null; got {snapshot.bounds.lower}",
    )
    require(
        W is None or W.sum() == MARGIN_SCALE, f"W must have the sum 2^{MARGIN_BITS}; got {0 if W is None else W.sum()}"
    )
    lower, upper, total = snapshot.bounds.lower, snapshot.bounds.upper, snapshot.bounds.weight_sum
    interval = f"[{float(lower):.10g}, {upper:.10g}]"
    require(
        W is None or -1 <= lower <= upper <= 1, f"lower and proof.upper must be an interval in [-1, 1]; got {interval}"
    )
    require(0.0 < total, f"sum must be positive; got {total}")
    n_evaluations = sum(record.rows == oracle.N and record.active > 0 for record in snapshot.log)
    n_stored = len(weights_by_iteration)
    require(
        n_evaluations == n_stored, f"sizes must be those of the weights of {n_evaluations} evaluations; got {n_stored}"
    )
    return StoredHistogramRun(problem, oracle, hypotheses, snapshot, content["reason"], formulation_digest)


def _state_from_json(content: Mapping[str, Any], max_length: int) -> SolverState:
    """Parse a solver state with at most `max_length` weights."""
    W = _integer_weights_from_json("stand.W", content["W"], max_length)
    is_scaled = not W.any() or W.sum() == MARGIN_SCALE
    require(is_scaled, f"stand.W must have the sum 2^{MARGIN_BITS} or 0; got {W.sum()}")
    state = replace(SolverState(**STATE_KEYS.from_file(content)), integer_weights=W)
    for name, value, low, high in (
        ("level", state.level, 0, MAX_LEVEL),
        ("total", state.weight_sum, SMALLEST, LARGEST),
        ("gamma", state.edge_bound, -2.0, 2.0),
        ("least", state.reference_gap, -1.0, math.inf),
        ("stage", state.gap_at_last_increase, -1.0, math.inf),
        ("spread", state.spread, 0.0, 1.0),
    ):
        require(low <= value <= high, f"stand.{name} must lie in [{low:g}, {high:g}]; got {value:g}")
    return state


def _log_record_from_json(row: Sequence[Any]) -> EvaluationRecord:
    """Parse the record of an evaluation."""
    n_numbers = len(RECORD_KEYS.attributes)
    require(
        len(row) == n_numbers,
        f"each of the glances must be {format_count(n_numbers, 'number')}; got {short_repr(list(row))}",
    )
    entries = dict(zip(RECORD_KEYS.attributes, row, strict=True))
    for name, value in entries.items():
        (parse_count if name in COUNTS else parse_bound)(value, f"glances.{name}")
    return EvaluationRecord(**RECORD_KEYS.from_file(entries))


def _upper_bound_from_json(content: Mapping[str, Any], splits: Sequence[Split]) -> UpperBound:
    """Parse an upper bound, which proves nothing before the rows confirm it."""
    W, table = _integer_weights_from_json("proof.W", content["W"], len(splits)), content["table"]
    require(len(table) == N_BINS + 2, f"proof.table must be {N_BINS + 2} weights; got {len(table)}")
    grid = MarginGrid(content["origin"], content["shift"])
    is_inside = abs(grid.origin) <= MARGIN_SCALE and grid.log2_bin_width <= MARGIN_BITS
    require(
        is_inside, f"proof.origin and proof.shift must be a window of margins; got {grid.origin}, {content['shift']}"
    )
    require(content["total"] > 0, "proof.total must be positive; got 0")
    edge, cost = _fraction_from_json(content["upper"]), _fraction_from_json(content.get("cost", ["0", "1"]))
    return UpperBound(edge, cost, splits[: len(W)], W, grid, table, content["total"])


def _integer_weights_from_json(label: str, W: Array, max_length: int) -> Int[Array, " t"]:
    """Return integer weights of at most `max_length` hypotheses, with a sum of at most the scale of margins."""
    require(len(W) <= max_length, f"{label} must have at most {format_count(max_length, 'weight')}; got {len(W)}")
    smallest, total = int(W.min(initial=0)), sum(W.tolist())
    requirement = f"whole numbers from 0 with a sum of at most 2^{MARGIN_BITS}"
    require(smallest >= 0, f"{label} must be {requirement}; got {smallest}")
    require(total <= MARGIN_SCALE, f"{label} must be {requirement}; got the sum {total}")
    return W
