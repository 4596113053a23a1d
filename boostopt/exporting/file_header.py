"""The heading of a file: the program, the positions of d and w, and how to certify an answer."""

from __future__ import annotations

import dataclasses
import shlex
import textwrap
from collections.abc import Iterable
from typing import IO, Any

import numpy as np

from boostopt.exporting.conic_form import ConicSide
from boostopt.programs.formulation import Formulation
from boostopt.programs.program import Program

MAX_LINE_LENGTH = 110
"""The most characters of a line: some readers accept no more than 128."""


def header_lines(program: Program, conic: ConicSide) -> list[str]:
    """Return the first lines of a file, without the comment sign."""
    N, t = program.margins.shape
    d, w = "the weight of example n (n = 1, ..., N)", "the weight of hypothesis q (q = 1, ..., t)"
    multiplier = "the multiplier of each, the change of the minimum for a unit on its right-hand side, is"
    if conic.side == "primal":
        side_sentences = [
            "The primal, min F(d) + G(U'd).",
            f"Variables: the first N are d_n, {d}; the next t are e_q, the edge of hypothesis q; then further ones.",
            f"Rows: the first t are e_q - (U'd)_q = 0; {multiplier} w_q, {w}.",
        ]
    else:
        side_sentences = [
            "The dual, max -F*(-Uw) - G*(w), as the minimum of its negative.",
            f"Variables: the first t are w_q, {w}; the next N are m_n, the margin of example n; then further ones.",
            f"Rows: the first N are (U w)_n - m_n = 0; {multiplier} d_n, {d}.",
        ]
    sentences = [
        f"{program.formulation.name}: N = {N}, t = {t}, {', '.join(_parameter_texts(program)) or 'no parameters'}",
        f"SHA-256 of U: {program.margins.digest()}",
        *side_sentences,
        *([f"The objective contains the constant {conic.offset!r}."] if conic.offset else []),
    ]
    lines = [
        line for sentence in sentences for line in textwrap.wrap(sentence, MAX_LINE_LENGTH, break_long_words=False)
    ]
    # A command is not broken into lines, so that the user can copy it.
    return ["Written by boostopt.", *lines, *_certify_lines(program)]


def certify_command_line(program: Program, formulation: str, data: str = "INSTANCE.npz") -> str | None:
    """Return the command that certifies an answer to a program; None if its parameters do not fit a command."""
    settings = _non_default_parameters(program)
    if any(isinstance(value, np.ndarray) for value in settings.values()):
        return None
    options = [f"--set {name}={_format_number(value)}" for name, value in settings.items()]
    return " ".join(["boostopt certify", shlex.quote(formulation), "ANSWER --data", shlex.quote(data), *options])


def _certify_lines(program: Program) -> list[str]:
    command = certify_command_line(program, program.formulation.name)
    return [] if command is None else ["With the instance, to certify an answer:", command]


def _parameter_texts(program: Program) -> list[str]:
    """Return the parameters with all their digits; arrays by their size."""
    p = program.parameters
    values = {field.name: getattr(p, field.name) for field in dataclasses.fields(p)}
    return [
        f"{name} = {f'array of {value.size}' if isinstance(value, np.ndarray) else _format_number(value)}"
        for name, value in values.items()
    ]


def _non_default_parameters(program: Program) -> dict[str, Any]:
    """Return the parameters that differ from their defaults."""
    p, formulation = program.parameters, program.formulation
    declared = formulation.parameters if isinstance(formulation, Formulation) else {}
    values = {field.name: getattr(p, field.name) for field in dataclasses.fields(p)}
    return {
        name: value
        for name, value in values.items()
        if name not in declared or isinstance(value, np.ndarray) or value != declared[name].default
    }


def _format_number(value: Any) -> str:
    """Write a flag in lower case and a number with all its digits."""
    return str(value).lower() if isinstance(value, bool | np.bool_) else repr(float(value))


def write_lines(file: IO[bytes], lines: Iterable[str]) -> None:
    """Write lines as ASCII."""
    file.writelines(f"{line}\n".encode("ascii", "backslashreplace") for line in lines)
