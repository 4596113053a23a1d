# /// boostopt new
# kind = "backend"
# summary = "a solver with the programs that it supports"
# example = "boostopt new backend my_solver"
# command = "boostopt compare lpboost --backends {file},interior --data breast_cancer --nu 0.1"
# ///
"""new_name: a solver for the programs that it supports.

The example is SciPy's linear solver, for the largest edge plus the indicator of a capped simplex. Edit `takes`, then
`attempts`. boostopt certifies every answer, so a wrong answer gives wide bounds, but never wrong ones. `boostopt check`
measures the certified gaps of the answers. `pytest` runs the test at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import numpy as np

from boostopt import Program, check_backend
from boostopt.authoring import Attempt, Backend, Capability, CappedSimplexIndicator, MaximumEdge, Profile, Task


class NewName(Backend):
    """A solver of the dual: max rho - sum_n upper_n psi_n  s.t.  U w >= rho - psi : d, sum w = 1, w >= 0, psi >= 0."""

    @property
    def name(self) -> str:
        return "new_name"

    @property
    def version(self) -> str:
        return "1"  # change it with the code: `compare --resume` solves anew if the version differs

    def takes(self, program: Program) -> Capability:
        """Return whether the solver supports a program, and the reason if not; this must be fast."""
        has_cap = isinstance(program.regularizer, CappedSimplexIndicator)
        is_supported = has_cap and isinstance(program.edge_function, MaximumEdge)
        return Capability(is_supported, "" if is_supported else "new_name needs the largest edge and a cap alone")

    def supports_profile(self, profile: Profile) -> Capability:
        """Return whether the solver can stop at the accuracy `task.profile.accuracy` of its own residuals."""
        return Capability(True)

    def keeps_limit(self, program: Program) -> bool:
        """Return whether the solver stops at `task.deadline`; if not, a time limit runs it in a worker process."""
        return True

    def attempts(self, task: Task) -> Iterator[Attempt]:
        """Yield the answers as the solver returns them, also after a failure; raise no error."""
        from scipy.optimize import linprog

        U, F = task.program.margins.to_array(), cast(CappedSimplexIndicator, task.program.regularizer)
        N, t = U.shape
        accuracy = None if task.profile is None else task.profile.accuracy  # None: the solver's defaults
        names = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
        options: dict[str, float] = {} if accuracy is None else dict.fromkeys(names, accuracy)
        answer: Any = linprog(
            c=np.concatenate([np.zeros(t), [-1.0], F.upper]),
            A_ub=np.hstack([-U, np.ones((N, 1)), -np.eye(N)]),
            b_ub=np.zeros(N),
            A_eq=np.concatenate([np.ones(t), np.zeros(N + 1)])[None],
            b_eq=[1.0],
            bounds=[(0, None)] * t + [(None, None)] + [(0, None)] * N,
            options={"time_limit": task.deadline.time_limit, **options},
        )
        is_optimal = answer.status == 0
        yield Attempt(
            form="dual",
            options=options,
            status=str(answer.message),
            claims=is_optimal,  # False if a limit stopped the solver
            d=-answer.ineqlin.marginals if is_optimal else None,
            w=answer.x[:t] if is_optimal else None,
            iterations=int(answer.nit),
        )


def test_new_name() -> None:
    check_backend(NewName()).raise_if_failed()
