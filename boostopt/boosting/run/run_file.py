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
from collections.abc import Callable, Iterable, Mapping
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
    write_atomically,
    write_plain_npz,
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
from boostopt.errors import BoostoptError, DataError, OptionError, SolverNotFound, reason_of
from boostopt.oracles.hypothesis_serialization import hypothesis_from_state, to_state
from boostopt.programs.boosting_spec import FinalWeights, UpdateKind
from boostopt.programs.formulation import Formulation
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
    target = Path(path)
    if not target.parent.is_dir() or not os.access(target.parent, os.W_OK) or target.is_dir():
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
        content = insert_arrays(about, arrays)
        record, final = _run_from_json(content, formulation), content["final"]
        return record, None if final is None else _final(final, record)

    return decode_run(source, read)


def run_kind(path: str | PathLike[str]) -> str:
    """Return the kind of the run in a file; "" if the file cannot be read."""
    try:
        arrays = read_npz(check_path("path", path, DataError), (META,))
        return str(json.loads(arrays[META].tobytes().decode())["kind"])
    except (OSError, DataError, *DECODING_ERRORS):
        return ""


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
            f"expected a {expected[0]} of format {expected[1]} in {source}; got {kind!r} of format {version!r}. "
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
        raise DataError(f"expected the formulation of the run in {source}; {reason_of(failure)}.") from failure
    except (BoostoptError, *DECODING_ERRORS) as failure:
        raise DataError(
            f"expected a whole run in {source}; part of it cannot be read ({_in_words(failure)}). "
            f"Make the run again: {source} was not changed."
        ) from failure


def _final(final: Mapping[str, Any], record: RunData) -> tuple[HypothesisVector, FinalWeights]:
    """Check the final weights of a run and return them with their kind."""
    w = np.asarray(final["w"], dtype=np.float64)
    require(w.shape == (record.pool.t,), "the number of final weights is wrong")
    require(np.isfinite(w).all(), "the final weights are not finite")
    require(final["weights"] in tuple(FinalWeights), "the kind of the final weights is unknown")
    return w, FinalWeights(final["weights"])


def require(holds: object, otherwise: str) -> None:
    """Raise DataError with the message `otherwise` unless the condition holds."""
    if not holds:
        raise DataError(otherwise)


def require_numbers(values: Iterable[object]) -> None:
    """Raise DataError unless all values of a file are numbers."""
    require(all(type(number) in (int, float) for number in values), "some values must be numbers and are not")


def _in_words(failure: Exception) -> str:
    """Return the message of an error, without the final full stop."""
    return reason_of(failure if isinstance(failure, BoostoptError) else f"{type(failure).__name__}: {failure}")


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
    require(is_whole and np.isfinite([right_sides, row_errors]).all(), "its limits on the weights are damaged")
    require((row_errors >= 0.0).all(), "the errors of its limits must not be negative")
    require(isinstance(price, float) and 0.0 < price < math.inf, "the price of its limits must be positive and finite")
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
        require(U.shape == (pool.N, len(hypotheses)), "the margins and the hypotheses do not belong together")
        pool.restore(hypotheses, U)
    _check_metadata(about)
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


def _check_metadata(about: Mapping[str, Any]) -> None:
    """Raise ValueError for texts and numbers of a record with a wrong type or value."""
    if not all(isinstance(about[name], str) for name in ("oracle", "digest", "reason")):
        raise ValueError("some values must be texts and are not")
    guarantee, majority = about["guarantee"], about["majority"]
    require_numbers([majority, 0.0 if guarantee is None else guarantee])
    if majority not in (-1, 1) or not isinstance(about["oracle_state"], dict):
        raise ValueError("the majority is neither -1 nor 1, or the state of the oracle is missing")


def _state(about: Mapping[str, Any], problem: Problem, pool: ColumnPool) -> State:
    """Return the state of a description, with a recomputed certificate."""
    saved, start = dict(about["state"]), about["start"]
    answer = saved.pop("answer")
    require_numbers(saved[name] for name in ("round", "value", "soft_margin", "repeated", "still", "solved_edge"))
    require(type(saved["round"]) is int and saved["round"] >= 0, "the number of rounds is not a whole number")
    state = State(**STATE.from_file(saved), bounds=_bounds(about["bounds"], problem, pool))
    N, t = pool.N, len(state.w)
    require(state.m.shape == state.d.shape == (N,) and t <= pool.t, "the weights have a wrong size")
    require(all(np.isfinite(part).all() for part in (state.w, state.m, state.d)), "the weights are not finite")
    for part in state.memory.values():
        require(
            np.shape(part) in ((), (N,)) and np.isfinite(part).all(), "the memory has a wrong size, or is not finite"
        )
    active = state.active
    require(
        active is None or (active.dtype.kind == "i" and np.isin(active, np.arange(t)).all()),
        "an active hypothesis is unknown",
    )
    if t:
        m = pool.margins.take_columns(np.arange(t)).margins(state.w)
        require(
            np.abs(m - state.m).max() <= CONSISTENCY_TOL * (1.0 + state.weight_sum),
            "the margins belong to other weights",
        )
    if answer is not None:
        U = pool.margins.take_columns(np.arange(len(answer["w"])))
        program = problem.program(U, state.before_last_answer.progress(problem, U.column(U.t - 1)))
        state = replace(state, certificate=program.certify(answer["d"], answer["w"]))
    if start is None:
        return state
    for part, longest in ((start["d"], N), (start["w"], pool.t)):
        if part is None:
            continue
        if not (isinstance(part, np.ndarray) and part.ndim == 1 and len(part) <= longest and np.isfinite(part).all()):
            raise ValueError("the start has a wrong size, or is not finite")
    unpacked = _unpack_start(start["backend"], start["state"])
    return replace(state, start=WarmStart(start["d"], start["w"], start["backend"], unpacked))


def _bounds(saved: Mapping[str, Any], problem: Problem, pool: ColumnPool) -> OracleBounds:
    """Return the saved bounds; DataError if the hypotheses contradict the bound of the class."""
    require_numbers(value for name, value in saved.items() if name != "d")
    bounds = OracleBounds(**BOUNDS.from_file(saved))
    if bounds.d is None or not problem.has_class_bound:
        return replace(bounds, upper=math.inf, d=None)
    require(bounds.d.shape == (pool.N,), "the distribution has a wrong size")
    F, G = problem.class_pair
    d = F.project(bounds.d)
    pool_bound = F.value(d) + G.value(pool.margins.edges(d))
    require(
        bounds.upper >= pool_bound - CONSISTENCY_TOL * max(1.0, abs(pool_bound)),
        "its hypotheses contradict the bound of the class",
    )
    return bounds


def _pack_start(start: WarmStart) -> dict[str, Array] | None:
    """Return the state of a solver for a warm start as arrays; None if there is none."""
    if start.state is None:
        return None
    try:
        packed = get_backend(start.backend).packed(start.state)
    except (SolverNotFound, OptionError):  # a backend object of the user, which has no name
        return None
    return None if packed is None else dict(packed)


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
            return arrays[value["array"]]
        return {key: insert_arrays(inner, arrays) for key, inner in value.items()}
    return [insert_arrays(inner, arrays) for inner in value] if isinstance(value, list) else value
