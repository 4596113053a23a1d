"""Files of runs: one npz of plain arrays with a description in JSON, without pickle or executable content.

A file is written under a temporary name and renamed, so it is complete at any time. `load` checks the format, the
version and the shapes, and computes the certificate over the hypotheses again from the margins. It rejects a bound of
the class that the hypotheses contradict. A new proof of this bound needs the oracle: see `Run.verify_class`.
"""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from boostopt._utils.array_types import Array, HypothesisVector
from boostopt._utils.files import (
    Keys,
    check_free_space,
    lack_of,
    leftover_temporary_files,
    read_npz,
    resolve_target,
    write_atomically,
    write_plain_npz,
)
from boostopt._utils.formatting import format_count
from boostopt._utils.json_values import (
    DESCRIPTION,
    Reader,
    parse_array,
    parse_bound,
    parse_count,
    parse_entries,
    parse_finite,
    parse_flag,
    parse_keys,
    parse_object,
    parse_or_null,
    parse_sign,
    parse_text,
    unexpected,
)
from boostopt._utils.user_modules import is_python_file_path, text_digest
from boostopt._utils.validation import check_path
from boostopt.backends import get_backend
from boostopt.backends.base import WarmStart
from boostopt.boosting.booster_names import resolve_formulation
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.column_pool import ColumnPool
from boostopt.boosting.objectives.limited_formulation import LimitedWeights
from boostopt.boosting.run.run_data import RunData
from boostopt.boosting.run.run_state import OracleBounds, State
from boostopt.boosting.run.trace import Trace
from boostopt.boosting.run.weight_history import History
from boostopt.errors import BoostoptError, DataError, OptionError, SolverNotFound, reason_of, short_repr
from boostopt.oracles.feature_validation import FeatureHypothesis
from boostopt.oracles.hypothesis_serialization import hypothesis_from_state, to_state
from boostopt.programs.boosting_spec import FinalWeights, UpdateKind, parse_choice
from boostopt.programs.formulation import Formulation
from boostopt.programs.parameters import LARGEST
from boostopt.rows.margin_matrix import MarginMatrix

KIND, HISTOGRAM_KIND, FORMAT = "boostopt run", "boostopt run of looks", 1
"""The kinds of files of runs, by column generation and by histogram Newton, and the format version."""

STATE = Keys(
    State,
    {
        "round": "round",
        "w": "w",
        "m": "m",
        "d": "d",
        "value": "dual_objective",
        "soft_margin": "soft_margin",
        "backend": "backend",
        "stuck": "stop_reason",
        "repeated": "rounds_without_column",
        "still": "rounds_without_improvement",
        "solved_edge": "smallest_edge_at_solve",
        "active": "active",
        "memory": "memory",
    },
)
"""The file keys of the state of a run; the bounds, the start and the certificate have separate keys."""

BOUNDS = Keys(
    OracleBounds,
    {
        "edge": "edge",
        "smallest_edge": "smallest_edge",
        "smallest_target": "smallest_target",
        "smallest_value": "smallest_value",
        "smallest_primal": "smallest_primal",
        "primal": "primal",
        "known": "pool_edge_value",
        "upper": "upper",
        "d": "d",
    },
)
"""The file keys of the bounds from the answers of the oracle."""

T = TypeVar("T")

META = "meta"
"""The name of the array with the description."""

CONSISTENCY_TOL = 1e-9
"""The largest rounding error of stored values in comparison with the hypotheses."""

NUMERICAL_TOL = 1e-6
"""The largest relative difference of two soft margins of the same weights if F* has no closed form."""


parse_integers = parse_array(np.int64, 1)
"""Reader of integers in a row."""

_parse_finite_floats = parse_array(np.float64, 1)


def parse_floats(value: Any, label: str) -> Any:
    """Return an array of numbers in a row, whose sums neither overflow nor become infinite."""
    largest = float(np.abs(_parse_finite_floats(value, label)).max(initial=0.0))
    if largest > LARGEST:
        raise ValueError(f"{label} must be numbers of at most {LARGEST:g}; got one of size {largest:g}")
    return value


