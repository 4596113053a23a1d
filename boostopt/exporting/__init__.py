"""Programs and instances in formats that other tools read: MPS, CBF, npz.

export
    Write a bound program (.mps, .cbf) or its data (.npz), so that a comparison can be replayed elsewhere.
export_set
    Write many programs with certified intervals of their optima, for the authors of solvers.
"""

from boostopt._utils.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__)
