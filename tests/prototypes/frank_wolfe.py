"""A backend in one file: the corrective update as a solver, for every regularizer that has d(w) in closed form."""

import numpy as np

from boostopt.authoring import Attempt, Backend, Capability


class FrankWolfe(Backend):
    """Move w towards the hypothesis of largest edge under d(w), by 2 / (k + 2)."""

    name = "frank-wolfe"
    version = "1"

    def takes(self, cones):
        return Capability("power" not in cones, "Frank-Wolfe needs d(w) in closed form")

    def attempts(self, program, tol, deadline):
        w, k = np.eye(program.margins.t)[0], 0
        while program.certify(w=w).scaled_gap > tol and k < 5000 and not deadline.passed:
            e, k = program.margins.edges(program.example_weights(w)), k + 1
            w = w + 2 / (k + 2) * (np.eye(program.margins.t)[e.argmax()] - w)
        yield Attempt(form="w", options={}, status=f"{k} steps", claims=True, w=w, iterations=k)
