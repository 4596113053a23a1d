"""A backend in one file: the corrective update as a solver, for every regularizer that has d(w) in closed form."""

import numpy as np

from boostopt.authoring import Attempt, Backend, Capability


class FrankWolfe(Backend):
    """Move w towards the hypothesis of largest edge under d(w), by 2 / (k + 2)."""

    name = "frank-wolfe"
    version = "1"

    def takes(self, program):
        return Capability("power" not in program.cones, "Frank-Wolfe needs d(w) in closed form")

    def attempts(self, task):
        program = task.program
        w, k = np.eye(program.margins.t)[0], 0
        while task.gap(w=w) > task.tol and k < 5000 and not task.deadline.passed:
            e, k = program.margins.edges(program.example_weights(w)), k + 1
            w = w + 2 / (k + 2) * (np.eye(program.margins.t)[e.argmax()] - w)
        yield Attempt("w", {}, f"{k} steps", claims=task.gap(w=w) <= task.tol, w=w, iterations=k)
