"""Programs and instances in the files of others: MPS, CBF, npz.

export
    Write a bound program (.mps, .cbf), or what it was made of (.npz), so that a comparison can be replayed elsewhere.
export_set
    Write many programs with the intervals that their optima lie in for certain, for the authors of solvers.
"""

from boostopt.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
