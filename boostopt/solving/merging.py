"""Examples that are equal, merged into one that counts for all of them, and split again in the answer.

Equal margins, equal d0 / c and equal parameters make k examples one of multiplicity c_1 + ... + c_k: the program over
the merged ones is the same program, its weights the sums of the others', which are in proportion to c. Solvers take it
in less time; what they answer is certified on the program as it was given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.backends.base import Attempt, BackendWrapper, Capability, Task
from boostopt.certificates.certificate import Certificate
from boostopt.programs.formulation import Formulation
from boostopt.programs.program import Examples, Program
from boostopt.rows.margin_matrix import MAX_FLOAT_COPY_ENTRIES, RowGroups

MAX_REMAINING_FRACTION, MAX_REMAINING_FRACTION_LARGE = 0.7, 0.4
"""Share of the examples that may be left for merging to pay, less where the merged margins need memory that counts.

Measured at N = 5000, t = 50: at 0.7 a third of the time is saved, finding the groups takes a twentieth of it.
"""

AGREEMENT_RTOL = 1e-9
"""Relative agreement of the merged regularizer with the unmerged one: without it c and d0 do not tell it all."""


@dataclass(frozen=True, eq=False)
class MergedProgram:
    """A program over groups of equal examples.

    Attributes
    ----------
    program
        The program over the groups.
    groups
        Which example is in which group.
    weight_fractions
        The share of each example in the weight of its group, shape (N,).
    """

    program: Program
    groups: RowGroups
    weight_fractions: Float[Array, " N"]

    def merge_weights(self, d: Float[Array, " N"]) -> Float[Array, " n"]:
        """Return the weights of the groups."""
        return self.groups.sum_by_group(d)

    def split_weights(self, d: Float[Array, " n"]) -> Float[Array, " N"]:
        """Return the weights of the examples."""
        return self.weight_fractions * d[self.groups.group_of_row]


def merge_equal_examples(program: Program, max_remaining_fraction: float | None = None) -> MergedProgram | None:
    """Return the program over groups of equal examples, None where more than a share `max_remaining_fraction` of them would be left.

    Also None for regularizers that are no sums over the examples, or whose functions do not follow from c, d0 and the
    parameters.
    """
    page, F = program.formulation, program.regularizer
    if not isinstance(page, Formulation) or F.pointwise() is None:
        return None
    c, d0 = program.examples.c, program.examples.d0
    own = {field.name: getattr(program.parameters, field.name) for field in fields(program.parameters)}
    per_example = {name: value for name, value in own.items() if isinstance(value, np.ndarray)}
    if max_remaining_fraction is None:
        N, t = program.margins.shape
        max_remaining_fraction = (
            MAX_REMAINING_FRACTION if N * t <= MAX_FLOAT_COPY_ENTRIES else MAX_REMAINING_FRACTION_LARGE
        )
    rows = program.margins.unique_rows(d0 / c, *per_example.values())
    if len(rows.representative) > max_remaining_fraction * program.margins.N:
        return None
    together = Examples(rows.sum_by_group(c), rows.sum_by_group(d0))
    parameters = replace(
        program.parameters, **{name: value[rows.representative] for name, value in per_example.items()}
    )
    margins, share = program.margins.take(rows.representative), c / together.c[rows.group_of_row]
    try:
        of_groups: Any = page.regularizer(parameters, together)
        smaller = replace(program, parameters=parameters, examples=together, margins=margins, regularizer=of_groups)
        groups = MergedProgram(smaller, rows, share)
        return groups if _is_equivalent(program, groups) else None
    except Exception:  # noqa: BLE001 - a page with data of its own for each example: it is not made for fewer
        return None


def _is_equivalent(program: Program, groups: MergedProgram) -> bool:
    """Whether the functions of single weights are those of the groups, at two points in the box, and so are the boxes.

    A cap of 1 on the simplex is none: that of a group may be 1 as well.
    """
    own, smaller = program.regularizer.pointwise(), groups.program.regularizer.pointwise()
    if own is None or smaller is None or groups.program.regularizer.N != len(groups.groups.representative):
        return False
    most = np.minimum(groups.merge_weights(own.upper), 1.0) if own.on_simplex else groups.merge_weights(own.upper)
    least = groups.merge_weights(own.lower)
    above, below = groups.split_weights(smaller.upper) - own.upper, own.lower - groups.split_weights(smaller.lower)
    fits = (above <= AGREEMENT_RTOL * np.abs(own.upper)) & (below <= AGREEMENT_RTOL * np.abs(own.lower))
    reaches = smaller.upper >= most - AGREEMENT_RTOL * np.abs(most)
    if not (fits.all() and np.allclose(least, smaller.lower) and reaches.all()):
        return False
    moves = smaller.upper > smaller.lower
    for part in (0.25, 0.75):
        d = smaller.lower + part * (smaller.upper - smaller.lower)
        with np.errstate(divide="ignore", invalid="ignore"):  # where the box is a point
            here, there = own.derivatives(groups.split_weights(d)), smaller.derivatives(d)[groups.groups.group_of_row]
        moving = moves[groups.groups.group_of_row]
        if not np.allclose(here[moving], there[moving], rtol=AGREEMENT_RTOL, atol=AGREEMENT_RTOL):
            return False
    return True


@dataclass(frozen=True)
class FirstAttemptBackend(BackendWrapper):
    """The first attempt of a backend, with a word before its form that says what it is tried for."""

    label: str

    def takes(self, program: Program) -> Capability:
        return self.inner.takes(program)

    def attempts(self, task: Task) -> Iterator[Attempt]:
        for attempt in islice(self.inner.attempts(task), 1):
            yield replace(attempt, form=f"{self.label}, {attempt.form}")


@dataclass(frozen=True, eq=False)
class MergedExamplesBackend(BackendWrapper):
    """A backend that is given the merged program and whose answers are split and certified on the given one."""

    groups: MergedProgram

    def takes(self, program: Program) -> Capability:
        return self.inner.takes(self.groups.program)

    def attempts(self, task: Task) -> Iterator[Attempt]:
        def of_examples(d: Float[Array, " n"] | None) -> Float[Array, " N"] | None:
            return None if d is None else self.groups.split_weights(d)

        def judge(d: Any, w: Any) -> Certificate:
            return task.certify(of_examples(d), w)

        start = task.start
        if start is not None:
            start = replace(start, d=None if start.d is None else self.groups.merge_weights(start.d))
        of_groups = replace(task, program=self.groups.program, start=start, judge=judge, _certificate_cache=[])
        for attempt in self.inner.attempts(of_groups):
            count = len(self.groups.groups.representative)
            yield replace(
                attempt, d=of_examples(attempt.d), statistics={**attempt.statistics, "groups of equal examples": count}
            )