def _parse_arrays(value: Any, label: str) -> Any:
    """Return arrays of numbers by name."""
    for name, array in parse_object(value, label).items():
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "bif":
            raise unexpected(f"{label}.{name}", "an array of numbers", array)
    return value


def _parse_margins(value: Any, label: str) -> Any:
    """Return a margin matrix as arrays: a dense one, or a sparse one by its rows."""
    return _parse_arrays(value, label) if "dense" in parse_object(value, label) else _parse_sparse_margins(value, label)


def _parse_memory(value: Any, label: str) -> Any:
    """Return finite numbers, and arrays of them, by name."""
    for name, entry in parse_object(value, label).items():
        (parse_floats if isinstance(entry, np.ndarray) and entry.ndim else _parse_number)(entry, f"{label}.{name}")
    return value


def _parse_number(value: Any, label: str) -> Any:
    """Return a finite number, also as an array without dimensions."""
    return parse_finite(value.item() if isinstance(value, np.ndarray) and not value.ndim else value, label)


def _parse_whole_numbers(value: Any, label: str) -> Any:
    """Return an array of integers of any size."""
    if not (isinstance(value, np.ndarray) and value.dtype.kind == "i" and value.ndim == 1):
        raise unexpected(label, "an array of whole numbers", value)
    return value


def _parse_anything(value: Any, label: str) -> Any:
    """Return a value that its own reader checks later."""
    return value


_parse_page = parse_keys({"file": parse_text, "digest": parse_text})

_parse_limits = parse_keys(
    {
        "formulation": parse_text,
        "right_sides": _parse_anything,
        "row_errors": _parse_anything,
        "max_price": parse_finite,
    }
)

_parse_sparse_margins = parse_keys(
    {"data": _parse_anything, **dict.fromkeys(("indices", "indptr", "shape"), _parse_whole_numbers)}
)

_parse_state = parse_keys(
    {
        "round": parse_count,
        "w": parse_floats,
        "m": parse_floats,
        "d": parse_floats,
        "value": parse_bound,
        "soft_margin": parse_bound,
        "backend": parse_text,
        "stuck": parse_text,
        "repeated": parse_count,
        "still": parse_count,
        "solved_edge": parse_bound,
        "active": parse_or_null(_parse_whole_numbers),
        "memory": _parse_memory,
        "answer": parse_or_null(parse_keys({"d": parse_floats, "w": parse_floats})),
    }
)

_parse_bounds = parse_keys(
    {
        **dict.fromkeys(
            ("edge", "smallest_edge", "smallest_target", "smallest_value", "smallest_primal", "primal"), parse_bound
        ),
        "known": parse_bound,
        "upper": parse_bound,
        "d": parse_or_null(parse_floats),
    },
    optional=("known",),
)

_parse_start = parse_keys(
    {
        "d": parse_or_null(parse_floats),
        "w": parse_or_null(parse_floats),
        "backend": parse_text,
        "state": parse_or_null(_parse_arrays),
    }
)

_parse_sparse_rounds = parse_keys(
    {"sizes": parse_integers, "counts": parse_integers, "at": parse_integers, "values": parse_floats}
)

_parse_history = parse_keys(
    {
        "wanted": parse_flag,
        "rounds": parse_keys(
            {
                "t": parse_integers,
                "smallest_edge": parse_floats,
                "w": _parse_sparse_rounds,
                "d": parse_or_null(_parse_sparse_rounds),
            }
        ),
    }
)


def _parse_trace(value: Any, label: str) -> Any:
    """Return arrays by name."""
    for name, array in parse_object(value, label).items():
        if not isinstance(array, np.ndarray):
            raise unexpected(f"{label}.{name}", "an array", array)
    return value


