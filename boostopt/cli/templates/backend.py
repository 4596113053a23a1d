"""new_name: a solver, asked for the programs that it can take.

The solver here is the linear one of SciPy, for the largest edge beside a cap. Edit `takes`, then `attempts`. An answer
is certified by whoever asks, so it may be as wrong as it likes; `boostopt check` says how near it comes, `pytest` runs
the test at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import numpy as np

from boostopt import Program, check_backend
from boostopt.authoring import Attempt, Backend, Capability, CappedSimplexIndicator, MaximumEdge, Profile, Task


class NewName(Backend):
    """The dual, max rho - sum_n upper_n psi_n over U w >= rho - psi : d, sum w = 1, w >= 0, psi >= 0."""

    @property
    def name(self) -> str:
        return "new_name"

    @property
    def version(self) -> str:
        return "1"  # change it with the code: what `compare --resume` has stored is told apart by it

    def takes(self, program: Program) -> Capability:
        """Return whether it can be solved, and if not why, in a sentence; asked before any work."""
        able = isinstance(program.regularizer, CappedSimplexIndicator) and isinstance(
            program.edge_function, MaximumEdge
        )
        return Capability(able, "" if able else "new_name needs the largest edge beside a cap alone")

    def supports_profile(self, profile: Profile) -> Capability:
        """Return whether one run can end by an accuracy of the solver's own, `task.profile.accuracy`."""
        return Capability(True)

    def keeps_limit(self, program: Program) -> bool:
        """Return whether `task.deadline` is kept; where it is not, a limit makes it run in a process of its own."""
        return True

    def attempts(self, task: Task) -> Iterator[Attempt]:
        """Yield what came, as raw as it came, also after a failure; raise nothing."""
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
        solved = answer.status == 0
        yield Attempt(
            form="dual",
            options=options,
            status=str(answer.message),
            claims=solved,  # never because the time is over
            d=-answer.ineqlin.marginals if solved else None,
            w=answer.x[:t] if solved else None,
            iterations=int(answer.nit),
        )


def test_new_name() -> None:
    check_backend(NewName()).raise_if_failed()
