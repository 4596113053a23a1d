"""Certificates in files: saved, and verified elsewhere without a solver.

save
    Write the certificate of a solution, with what proves it.
verify
    Recompute every bound of such a file from the margin matrix.
save_class
    Write the certificate of a run over the whole class of its oracle.
subject
    Say whether a file is about a program, about a class, or about a CVXPY problem or a linear program.
Verification
    The verdict: accepted or rejected, and why.
"""

from boostopt._utils.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__)