COMMON_READERS: dict[str, Reader] = {
    "kind": parse_text,
    "format": parse_count,
    "formulation": parse_text,
    "page": parse_or_null(_parse_page),
    "limits": parse_or_null(_parse_limits),
    "given": parse_object,
    "epsilon": parse_finite,
    "c": parse_floats,
    "hypotheses": parse_entries(parse_object),
    "reason": parse_text,
}
"""Readers of the keys of all runs."""

_parse_run = parse_keys(
    {
        **COMMON_READERS,
        "update": parse_text,
        "d0": parse_or_null(parse_floats),
        "U": parse_or_null(_parse_margins),
        "state": _parse_state,
        "bounds": _parse_bounds,
        "start": parse_or_null(_parse_start),
        "history": _parse_history,
        "nus": parse_entries(parse_finite),
        "trace": _parse_trace,
        "oracle": parse_text,
        "digest": parse_text,
        "oracle_state": parse_object,
        "guarantee": parse_or_null(parse_finite),
        "majority": parse_sign,
        "final": parse_or_null(parse_keys({"weights": parse_text, "w": parse_floats})),
    },
    optional=("page", "limits"),
)
"""Reader of a run by column generation."""


def save(record: RunData, path: str | PathLike[str], final: tuple[HypothesisVector, str] | None = None) -> None:
    """Write a record, for a finished run with its final weights and their kind.

    Raises
    ------
    DataError
        The file cannot be written.
    """
    writer = ArrayExtractor()
    about = writer.extract(_run_to_json(record))
    end = None if final is None else {"weights": final[1], "w": writer.extract(final[0])}
    about |= {"kind": KIND, "format": FORMAT, "final": end}
    writer.arrays[META] = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    write_atomically(check_path("path", path), lambda file: write_plain_npz(file, writer.arrays))


def remove_partial_files(path: str | PathLike[str]) -> None:
    """Remove temporary files of processes that were killed while they saved to a path.

    Raises
    ------
    DataError
        The folder does not exist or is not writable, or its disk is full.
    """
    target = Path(path) if os.path.isdir(path) else resolve_target(path)
    if not target.parent.is_dir() or not os.access(target.parent, os.W_OK) or os.path.isdir(target):
        raise DataError(
            f"expected the path of a file in a writable folder; got {str(target)!r}. "
            "Make the folder, or choose another place."
        )
    for file in leftover_temporary_files(target):
        file.unlink(missing_ok=True)
    check_free_space(target)


class FormulationRequired(DataError):
    """The formulation of a run is needed, and was not passed, or another one was."""


DECODING_ERRORS = (
    KeyError,
    IndexError,
    TypeError,
    ValueError,
    AttributeError,
    OverflowError,
    RecursionError,
    MemoryError,
)
"""The errors of Python for a malformed description, or for one that exceeds the memory."""


def load(path: str | PathLike[str], formulation: Any = None) -> tuple[RunData, tuple[HypothesisVector, str] | None]:
    """Return the record of a file, and for a finished run the final weights and their kind.

    Raises
    ------
    DataError
        The file does not exist, is not a saved run, was written by another version, or is damaged.
    """
    source, about, arrays = read_run_file(path, (KIND, FORMAT))

    def read() -> tuple[RunData, tuple[HypothesisVector, str] | None]:
        content = _parse_run(insert_arrays(about, arrays), DESCRIPTION)
        record, final = _run_from_json(content, formulation), content["final"]
        return record, None if final is None else _final(final, record)

    return decode_run(source, read)


def run_kind(path: str | PathLike[str]) -> str:
    """Return the kind of the run in a file; "" if the file cannot be read."""
    return str(_description(path).get("kind", ""))


def stored_parameters(path: str | PathLike[str]) -> Mapping[str, Any]:
    """Return the parameters of the run in a file as they are stored, unchecked; none if the file cannot be read."""
    parameters = _description(path).get("given")
    return parameters if isinstance(parameters, dict) else {}


def _description(path: str | PathLike[str]) -> Mapping[str, Any]:
    """Return the description of a run in a file, unchecked; an empty one if the file cannot be read."""
    try:
        arrays = read_npz(check_path("path", path, DataError), (META,))
        description = json.loads(arrays[META].tobytes().decode())
    except (OSError, DataError, *DECODING_ERRORS):
        return {}
    return description if isinstance(description, dict) else {}


