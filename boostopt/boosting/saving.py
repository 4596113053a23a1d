"""Runs in files: one npz of plain arrays with a description in JSON; nothing is pickled, nothing is executed.

A file is written under a temporary name and renamed, so that it is whole at any moment. What is read is checked for its
format, its version and its shapes; the bounds are computed anew from the margins, so that a file cannot claim more than
it proves.
"""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from boostopt.backends import get_backend
from boostopt.backends.base import Start
from boostopt.boosting.collected import Collected
from boostopt.boosting.history import History, Kept, Sparse
from boostopt.boosting.problem import Problem
from boostopt.boosting.state import Bounds, State
from boostopt.boosting.trace import Row, Trace
from boostopt.catalogue import get_formulation
from boostopt.errors import BoostoptError, DataError, OptionError, SolverNotFound
from boostopt.files import read_npz
from boostopt.margins import Margins
from boostopt.oracles.saving import from_state, to_state
from boostopt.shapes import Array

if TYPE_CHECKING:
    from boostopt.boosting.run import Record, Run

KIND, FORMAT = "boostopt run", 1

META = "meta"
"""Name of the array that holds the description."""


def settled(state: State) -> State:
    """Return the state as it will be read from a file: what a solver goes on from is reduced to arrays and back."""
    if state.start is None or state.start.state is None:
        return state
    packed = _packed(state.start)
    return replace(state, start=replace(state.start, state=_unpacked(state.start.backend, packed)))


def save(record: Record, path: str | PathLike[str], run: Run | None = None) -> None:
    """Write a record, or a run with its final weights.

    Raises
    ------
    DataError
        The file cannot be written.
    """
    writer = _Writer()
    about = writer.plain(_described(record))
    about |= {"kind": KIND, "format": FORMAT}
    if run is not None:
        about["final"] = {"weights": run.final_weights, "w": writer.plain(run.w)}
    writer.arrays[META] = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    target = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent or Path(), prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez(file, allow_pickle=False, **writer.arrays)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as failure:
        raise DataError(f"{target} cannot be written: {failure}. Choose another place.") from failure


def load(path: str | PathLike[str], formulation: Any = None) -> tuple[Record, Mapping[str, Any] | None]:
    """Return the record of a file and its final weights, if it was a finished run.

    Raises
    ------
    DataError
        The file is not there, is no saved run, was made by another version, or is damaged.
    """
    source = Path(path)
    if not source.is_file():
        raise DataError(f"expected the file of a run; there is no file {str(source)!r}. Check the path.")
    arrays = read_npz(source)
    try:
        about = json.loads(arrays[META].tobytes().decode())
        if about["kind"] != KIND:
            raise KeyError("kind")
    except (KeyError, ValueError) as failure:
        raise DataError(f"{source} is no run of boostopt: it has no description of one.") from failure
    if about["format"] != FORMAT:
        raise DataError(
            f"{source} has format {about['format']}; this version of boostopt reads format {FORMAT}. "
            "Read it with the version that wrote it."
        )
    try:
        whole = _with_arrays(about, arrays)
        return _record(whole, formulation), whole.get("final")
    except BoostoptError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AssertionError) as failure:
        raise DataError(f"{source} is damaged: {type(failure).__name__}: {failure}. Make the run anew.") from failure


def load_run(path: str | PathLike[str], formulation: Any = None) -> Run:
    """Return a run that was saved."""
    from boostopt.boosting.run import Run

    record, final = load(path, formulation)
    if final is None:
        return Run.finished(record, None)
    w = np.asarray(final["w"], dtype=np.float64)
    if w.shape != (record.collected.t,) or not np.isfinite(w).all():
        raise DataError(f"{path} is damaged: expected {record.collected.t} final weights; got shape {w.shape}.")
    return Run(record, w, str(final["weights"]))


def _described(record: Record) -> dict[str, Any]:
    """Return a record as names, numbers and arrays."""
    problem, state, collected = record.problem, record.state, record.collected
    start = state.start
    return {
        "formulation": problem.page.name,
        "given": dict(problem.given),
        "update": problem.update,
        "epsilon": problem.epsilon,
        "c": problem.examples.c,
        "d0": problem.examples.d0 if problem.page.takes_reference else None,
        "U": collected.margins.arrays() if collected.t else None,
        "hypotheses": [to_state(hypothesis) for hypothesis in collected.hypotheses],
        "state": {
            **{name: getattr(state, name) for name in ("round", "w", "m", "d", "value", "backend", "stuck")},
            "soft_margin": state.soft_margin,
            "infeasible": state.certificate is not None and state.certificate.infeasible,
            "answer": None if state.certificate is None else {"d": state.certificate.d, "w": state.certificate.w},
        },
        "bounds": {field.name: getattr(state.bounds, field.name) for field in dataclasses.fields(state.bounds)},
        "start": None
        if start is None
        else {"d": start.d, "w": start.w, "backend": start.backend, "state": _packed(start)},
        "history": {"wanted": record.history.wanted, "rounds": [_kept(kept) for kept in record.history.rounds]},
        "nus": list(record.trace.nus),
        "trace": {field.name: [getattr(row, field.name) for row in record.trace] for field in dataclasses.fields(Row)},
        "oracle": record.oracle,
        "digest": record.digest,
        "oracle_state": dict(record.oracle_state),
        "guarantee": record.guarantee,
        "majority": record.majority,
        "reason": record.reason,
    }


