"""The entry point: write a program in the format that the ending of the file names."""

from __future__ import annotations

import os
from pathlib import Path

from boostopt._utils.files import write_atomically
from boostopt._utils.validation import check_choice, check_path
from boostopt.errors import OptionError
from boostopt.exporting.cbf import write_cbf
from boostopt.exporting.conic_form import ConicSide, conic_program
from boostopt.exporting.file_header import header_lines
from boostopt.exporting.mps import write_mps
from boostopt.exporting.npz import instance_arrays, write_instance
from boostopt.programs.cvxpy_models import Side
from boostopt.programs.program import Program
from boostopt.solving.solve import check_program

SUFFIXES = (".mps", ".cbf", ".npz")
"""The endings of the files that can be written."""

SIDES: tuple[Side, ...] = ("primal", "dual")


def export(program: Program, path: str | os.PathLike[str], side: str = "primal") -> None:
    """Write a bound program, or its instance, in a format that other tools read.

    Parameters
    ----------
    program
        The program to write.
    path
        ".mps" for linear and convex quadratic programs; ".cbf" (version 3) also for programs with second-order,
        exponential and power cones; ".npz" for the instance: U, c and d0, from which the same program can be bound.
    side
        "primal" (over d) or "dual" (over w, as the minimum of minus its objective); ignored for an instance.

    Raises
    ------
    OptionError
        The side or the ending is unknown, the format cannot hold the program, or the dual cannot be derived.
    DataError
        The file cannot be written, or the instance is too large for its format.

    Notes
    -----
    Columns are named d_1, ..., d_N (w_1, ..., w_t) and e_q (m_n) in MPS; in CBF they are the first ones. The first
    rows are e - U'd = 0, named w_q (Uw - m = 0, named d_n); their multipliers are the other side's variables.
    """
    check_program(program)
    target, side = check_path("path", path), check_choice("side", side, SIDES)
    ending = format_suffix(target)
    if ending == ".npz":
        arrays = instance_arrays(program)
        write_atomically(target, lambda file: write_instance(arrays, file))
    elif ending == ".mps":
        linear = _mps_program(program, side)
        name = program.formulation.name.replace(" ", "_")
        write_atomically(target, lambda file: write_mps(linear, name, header_lines(program, linear), file))
    else:
        conic = conic_program(program, side, quadratic=False)
        write_atomically(target, lambda file: write_cbf(conic, header_lines(program, conic), file))


def format_suffix(path: Path) -> str:
    """Return the ending of a path, which names the format.

    Raises
    ------
    OptionError
        The ending is unknown.
    """
    ending = path.suffix.lower()
    if ending not in SUFFIXES:
        raise OptionError(
            f"expected a path that ends in {', '.join(SUFFIXES)}; got {str(path)!r}. "
            "Take MPS for linear and quadratic programs, CBF for cones, npz for the instance."
        )
    return ending


def _mps_program(program: Program, side: Side) -> ConicSide:
    """Return a program that fits MPS."""
    conic = conic_program(program, side, quadratic=True)
    if not conic.cones.is_linear:
        raise OptionError(
            f"MPS holds linear and quadratic programs; {program.formulation.name} needs "
            f"{' and '.join(sorted(program.cones - {'linear', 'quadratic'}))} cones. Write a path that ends in .cbf."
        )
    return conic