def read_run_file(path: str | PathLike[str], expected: tuple[str, int]) -> tuple[Path, Any, dict[str, Any]]:
    """Return the file of a run, its description and its arrays.

    Raises
    ------
    DataError
        The file does not exist, or does not have the expected kind and format.
    """
    source = check_path("path", path, DataError)
    if not os.path.isfile(source):  # False also for an invalid path
        raise DataError(f"expected the file of a run; {lack_of(source)}")
    try:
        arrays = read_npz(source)
        about = json.loads(arrays[META].tobytes().decode())
        kind, version = about["kind"], about["format"]
    except (DataError, *DECODING_ERRORS) as failure:
        raise DataError(
            f"expected a run of boostopt in {source}; it has no description of a run, or it is damaged "
            f"({_in_words(failure)}). Check the path, or make the run again: {source} was not changed."
        ) from failure
    if (kind, version) != expected or type(version) is not int:
        raise DataError(
            f"expected a {expected[0]} of format {expected[1]} in {source}; got {short_repr(kind)} of format "
            f"{short_repr(version)}. "
            "Read it with the version of boostopt that wrote it. Continue a run of histogram Newton by "
            "histogram Newton, and any other run by steps."
        )
    return source, about, arrays


def decode_run(source: Path, read: Callable[[], T]) -> T:
    """Return the result of `read`, the decoder of a description.

    Raises
    ------
    DataError
        The description is damaged.
    """
    try:
        return read()
    except FormulationRequired as failure:
        raise DataError(
            f"expected the formulation of the run in {source}; {reason_of(failure)}. Or pass the path of another file."
        ) from failure
    except (BoostoptError, *DECODING_ERRORS) as failure:
        raise DataError(
            f"expected a whole run in {source}; part of it cannot be read ({_in_words(failure)}). "
            f"Make the run again: {source} was not changed."
        ) from failure


def _final(final: Mapping[str, Any], record: RunData) -> tuple[HypothesisVector, FinalWeights]:
    """Check the final weights of a run and return them with their kind."""
    w, kind = final["w"], final["weights"]
    require(len(w) == record.pool.t, f"final.w must be {format_count(record.pool.t, 'weight')}; got {len(w)}")
    return w, parse_choice(FinalWeights, "final.weights", kind)


def require(holds: object, otherwise: str) -> None:
    """Raise DataError with the message `otherwise` unless the condition holds."""
    if not holds:
        raise DataError(otherwise)


def _in_words(failure: Exception) -> str:
    """Return the message of an error, without the final full stop."""
    if isinstance(failure, KeyError):
        return f"it has no {failure}"
    is_plain = isinstance(failure, BoostoptError | ValueError)
    return reason_of(failure if is_plain else f"{type(failure).__name__}: {failure}")


def _run_to_json(record: RunData) -> dict[str, Any]:
    """Return a record as a description with names, numbers and arrays."""
    problem, state, pool = record.problem, record.state, record.pool
    start = state.start
    return {
        "formulation": problem.formulation.name,
        "page": formulation_to_json(problem.formulation, record.formulation_digest),
        **_limits_to_json(problem.formulation),
        "given": dict(problem.user_parameters),
        "update": problem.update,
        "epsilon": problem.epsilon,
        "c": problem.examples.c,
        "d0": problem.examples.d0 if problem.formulation.uses_reference else None,
        "U": pool.margins.arrays() if pool.t else None,
        "hypotheses": [to_state(hypothesis) for hypothesis in pool.hypotheses],
        "state": {
            **STATE.to_file(state),
            "answer": None if state.certificate is None else {"d": state.certificate.d, "w": state.certificate.w},
        },
        "bounds": BOUNDS.to_file(state.bounds),
        "start": None
        if start is None
        else {"d": start.d, "w": start.w, "backend": start.backend, "state": _pack_start(start)},
        "history": {"wanted": record.history.is_enabled, "rounds": record.history.arrays()},
        "nus": list(record.trace.nus),
        "trace": record.trace.arrays(),
        "oracle": record.oracle,
        "digest": record.digest,
        "oracle_state": dict(record.oracle_state),
        "guarantee": record.guarantee,
        "majority": record.majority,
        "reason": record.reason,
    }


