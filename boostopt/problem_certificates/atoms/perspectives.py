"""Perspectives s phi(u / s), s > 0, of functions, and of forms.

If <g, v> + c is a minorant of phi, then <g, u> + c s is one of its perspective, because s > 0. So the perspective of an
expression of atoms is that of each atom, and a constant in it becomes this constant times s.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.problem_certificates.arithmetic.affine_forms import AffineForm, combination
from boostopt.problem_certificates.arithmetic.balls import NOT_A_NUMBER, ONE, ZERO, Ball, ball, round_down
from boostopt.problem_certificates.atoms.base import (
    TIGHT_SIZE,
    UNBOUNDED,
    Bounds,
    Function,
    MinorantFamily,
    Tangents,
    nonnegative,
)

MIN_SCALE = 1e-9
"""Smallest s at which tangents are taken."""

STEP_SIZE = 1e-6
"""Change of slopes, relative to their size, by which changes of offsets are measured."""


class Perspective(Function):
    """s phi(u / s) for s > 0, with s the last entry; CVXPY's `perspective`, for each atom in it.

    At s = 0, where CVXPY asks for another function, there is no value. Minorants hold there in the limit.

    Parameters
    ----------
    function
        phi.
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.sign: int = function.sign
        self.has_kinks: bool = function.has_kinks
        self.is_homogeneous: bool = function.is_homogeneous

    def value(self, u: Sequence[Ball]) -> Ball:
        *entries, s = u
        return s * self.function.value([entry / s for entry in entries]) if s > 0 else NOT_A_NUMBER

    def domain_limits(self, count: int) -> Mapping[int, float]:
        inner = self.function.domain_limits(count - 1)
        return {count - 1: 0.0} | {i: limit for i, limit in inner.items() if limit == 0}

    def domain_point(self, u: Float[Array, " k"]) -> Float[Array, " k"]:
        s = float(u[-1])
        return np.append(s * self.function.domain_point(u[:-1] / s), s) if s > 0 else u

    def tangents(self, u: Float[Array, "m k"], orientations: Float[Array, "m k"], width: float) -> Tangents:
        s = np.maximum(u[:, -1:], MIN_SCALE)
        inner = self.function.tangents(u[:, :-1] / s, orientations[:, :-1], width)
        return Tangents(inner.parameters, np.hstack([inner.widths, s]), orientations)

    def slopes(self, tangents: Tangents) -> Float[Array, "m k"]:
        inner = self._inner(tangents)
        offsets = [[float(offset.mid())] for offset in self._offsets(inner)]
        return np.hstack([self.function.slopes(inner), np.array(offsets).reshape(-1, 1)])

    def directions(self, tangents: Tangents, weights: Float[Array, " m"]) -> Float[Array, "m k r"]:
        inner, inner_weights = self._inner(tangents), weights * tangents.widths[:, -1]
        columns = self.function.directions(inner, inner_weights)
        rows = np.zeros((len(columns), 1, columns.shape[2]))
        if not self.is_homogeneous:
            offsets = self._offsets(inner)
            sizes = np.abs(columns).max(axis=(1, 2), initial=1e-300)
            for r in range(columns.shape[2]):
                steps = np.zeros((len(columns), columns.shape[2]))
                steps[:, r] = STEP_SIZE / sizes
                next_offsets = self._offsets(self.function.step(inner, inner_weights, steps))
                for i, (next_offset, offset) in enumerate(zip(next_offsets, offsets, strict=True)):
                    rows[i, 0, r] = float((next_offset - offset).mid()) / steps[i, r]
        return np.concatenate([columns, rows], axis=1)

    def step(self, tangents: Tangents, weights: Float[Array, " m"], steps: Float[Array, "m r"]) -> Tangents:
        inner = self.function.step(self._inner(tangents), weights * tangents.widths[:, -1], steps)
        return tangents.with_parameters(inner.parameters)

    def minorant(self, tangents: Tangents, i: int, bounds: Sequence[Bounds]) -> tuple[list[Ball], Ball]:
        slopes, offset = self.function.minorant(self._inner(tangents), i, [UNBOUNDED] * (len(bounds) - 1))
        return [*slopes, offset], ZERO

    def minorant_family(
        self, tangents: Tangents, i: int, margin: Ball, is_constant: Sequence[bool]
    ) -> MinorantFamily | None:
        inner = self.function.minorant_family(self._inner(tangents), i, margin, is_constant[:-1])
        if inner is None:
            return None
        first, offset = inner.complete(inner.slopes, [ZERO] * len(inner.directions))
        last = offset - self.sign * margin * (1 + abs(offset))

        def complete(changed: Sequence[Ball], y: Sequence[Ball]) -> tuple[Sequence[Ball], Ball]:
            slopes, limit = inner.complete(changed[:-1], y[:-1])
            if is_constant[-1]:
                return [*slopes, limit], ZERO
            is_proved = self.sign * (limit - changed[-1]) >= 0
            return [*slopes, changed[-1]], ZERO if is_proved else NOT_A_NUMBER

        directions = [*inner.directions, [(len(first), ONE)]]
        return MinorantFamily([*inner.slopes, last], directions, [*inner.sizes, TIGHT_SIZE], complete, inner.origin)

    def zero_rows(self, count: int) -> Sequence[Sequence[tuple[int, Ball]]] | None:
        return self.function.zero_rows(count - 1)

    def output_bounds(self, bounds: Sequence[Bounds]) -> Bounds:
        low, high = self.function.output_bounds([UNBOUNDED] * (len(bounds) - 1))
        s_low, s_high = nonnegative(bounds[-1])
        return _product_end(low, s_low if low >= 0 else s_high), -_product_end(-high, s_high if high >= 0 else s_low)

    def argument_bounds(self, output: Bounds, bounds: Sequence[Bounds]) -> list[Bounds]:
        entries = list(bounds[:-1])
        if self.is_homogeneous:
            entries = self.function.argument_bounds(output, entries)
        return [*entries, nonnegative(bounds[-1])]

    def _inner(self, tangents: Tangents) -> Tangents:
        """Return the tangents of phi."""
        return Tangents(tangents.parameters, tangents.widths[:, :-1], tangents.orientations[:, :-1])

    def _offsets(self, inner: Tangents) -> list[Ball]:
        """Return the offsets of the minorants of phi."""
        bounds = [UNBOUNDED] * inner.orientations.shape[1]
        count = len(inner.parameters)
        return (
            [ZERO] * count
            if self.is_homogeneous
            else [self.function.minorant(inner, i, bounds)[1] for i in range(count)]
        )


def perspective_form(form: AffineForm, scale: AffineForm) -> AffineForm:
    """Return s a(x / s) of affine functions a(x), for one number s: their constant terms become coefficients of s."""
    entries = [
        combination([(ONE, row, ZERO), (offset, scale.rows[0], scale.offsets[0])])
        for row, offset in zip(form.rows, form.offsets, strict=True)
    ]
    return form.of_entries(entries, form.shape)


def _product_end(value: float, s: float) -> float:
    """Return a float that is not above value times s; -inf if there is none."""
    if value == 0:
        return 0.0
    return round_down(ball(value) * ball(s)) if math.isfinite(value) and math.isfinite(s) else -math.inf
