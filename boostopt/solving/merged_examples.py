"""Merged examples: a program in which groups of equal examples become single examples.

If k examples have equal margins, equal d0 / c and equal parameters, one example of multiplicity c_1 + ... + c_k
replaces them. The merged program is equivalent: the weight of a group is the sum of the weights of its examples, which
are proportional to c. Solvers need less time for the merged program. The weights of their answers are split, and
certified on the original program.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float
from boostopt.backends.base import Attempt, BackendWrapper, Capability, Task
from boostopt.boosting_certificates.certificate import Certificate
from boostopt.programs.formulation import Formulation
from boostopt.programs.program import Examples, Program
from boostopt.rows.margin_matrix import MAX_FLOAT_COPY_ENTRIES, RowGroups

MAX_REMAINING_FRACTION, MAX_REMAINING_FRACTION_LARGE = 0.7, 0.4
"""Largest number of groups, as a share of the examples, for which merging pays; the second is for large matrices.

The copy of a large matrix needs memory. Measured at N = 5000, t = 50: a share of 0.7 saves a third of the time, and
finding the groups takes a twentieth of it.
"""

AGREEMENT_RTOL = 1e-9
"""Relative agreement of the merged regularizer with the original; without it, c and d0 do not determine F."""


@dataclass(frozen=True, eq=False)
class MergedProgram:
    """A program over groups of equal examples.

    Attributes
    ----------
    program
        The program over the groups.
    groups
        The group of each example.
    weight_fractions
        The share of each example in the weight of its group, shape (N,).
    """

    program: Program
    groups: RowGroups
    weight_fractions: ExampleVector

    def merge_weights(self, d: ExampleVector) -> Float[Array, " n"]:
        """Return the weights of the groups."""
        return self.groups.sum_by_group(d)

    def split_weights(self, d: Float[Array, " n"]) -> ExampleVector:
        """Return the weights of the examples."""
        return self.weight_fractions * d[self.groups.group_of_row]


def merge_equal_examples(program: Program) -> MergedProgram | None:
    """Return the program over groups of equal examples, None if merging does not pay or is impossible.

    Merging does not pay if the groups are too large a share of the examples. It is impossible if the regularizer is not
    a sum over the examples, or if c, d0 and the parameters do not determine its terms.
    """
    formulation, F = program.formulation, program.regularizer
    if not isinstance(formulation, Formulation) or F.pointwise() is None:
        return None
    c, d0 = program.examples.c, program.examples.d0
    parameter_values = {field.name: getattr(program.parameters, field.name) for field in fields(program.parameters)}
    per_example = {name: value for name, value in parameter_values.items() if isinstance(value, np.ndarray)}
    N, t = program.margins.shape
    max_fraction = MAX_REMAINING_FRACTION if N * t <= MAX_FLOAT_COPY_ENTRIES else MAX_REMAINING_FRACTION_LARGE
    rows = program.margins.group_equal_rows(d0 / c, *per_example.values())
    if len(rows.representative) > max_fraction * N:
        return None
    merged_examples = Examples(rows.sum_by_group(c), rows.sum_by_group(d0))
    parameters = replace(
        program.parameters, **{name: value[rows.representative] for name, value in per_example.items()}
    )
    margins, weight_fractions = program.margins.take_rows(rows.representative), c / merged_examples.c[rows.group_of_row]
    try:
        merged_regularizer: Any = formulation.regularizer(parameters, merged_examples)
        merged_program = replace(
            program, parameters=parameters, examples=merged_examples, margins=margins, regularizer=merged_regularizer
        )
        merged = MergedProgram(merged_program, rows, weight_fractions)
        return merged if _is_equivalent(program, merged) else None
    except Exception:  # noqa: BLE001 - a formulation may hold data for each example, and fail with fewer examples
        return None


def _is_equivalent(program: Program, merged: MergedProgram) -> bool:
    """Return whether the merged terms have the slopes and the box bounds of the original ones, tested at two points.

    On the simplex, a cap of 1 does not bind, so that the cap of a group may be 1 as well.
    """
    original, merged_terms = program.regularizer.pointwise(), merged.program.regularizer.pointwise()
    if original is None or merged_terms is None or merged.program.regularizer.N != len(merged.groups.representative):
        return False
    max_upper = (
        np.minimum(merged.merge_weights(original.upper), 1.0)
        if original.on_simplex
        else merged.merge_weights(original.upper)
    )
    sum_lower = merged.merge_weights(original.lower)
    upper_excess, lower_excess = (
        merged.split_weights(merged_terms.upper) - original.upper,
        original.lower - merged.split_weights(merged_terms.lower),
    )
    bounds_agree = (upper_excess <= AGREEMENT_RTOL * np.abs(original.upper)) & (
        lower_excess <= AGREEMENT_RTOL * np.abs(original.lower)
    )
    caps_suffice = merged_terms.upper >= max_upper - AGREEMENT_RTOL * np.abs(max_upper)
    if not (bounds_agree.all() and np.allclose(sum_lower, merged_terms.lower) and caps_suffice.all()):
        return False
    has_interior = merged_terms.upper > merged_terms.lower
    for fraction in (0.25, 0.75):
        d = merged_terms.lower + fraction * (merged_terms.upper - merged_terms.lower)
        with np.errstate(divide="ignore", invalid="ignore"):  # if the box is a point
            original_slopes, merged_slopes = (
                original.derivatives(merged.split_weights(d)),
                merged_terms.derivatives(d)[merged.groups.group_of_row],
            )
        compared = has_interior[merged.groups.group_of_row]
        if not np.allclose(
            original_slopes[compared], merged_slopes[compared], rtol=AGREEMENT_RTOL, atol=AGREEMENT_RTOL
        ):
            return False
    return True


@dataclass(frozen=True)
class FirstAttemptBackend(BackendWrapper):
    """A backend that makes only the first attempt of another one, with a label before its form."""

    label: str

    def takes(self, program: Program) -> Capability:
        return self.inner.takes(program)

    def attempts(self, task: Task) -> Iterator[Attempt]:
        for attempt in islice(self.inner.attempts(task), 1):
            yield replace(attempt, form=f"{self.label}, {attempt.form}")


@dataclass(frozen=True, eq=False)
class MergedExamplesBackend(BackendWrapper):
    """A backend that solves the merged program; its answers are split and certified on the original program."""

    merged: MergedProgram

    def takes(self, program: Program) -> Capability:
        return self.inner.takes(self.merged.program)

    def attempts(self, task: Task) -> Iterator[Attempt]:
        def split(d: Float[Array, " n"] | None) -> ExampleVector | None:
            return None if d is None else self.merged.split_weights(d)

        def certify_split(d: Any, w: Any) -> Certificate:
            return task.certify(split(d), w)

        start = task.start
        if start is not None:
            start = replace(start, d=None if start.d is None else self.merged.merge_weights(start.d))
        merged_task = replace(
            task, program=self.merged.program, start=start, certify_override=certify_split, _certificate_cache=[]
        )
        for attempt in self.inner.attempts(merged_task):
            count = len(self.merged.groups.representative)
            yield replace(
                attempt, d=split(attempt.d), statistics={**attempt.statistics, "groups of equal examples": count}
            )
