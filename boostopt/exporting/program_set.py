"""A set of programs for the authors of solvers: the files of each program, and a certified interval of its optimum.

A set is a folder. `index.json` lists its content and holds the intervals. `cbf` holds the primal of each program, and
`mps` the primal of each linear and quadratic program. `instances` holds the data, one file for all programs with the
same margins. `certificates` holds the proofs of the intervals.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from boostopt._utils.environment import source_version
from boostopt._utils.json_values import plain
from boostopt._utils.progress_display import write_stderr_line
from boostopt._utils.validation import check_instance, check_seconds, check_tolerance
from boostopt.comparison.rendering.progress_output import progress_callback
from boostopt.errors import DataError, OptionError, ProblemError
from boostopt.exporting.export import export
from boostopt.exporting.file_header import certify_command_line
from boostopt.exporting.formats.npz_format import instance_arrays
from boostopt.exporting.program_set_folder import SET_FORMAT, SetFolder, validate_folder_path
from boostopt.programs.program import Program
from boostopt.programs.program_identity import certificate_fields, program_digest, program_facts
from boostopt.solving.solution import Solution
from boostopt.solving.solve import check_program

DEFAULT_TOL = 1e-9
"""The target gap, which is finer than the gap that solvers are judged by."""

MPS_CONES = frozenset({"linear", "quadratic"})
"""The cones of programs that MPS can hold."""

DIGEST_LENGTH = 8
"""Number of letters of a digest in the name of an instance."""


def export_set(
    programs: Mapping[str, Program],
    folder: str | PathLike[str],
    tol: float = DEFAULT_TOL,
    time_limit: float | None = None,
    progress: bool | Callable[[int, int, Mapping[str, Any]], object] = False,
) -> dict[str, Any]:
    """Write programs for other solvers, with certified intervals of their optima.

    If a call was interrupted, the same call continues its set. No other folder that holds files is written to.

    Parameters
    ----------
    programs
        The programs by label; files are named after the labels.
    folder
        The folder to write to: it is empty, does not exist yet, or holds a part of this very set.
    tol
        The scaled gap that every interval is to reach, in (0, 1). A wider interval is written as it is.
    time_limit
        Seconds for each program; None for no limit.
    progress
        True for a line on the standard error for each program, or a function of the number of finished programs, the
        number of all programs, and the entry of the last one in the index.

    Returns
    -------
    The content of `index.json`: "programs", with one entry each, "complete", "about", and the shared settings.

    Raises
    ------
    OptionError
        There is no program, two labels give the same file name, or a program does not fit CBF.
    DataError
        The folder cannot be written to, or holds files that do not belong to this set; or an instance is too large for
        its format.
    """
    planned, gap, limit = _plan_set(programs), check_tolerance("tol", tol), check_seconds("time_limit", time_limit)
    report = progress_callback(progress, _print_progress)
    settings = {"format": SET_FORMAT, "boostopt": source_version(), "tol": gap, "time_limit": limit}
    set_folder = SetFolder(validate_folder_path(folder), plain(settings))
    entries = set_folder.opened(
        {entry.label: entry.digest for entry in planned}, {name for entry in planned for name in entry.files}
    )
    index = set_folder.write_index(entries.values(), len(entries) == len(planned))
    for k, entry in enumerate(planned, 1):
        if entry.label not in entries:
            entries[entry.label] = _write_entry(entry, set_folder, gap, limit)
            done = [entries[planned_entry.label] for planned_entry in planned if planned_entry.label in entries]
            index = set_folder.write_index(done, len(done) == len(planned))
            report(k, len(planned), entries[entry.label])
    return index


@dataclass(frozen=True)
class _SetEntry:
    """A program of the set, its digest, and the names of its files."""

    label: str
    program: Program
    digest: str
    instance: str

    @property
    def name(self) -> str:
        """The name of the files, without their endings."""
        return _file_name(self.label)

    @property
    def model_files(self) -> dict[str, str]:
        """The files of the program itself, by format."""
        formats = ("cbf", "mps") if self.program.cones <= MPS_CONES else ("cbf",)
        return {ending: f"{ending}/{self.name}.{ending}" for ending in formats}

    @property
    def certificate_files(self) -> dict[str, str]:
        """The files of the certificate; the second exists only if its vectors are long."""
        name = f"certificates/{self.name}.json"
        return {"certificate": name, "certificate_arrays": f"{name}.npz"}

    @property
    def files(self) -> tuple[str, ...]:
        """All files that the program may have in the end."""
        return (self.instance, *self.model_files.values(), *self.certificate_files.values())


def _plan_set(programs: Mapping[str, Program]) -> list[_SetEntry]:
    """Return the programs to write, with their files."""
    advice = "Pass a dict such as standard_programs() makes."
    labelled = check_instance("programs", programs, Mapping, "programs by label", advice)
    planned: list[_SetEntry] = []
    label_by_name: dict[str, str] = {}
    for label, program in labelled.items():
        check_program(program)
        name = _file_name(check_instance("a label", label, str, "a text", advice))
        first_label = label_by_name.setdefault(name.lower(), label)
        if not name or first_label != label:
            labels = f"{first_label!r} and {label!r}" if name else repr(label)
            raise OptionError(f"expected labels that name a file each; got {labels}. Take other letters and digits.")
        planned.append(_SetEntry(label, program, program_digest(program), _instance_name(program)))
    if not planned:
        raise OptionError("expected one or more programs by label; got none. Make one with formulation.bind(U, ...).")
    return planned


def _file_name(label: str) -> str:
    """Return the name of a program's files, without their endings; "" if no letter of its label fits a file name."""
    return re.sub(r"[^A-Za-z0-9.=+-]+", "_", label).strip("._")


