"""An entrant of the arena, to copy: a backend for the boosting programs, and a solver of CVXPY problems.

python benchmarks/arena.py --entrants interior benchmarks/arena_entrant.py benchmarks/arena_entrant.py:solve --to FILE
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from boostopt.authoring import Attempt, Backend, Capability, Profile, Task
from boostopt.backends.cvxpy.cvxpy_backend import open_solver


class Entrant(Backend):
    """A backend that asks Clarabel for the primal: put your own solver in `attempts`."""

    @property
    def name(self) -> str:
        return "entrant"

    @property
    def version(self) -> str:
        return "1"

    def takes(self, program: Any) -> Capability:
        return open_solver("cvxpy:clarabel").takes(program)

    def supports_profile(self, profile: Profile) -> Capability:
        return Capability(True)  # it is asked for each request; without this method, it stops by the certificate

    def attempts(self, task: Task) -> Iterator[Attempt]:
        # An answer: example weights d, hypothesis weights w, or both. boostopt certifies it.
        for attempt in open_solver("cvxpy:clarabel:primal").attempts(task):
            yield Attempt("primal", attempt.options, attempt.status, attempt.claims, attempt.d, attempt.w)


def solve(problem: Any, tol: float) -> None:
    """Solve a CVXPY problem: leave the values in its variables, and the multipliers in its constraints."""
    problem.solve("CLARABEL", tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol)
