"""boostopt: boosting algorithms as convex programs, solved by any solver, each answer certified.

    import boostopt

    program = boostopt.get_formulation("erlpboost").bind(U, nu=50, eta=100)
    solution = program.solve("cvxpy:clarabel")
    solution.certificate.lower, solution.certificate.upper

    run = boostopt.boost("erlpboost", boostopt.oracles.DecisionStumps(X, y), nu=50, epsilon=0.01)
    run.class_certificate.lower, run.class_certificate.upper

Names are loaded on first use, so that `import boostopt` loads no solver and no modelling layer.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from boostopt.certificates.saving import register
from boostopt.lazy import loaded

if TYPE_CHECKING:
    from boostopt import authoring as authoring
    from boostopt import boosting as boosting
    from boostopt import ensembles as ensembles
    from boostopt import estimators as estimators
    from boostopt import exporting as exporting
    from boostopt import instances as instances
    from boostopt import oracles as oracles
    from boostopt import pictures as pictures
    from boostopt import reporting as reporting
    from boostopt import verification as verification
    from boostopt.backends import get_backend, list_backends
    from boostopt.boosting import ClassCertificate, RegularizationPath, Run, boost, path
    from boostopt.certificates.certificate import KKT, Certificate
    from boostopt.certificates.recovery import Recovery
    from boostopt.checks import Check, CheckReport, check_edge, check_formulation, check_regularizer
    from boostopt.comparison import Benchmark, Comparison, benchmark, compare
    from boostopt.data.answers import load_answer
    from boostopt.data.datasets import Dataset, load_dataset
    from boostopt.ensembles import Reweighted, reweight
    from boostopt.errors import (
        BoostoptError,
        DataError,
        OptionError,
        ProblemError,
        SolverFailed,
        SolverNotFound,
    )
    from boostopt.margins import Margins
    from boostopt.oracles.stumps import stump_matrix
    from boostopt.programs.catalogue import get_formulation, list_formulations
    from boostopt.programs.formulation import Formulation
    from boostopt.programs.program import Program
    from boostopt.regularizers.capped_simplex import project_capped_simplex
    from boostopt.solving.explanation import Explanation
    from boostopt.solving.solution import Outcome, Solution, Verdict
    from boostopt.solving.solving import solve
    from boostopt.verification import Verification, verify

__version__ = "0.1.0"

_HOME = {
    "KKT": "certificates.certificate",
    "BoostoptError": "errors",
    "Certificate": "certificates.certificate",
    "ClassCertificate": "boosting",
    "RegularizationPath": "boosting",
    "Run": "boosting",
    "boost": "boosting",
    "path": "boosting",
    "Check": "checks",
    "CheckReport": "checks",
    "Benchmark": "comparison",
    "Comparison": "comparison",
    "benchmark": "comparison",
    "DataError": "errors",
    "Dataset": "data.datasets",
    "Explanation": "solving.explanation",
    "Formulation": "programs.formulation",
    "Margins": "margins",
    "OptionError": "errors",
    "Outcome": "solving.solution",
    "ProblemError": "errors",
    "Program": "programs.program",
    "Recovery": "certificates.recovery",
    "Reweighted": "ensembles",
    "Solution": "solving.solution",
    "SolverFailed": "errors",
    "SolverNotFound": "errors",
    "Verdict": "solving.solution",
    "Verification": "verification",
    "check_edge": "checks",
    "check_formulation": "checks",
    "check_regularizer": "checks",
    "compare": "comparison",
    "get_backend": "backends",
    "get_formulation": "programs.catalogue",
    "list_backends": "backends",
    "list_formulations": "programs.catalogue",
    "load_answer": "data.answers",
    "load_dataset": "data.datasets",
    "reweight": "ensembles",
    "project_capped_simplex": "regularizers.capped_simplex",
    "solve": "solving.solving",
    "stump_matrix": "oracles.stumps",
    "verify": "verification",
}
"""Where each public name lives."""

_MODULES = (
    "authoring",
    "boosting",
    "ensembles",
    "estimators",
    "exporting",
    "instances",
    "oracles",
    "pictures",
    "reporting",
    "verification",
)
"""Modules that users are told of by name."""

__all__ = [
    "KKT",
    "Benchmark",
    "BoostoptError",
    "Certificate",
    "Check",
    "CheckReport",
    "ClassCertificate",
    "Comparison",
    "DataError",
    "Dataset",
    "Explanation",
    "Formulation",
    "Margins",
    "OptionError",
    "Outcome",
    "ProblemError",
    "Program",
    "Recovery",
    "RegularizationPath",
    "Reweighted",
    "Run",
    "Solution",
    "SolverFailed",
    "SolverNotFound",
    "Verdict",
    "Verification",
    "benchmark",
    "boost",
    "check_edge",
    "check_formulation",
    "check_regularizer",
    "compare",
    "get_backend",
    "get_formulation",
    "list_backends",
    "list_formulations",
    "load_answer",
    "load_dataset",
    "path",
    "project_capped_simplex",
    "reweight",
    "solve",
    "stump_matrix",
    "verify",
]


def _save(*arguments: Any) -> None:
    """Save the certificate of a program, by a module that is loaded now."""
    from boostopt.verification.writing import save

    save(*arguments)


def _save_class(*arguments: Any) -> None:
    """Save the certificate of a run over its class, by a module that is loaded now."""
    from boostopt.verification.classes import save_class

    save_class(*arguments)


register({"program": _save, "class": _save_class})


def __getattr__(name: str) -> Any:
    """Load a public name from its module on first use."""
    if name in _MODULES:
        return import_module(f"boostopt.{name}")
    return loaded(__name__, _HOME, name, globals())


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__, *_MODULES})
