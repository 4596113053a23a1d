"""boostopt: boosting algorithms as convex programs, solved by any solver, each answer certified.

    import boostopt

    program = boostopt.get_formulation("erlpboost").bind(U, nu=50, eta=100)
    solution = program.solve("cvxpy:clarabel")
    solution.certificate.lower, solution.certificate.upper

    run = boostopt.boost("erlpboost", boostopt.oracles.DecisionStumps(X, y), nu=50, epsilon=0.01)
    run.class_certificate.lower, run.class_certificate.upper

Names are loaded on first use, so that `import boostopt` loads no solver and no modelling layer.
"""

from pathlib import Path

from boostopt._utils.lazy_names import attach

__version__ = "0.1.0"

if not (Path(__file__).parent / "formulations").is_dir():  # in a checkout without links they lie beside this folder
    __path__.append(str(Path(__file__).parent.parent))

__getattr__, __dir__, __all__ = attach(__name__)