def formulation_to_json(formulation: Formulation[Any], digest: str) -> dict[str, str] | None:
    """Return the name and the digest of the formulation file of a user; None if there is no file."""
    return None if formulation.source_file is None else {"file": Path(formulation.source_file).name, "digest": digest}


def _limits_to_json(formulation: Formulation[Any]) -> dict[str, Any]:
    """Return the part with the limits on the weights and the formulation of the examples; {} without limits."""
    if not isinstance(formulation, LimitedWeights):
        return {}
    return {
        "limits": {
            "formulation": formulation.base.name,
            "right_sides": formulation.right_sides,
            "row_errors": formulation.row_errors,
            "max_price": float(formulation.max_price),
        }
    }


def _with_stored_limits(base: Formulation[Any], limits: Mapping[str, Any]) -> LimitedWeights:
    """Return the formulation of a run with limits from that of the examples and the limits in its file."""
    right_sides, row_errors = (np.asarray(limits[key], dtype=np.float64) for key in ("right_sides", "row_errors"))
    price = limits["max_price"]
    is_whole = right_sides.ndim == 1 and right_sides.size > 0 and right_sides.shape == row_errors.shape
    is_whole = is_whole and bool(np.isfinite([right_sides, row_errors]).all())
    got = f"{right_sides.tolist()} and {row_errors.tolist()}"
    require(is_whole, f"limits.right_sides and limits.row_errors must be as many finite numbers; got {short_repr(got)}")
    smallest = row_errors.min(initial=0.0)
    require(smallest >= 0.0, f"limits.row_errors must not be negative; got {smallest}")
    require(0.0 < price, f"limits.max_price must be positive; got {price}")
    return LimitedWeights(base, right_sides, row_errors, price)


def formulation_from_json(about: Mapping[str, Any], formulation: Any) -> tuple[Formulation[Any], str]:
    """Return the formulation of a run, and the digest of its file at the time of the run; "" without a file.

    That of a run with limits on the weights is made from the limits in the file, if the formulation that is passed has
    none.
    """
    limits = about.get("limits")
    if limits is not None and not isinstance(formulation, LimitedWeights):
        inner = {**about, "limits": None, "formulation": limits["formulation"]}
        try:
            base, digest = formulation_from_json(inner, formulation)
        except FormulationRequired as failure:
            raise FormulationRequired(f"{reason_of(failure)}, without its limits, which are in the file") from failure
        return _with_stored_limits(base, limits), digest
    entry = about.get("page") or {"file": "", "digest": ""}
    file, digest, name = str(entry["file"]), str(entry["digest"]), about["formulation"]
    if formulation is None and file:
        raise FormulationRequired(
            f"the file {file} states the formulation {name} of this run: pass its path, formulation={file!r}"
        )
    # A path would be executed.
    require(not is_python_file_path(name), "its formulation is the path of a Python file")
    try:
        formulation = resolve_formulation(name if formulation is None else formulation)
    except OptionError as failure:
        if formulation is not None:
            raise
        raise FormulationRequired(
            f"unknown formulation {name!r}: a formulation of your own is not in the file, so pass it, as "
            "Run.load(path, formulation)"
        ) from failure
    if formulation.name != name:
        raise FormulationRequired(f"it is a run of {name}, not of {formulation.name}: pass the formulation of the run")
    return formulation, digest


def warn_of_change(formulation: Formulation[Any], digest: str) -> None:
    """Warn if the formulation file of a run has changed since the run."""
    if digest and formulation.source_file and text_digest(formulation.source_file) != digest:
        warnings.warn(
            f"{Path(formulation.source_file).name} has changed since this run was made. New results use the present "
            "file, but the upper bound over the class is the recorded one. Call Run.verify_class to prove it again.",
            stacklevel=3,
        )


