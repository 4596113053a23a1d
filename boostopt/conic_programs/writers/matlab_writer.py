"""MATLAB 5 files with the arrays of LPnetlib, where all rows are equations, or of qpbenchmark."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse

from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.conic_programs.readers.matlab_reader import INFINITY
from boostopt.conic_programs.writers.refusals import refusal

CONTENTS = f"minima of linear and quadratic programs with bounds below {INFINITY:g}"


def matlab_content(program: ConicProgram) -> bytes:
    """Return the content of a file.

    Raises
    ------
    OptionError
        The program is a maximum or has rows in cones, or a finite bound would be read as an infinite one.
    """
    if program.cones or program.is_maximized:
        raise refusal("a MATLAB file", CONTENTS, "rows in cones" if program.cones else "a maximum")
    lower = np.concatenate([program.row_lower, program.lower])
    upper = np.concatenate([program.row_upper, program.upper])
    bounds = np.concatenate([lower, upper])
    if (np.isfinite(bounds) & (np.abs(bounds) >= INFINITY)).any():
        raise refusal("a MATLAB file", CONTENTS, "a larger one")
    n, stream = program.shape[1], io.BytesIO()
    arrays: dict[str, Any] = {
        "P": scipy.sparse.csc_matrix((n, n)) if program.P is None else scipy.sparse.csc_matrix(program.P),
        "q": program.c,
        "r": program.offset,
        "A": scipy.sparse.csc_matrix(scipy.sparse.vstack([program.A, scipy.sparse.identity(n)])),
        "l": lower,
        "u": upper,
    }
    if program.is_linear and program.shape[0] and (program.row_lower == program.row_upper).all():
        arrays = {
            "A": scipy.sparse.csc_matrix(program.A),
            "b": program.row_lower,
            "c": program.c,
            "lo": program.lower,
            "hi": program.upper,
            "z0": program.offset,
        }
    scipy.io.savemat(stream, arrays, oned_as="column")
    return stream.getvalue()