def _instance_name(program: Program) -> str:
    """Return the name of the file with a program's data; equal data share a file."""
    arrays = instance_arrays(program)
    del arrays["U"]
    digest = hashlib.sha256(program.margins.digest().encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    N, t = program.margins.shape
    return f"instances/{N}x{t}_{digest.hexdigest()[:DIGEST_LENGTH]}.npz"


def _write_entry(planned: _SetEntry, set_folder: SetFolder, tol: float, time_limit: float | None) -> dict[str, Any]:
    """Write the files of a program, solve it, and return its entry of the index."""
    program, model_files, certificate_files = planned.program, planned.model_files, planned.certificate_files
    for name in planned.files:
        _make_folder(set_folder.path / name)
    for name in (planned.instance, *model_files.values()):
        if name != planned.instance or not (set_folder.path / name).exists():
            export(program, set_folder.path / name)
    solution = program.solve("auto", tol, time_limit)
    try:
        solution.save(set_folder.path / certificate_files["certificate"])
    except ProblemError:
        certificate_files = dict[str, str]()  # stays empty if F or G has no closed form that a file could state
    names = {"instance": planned.instance, **model_files, **certificate_files}
    files = {kind: set_folder.file_entry(name) for kind, name in names.items() if (set_folder.path / name).exists()}
    for ending in model_files:
        files[ending]["cones"] = _file_cones(program, ending)
    entry = {
        "label": planned.label,
        **program_facts(program),
        "parameters": _parameter_entry(program),
        "program": planned.digest,
        "files": files,
        **_interval_entry(solution),
        "certify": certify_command_line(program, program.formulation.name, planned.instance),
        "verify": f"boostopt verify {shlex.quote(certificate_files['certificate'])} --data {planned.instance}"
        if certificate_files
        else None,
    }
    return plain(entry)


def _make_folder(path: Path) -> None:
    """Create the folder of a file if necessary."""
    try:
        path.parent.mkdir(exist_ok=True)
    except OSError as failure:
        raise DataError(f"{path.parent} cannot be made: {failure.strerror or failure}. Choose another place.") from None


def _file_cones(program: Program, ending: str) -> list[str]:
    """Return the cones that a file needs; CBF states squares as second-order cones."""
    cones = {"second_order" if cone == "quadratic" and ending == "cbf" else cone for cone in program.cones}
    return sorted({"linear", *cones})


def _parameter_entry(program: Program) -> dict[str, Any]:
    """Return the parameters, with the size in place of an array, which is in the instance."""
    return {
        name: f"array of {value.size}, in the instance" if isinstance(value, np.ndarray) else value
        for name, value in program_facts(program)["parameters"].items()
    }


def _interval_entry(solution: Solution) -> dict[str, Any]:
    """Return what is proved about the optimum, and the backends that proved it."""
    return {
        "interval": {
            **certificate_fields(solution.certificate),
            "reached": solution.certificate.scaled_gap <= solution.tol,
            "outcome": solution.outcome.key,
            "verdict": solution.verdict.key,
        },
        "proved_by": {"backend": solution.backend, "version": solution.version, "tried": list(solution.path)},
    }


def _print_progress(done: int, total: int, entry: Mapping[str, Any]) -> None:
    """Write the result of a program on the standard error."""
    write_stderr_line(f"[{done}/{total}] {entry['label']}: {result_text(entry)}")


def result_text(entry: Mapping[str, Any]) -> str:
    """Say what is proved about the optimum of a program of the index."""
    interval, backend = entry["interval"], entry["proved_by"]["backend"]
    if interval["infeasible"]:
        return f"proved infeasible by {backend}"
    if interval["scaled_gap"] is None:
        return f"at least one bound is not known, after {', '.join(entry['proved_by']['tried'])}"
    return f"scaled gap {interval['scaled_gap']:.1e} by {backend}"