def _run_from_json(about: Mapping[str, Any], formulation: Any) -> RunData:
    """Return the record of a description."""
    formulation, formulation_digest = formulation_from_json(about, formulation)
    # Files of the first boosters call their update a projection.
    update = formulation.boosting.update if formulation.boosting.update is UpdateKind.REWEIGHTING else about["update"]
    problem = Problem.create(formulation, about["c"], about["d0"], about["epsilon"], update, about["given"])
    pool = ColumnPool(len(about["c"]))
    if about["U"] is not None:
        U = MarginMatrix.from_arrays(about["U"])
        hypotheses = [hypothesis_from_state(state) for state in about["hypotheses"]]
        by_feature = [vars(hypothesis) for hypothesis in hypotheses if isinstance(hypothesis, FeatureHypothesis)]
        widths = {fields["features"] for fields in by_feature if "features" in fields}
        require(len(widths) < 2, f"all hypotheses must have one number of features; got {sorted(widths)[:10]}")
        shape = (pool.N, len(hypotheses))
        require(U.shape == shape, f"U must have the shape {shape} of examples and hypotheses; got {U.shape}")
        pool.restore(hypotheses, U)
    return RunData(
        problem=problem,
        pool=pool,
        state=_state(about, problem, pool),
        history=History.from_arrays(about["history"]["wanted"], about["history"]["rounds"], pool.N, pool.t),
        trace=Trace.from_arrays(about["trace"], about["nus"]),
        oracle=about["oracle"],
        digest=about["digest"],
        oracle_state=about["oracle_state"],
        guarantee=about["guarantee"],
        majority=about["majority"],
        reason=about["reason"],
        formulation_digest=formulation_digest,
    )


def _state(about: Mapping[str, Any], problem: Problem, pool: ColumnPool) -> State:
    """Return the state of a description, with a recomputed certificate."""
    saved, start = dict(about["state"]), about["start"]
    answer = saved.pop("answer")
    state = State(**STATE.from_file(saved), bounds=_bounds(about["bounds"], problem, pool))
    N, t = pool.N, len(state.w)
    for name, part in (("m", state.m), ("d", state.d), *state.memory.items()):
        require(
            np.shape(part) in ((), (N,)),
            f"state.{name} must have {format_count(N, 'number')}; got shape {np.shape(part)}",
        )
    require(t <= pool.t, f"state.w must have at most {format_count(pool.t, 'weight')}; got {t}")
    active = state.active
    is_known = active is None or bool(np.isin(active, np.arange(t)).all())
    require(is_known, f"state.active must be numbers of hypotheses below {t}; got {active}")
    if t:
        m = pool.margins.take_columns(np.arange(t)).margins(state.w)
        error = float(np.abs(m - state.m).max())
        is_near = error <= CONSISTENCY_TOL * (1.0 + state.weight_sum)
        require(is_near, f"state.m must be the margins of state.w; got others by {error:.3g}")
        true_state = state.with_soft_margin(problem.objective, pool)
    else:
        true_state, limit = state, problem.least_value + 1.0  # of weights 0
        is_valid = problem.objective is None or state.soft_margin <= limit + CONSISTENCY_TOL
        require(
            is_valid, f"state.soft_margin must be at most {limit:.10g} without weights; got {state.soft_margin:.10g}"
        )
    is_numerical = problem.objective is not None and not problem.objective.F0.has_closed_form_conjugate
    tolerance = NUMERICAL_TOL * max(1.0, abs(true_state.soft_margin)) if is_numerical else CONSISTENCY_TOL
    require(
        abs(true_state.soft_margin - state.soft_margin) <= tolerance,
        f"state.soft_margin must be {true_state.soft_margin:.10g}, that of state.w; got {state.soft_margin:.10g}",
    )
    if is_numerical:  # the stored value depends on earlier solves; the recomputed value is proved
        state = true_state
    if answer is not None:
        n_examples, n_weights = len(answer["d"]), len(answer["w"])
        require(n_examples == N, f"state.answer.d must have {format_count(N, 'number')}; got {n_examples}")
        require(
            1 <= n_weights <= pool.t, f"state.answer.w must have 1 to {format_count(pool.t, 'weight')}; got {n_weights}"
        )
        U = pool.margins.take_columns(np.arange(len(answer["w"])))
        program = problem.program(U, state.before_last_answer.progress(problem, U.column(U.t - 1)))
        state = replace(state, certificate=program.certify(answer["d"], answer["w"]))
    if start is None:
        return state
    for name, longest in (("d", N), ("w", pool.t)):
        n_entries = 0 if start[name] is None else len(start[name])
        require(
            n_entries <= longest, f"start.{name} must have at most {format_count(longest, 'number')}; got {n_entries}"
        )
    unpacked = _unpack_start(start["backend"], start["state"])
    return replace(state, start=WarmStart(start["d"], start["w"], start["backend"], unpacked))


