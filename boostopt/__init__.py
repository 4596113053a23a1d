"""boostopt: boosting algorithms as convex programs, solved by any solver, each answer certified.

    import boostopt

    program = boostopt.get_formulation("erlpboost").bind(U, nu=50, eta=100)
    solution = program.solve("cvxpy:clarabel")
    solution.certificate.lower, solution.certificate.upper

    run = boostopt.boost("erlpboost", boostopt.oracles.DecisionStumps(X, y), nu=50, epsilon=0.01)
    run.class_certificate.lower, run.class_certificate.upper

Names are loaded on first use, so that `import boostopt` loads no solver and no modelling layer.
"""

import os
import signal
import sys

_program = os.path.basename("".join(getattr(sys, "argv", [])[:1]))  # "-m" while Python looks for a module to run
_loads_command = _program in ("-m", "boostopt") and signal.getsignal(signal.SIGINT) is signal.default_int_handler
if _loads_command:  # Ctrl-C ends the command line without a traceback, before `boostopt.__main__` can handle it
    try:
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    except ValueError:  # not in the main thread
        _loads_command = False

from pathlib import Path  # noqa: E402

from boostopt._utils.lazy_names import attach  # noqa: E402

__version__ = "0.1.0"

if not (Path(__file__).parent / "formulations").is_dir():  # in a checkout without links they lie beside this folder
    __path__.append(str(Path(__file__).parent.parent))

__getattr__, __dir__, __all__ = attach(__name__)

if _loads_command:
    signal.signal(signal.SIGINT, signal.default_int_handler)