def _record(about: Mapping[str, Any], formulation: Any) -> Record:
    """Return the record that was described."""
    from boostopt.boosting.run import Record

    page = get_formulation(about["formulation"] if formulation is None else formulation)
    if page.name != about["formulation"]:
        raise OptionError(f"the run is of {about['formulation']}; got {page.name}. Pass its own formulation.")
    problem = Problem.of(page, about["c"], about["d0"], about["epsilon"], about["update"], about["given"])
    collected = Collected(len(about["c"]))
    if about["U"] is not None:
        U = Margins.of_arrays(about["U"])
        hypotheses = [from_state(state) for state in about["hypotheses"]]
        assert U.shape == (collected.N, len(hypotheses)), "margins and hypotheses do not belong together"
        collected.restore(hypotheses, U)
    table = about["trace"]
    rows = [_row(dict(zip(table, values, strict=True))) for values in zip(*table.values(), strict=True)]
    history = History(about["history"]["wanted"], [_kept_again(kept) for kept in about["history"]["rounds"]])
    return Record(
        problem=problem,
        collected=collected,
        state=_state(about, problem, collected),
        history=history,
        trace=Trace(rows, about["nus"]),
        oracle=about["oracle"],
        digest=about["digest"],
        oracle_state=about["oracle_state"],
        guarantee=about["guarantee"],
        majority=about["majority"],
        reason=about["reason"],
    )


def _state(about: Mapping[str, Any], problem: Problem, collected: Collected) -> State:
    """Return the state that was described, its certificate computed anew."""
    saved, start = dict(about["state"]), about["start"]
    answer = saved.pop("answer")
    infeasible = saved.pop("infeasible")
    bounds = Bounds(**about["bounds"])
    state = State(**saved, bounds=bounds)
    N, t = collected.N, collected.t
    assert state.m.shape == state.d.shape == (N,) and len(state.w) <= t, "weights of another size"
    if bounds.d is not None:
        assert bounds.d.shape == (N,), "a distribution of another size"
    if answer is not None and not infeasible:
        U = collected.margins.take_columns(np.arange(len(answer["w"])))
        program = problem.program(U, state.progress(problem, U.column(U.t - 1)))
        state = replace(state, certificate=program.certify(answer["d"], answer["w"]))
    if start is None:
        return state
    unpacked = _unpacked(start["backend"], start["state"])
    return replace(state, start=Start(start["d"], start["w"], start["backend"], unpacked))


def _row(saved: dict[str, Any]) -> Row:
    """Return a row of the trace."""
    values: Any = {**saved, "soft_margins": tuple(saved["soft_margins"])}
    return Row(**values)


def _kept(kept: Kept) -> dict[str, Any]:
    return {
        "t": kept.t,
        "w": [kept.w.size, kept.w.at, kept.w.values],
        "d": None if kept.d is None else [kept.d.size, kept.d.at, kept.d.values],
        "smallest_edge": kept.smallest_edge,
    }


def _kept_again(saved: Mapping[str, Any]) -> Kept:
    d = saved["d"]
    return Kept(saved["t"], Sparse(*saved["w"]), None if d is None else Sparse(*d), saved["smallest_edge"])


def _packed(start: Start) -> dict[str, Array] | None:
    """Return what a solver goes on from as arrays, None if it has nothing to store."""
    if start.state is None:
        return None
    try:
        packed = get_backend(start.backend).packed(start.state)
    except (SolverNotFound, OptionError):  # a backend object of the user's, which has no name here
        return None
    return None if packed is None else dict(packed)


def _unpacked(backend: str, arrays: Mapping[str, Array] | None) -> Any:
    """Return what a solver goes on from; None where it is not installed any more."""
    if arrays is None:
        return None
    try:
        return get_backend(backend).unpacked(arrays)
    except (SolverNotFound, OptionError):
        return None


class _Writer:
    """Separates the arrays from a description."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}

    def plain(self, value: Any) -> Any:
        """Return a value with its arrays replaced by their names."""
        if isinstance(value, np.ndarray):
            name = f"a{len(self.arrays)}"
            self.arrays[name] = value
            return {"array": name}
        if isinstance(value, Mapping):
            return {str(key): self.plain(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.plain(inner) for inner in value]
        return value.item() if isinstance(value, np.generic) else value


def _with_arrays(value: Any, arrays: Mapping[str, Any]) -> Any:
    """Return a description with its arrays put back."""
    if isinstance(value, dict):
        if set(value) == {"array"}:
            return arrays[value["array"]]
        return {key: _with_arrays(inner, arrays) for key, inner in value.items()}
    return [_with_arrays(inner, arrays) for inner in value] if isinstance(value, list) else value