def _bounds(saved: Mapping[str, Any], problem: Problem, pool: ColumnPool) -> OracleBounds:
    """Return the saved bounds; DataError if the hypotheses contradict the bound of the class."""
    bounds = OracleBounds(**BOUNDS.from_file(saved))
    if bounds.d is None or not problem.has_class_bound:
        return replace(bounds, upper=math.inf, d=None)
    require(len(bounds.d) == pool.N, f"bounds.d must have {format_count(pool.N, 'number')}; got {len(bounds.d)}")
    F, G = problem.class_pair
    d = F.project(bounds.d)
    pool_bound = F.value(d) + G.value(pool.margins.edges(d))
    require(
        bounds.upper >= pool_bound - CONSISTENCY_TOL * max(1.0, abs(pool_bound)),
        f"its hypotheses contradict bounds.upper, the bound of the class: it must be at least {pool_bound:.10g}; got "
        f"{bounds.upper:.10g}",
    )
    return bounds


def _pack_start(start: WarmStart) -> dict[str, Array] | None:
    """Return the state of a solver for a warm start as arrays; None if there is none."""
    if start.state is None:
        return None
    try:
        backend_state = get_backend(start.backend).packed(start.state)
    except (SolverNotFound, OptionError):  # a backend object of the user, which has no name
        return None
    return None if backend_state is None else dict(backend_state)


def _unpack_start(backend: str, arrays: Mapping[str, Array] | None) -> Any:
    """Return the state of a solver for a warm start; None if the solver is no longer installed."""
    # A path would be executed.
    require(not is_python_file_path(backend), "the backend of its start is no name")
    if arrays is None:
        return None
    try:
        return get_backend(backend).deserialize_state(arrays)
    except (SolverNotFound, OptionError):
        return None
    except DECODING_ERRORS as failure:
        raise ValueError(f"start.state must be what {backend} has stored; got other arrays") from failure


class ArrayExtractor:
    """A converter that separates the arrays from a description.

    Attributes
    ----------
    arrays
        The extracted arrays by name.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}

    def extract(self, value: Any) -> Any:
        """Return a value with its arrays replaced by their names."""
        if isinstance(value, np.ndarray):
            name = f"a{len(self.arrays)}"
            self.arrays[name] = value
            return {"array": name}
        if isinstance(value, Mapping):
            return {str(key): self.extract(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.extract(inner) for inner in value]
        return value.item() if isinstance(value, np.generic) else value


def insert_arrays(value: Any, arrays: Mapping[str, Any]) -> Any:
    """Return a description with its arrays inserted again."""
    if isinstance(value, dict):
        if set(value) == {"array"}:
            name = value["array"]
            if not isinstance(name, str) or name not in arrays:
                raise ValueError(f"the arrays must have one with the name {short_repr(name)}; got none")
            return arrays[name]
        return {key: insert_arrays(inner, arrays) for key, inner in value.items()}
    return [insert_arrays(inner, arrays) for inner in value] if isinstance(value, list) else value
