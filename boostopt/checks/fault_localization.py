"""The author's functions that most likely cause a failed check.

A check compares a few functions with each other. The other checks indicate which of these is wrong: the function that
takes part in most of the failed checks and in fewest of the passed ones. The measure is the coefficient of Ochiai, as
in Abreu, Zoeteweij and van Gemund 2007, "On the accuracy of spectrum-based fault localization".
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import getattr_static
from types import FrameType
from typing import Any

from boostopt._utils.user_files import is_user_file, locate_code, locate_function
from boostopt.checks.check_report import Check
from boostopt.functions.edge_functions.base import EdgeFunction
from boostopt.functions.regularizers.base import Regularizer
from boostopt.programs.formulation import Formulation

MAX_LOCATIONS = 2
"""Number of locations that a failed check names, the most suspicious first."""

REGULARIZER_METHODS: Mapping[str, tuple[str, ...]] = {
    "domain": ("project", "residuals", "constraints"),
    "residuals": ("residuals", "project", "constraints"),
    "minimizer": ("project", "maximizers", "conjugate_at"),
    "fenchel-young": ("conjugate_at", "maximizers", "values", "value"),
    "maximizer": ("conjugate_at", "maximizers", "normalizer", "values", "value"),
    "conjugate": ("conjugate_at", "maximizers", "values", "f", "cvxpy_value", "upper", "lower"),
    "gradient": ("conjugate_at", "maximizers", "values"),
    "stationarity": ("stationarity", "derivatives", "maximizers", "conjugate_at"),
    "convexity": ("value", "values", "f", "conjugate_at"),
    "gaps": ("gaps", "young_gaps", "derivatives", "values", "maximizers"),
    "slope": ("derivatives", "values"),
    "argmax": ("maximizers", "values"),
    "curvature": ("curvatures", "derivatives"),
    "strong_convexity": ("strong_convexity", "values", "value", "f"),
    "cvxpy-value": ("values", "f", "value", "cvxpy_value", "constraints"),
    "cvxpy-conjugate": ("cvxpy_conjugate", "conjugate_at", "maximizers", "values"),
    "value_bound": ("value_bound", "values", "value", "upper"),
    "unsmoothed": ("unsmoothed", "values", "value"),
    "support": ("support", "lower", "upper"),
    "mass": ("mass",),
    "room": ("room", "lower", "upper"),
    "finite": ("conjugate_at", "gaps", "maximizers", "derivatives", "values"),
    "sizes": ("weight_scale", "objective_scale", "mass", "magnitude"),
    "cones": ("cones", "f", "cvxpy_value", "cvxpy_conjugate"),
}
"""The methods of a regularizer that each check compares; `f` is the expression of a `CvxpyRegularizer`."""

EDGE_METHODS: Mapping[str, tuple[str, ...]] = {
    "project": ("project", "residuals"),
    "residuals": ("residuals", "G", "cvxpy_value"),
    "fenchel-young": ("conjugate", "value"),
    "subgradient": ("subgradient", "conjugate", "value"),
    "conjugate": ("conjugate", "G", "cvxpy_value"),
    "convexity": ("value", "G", "conjugate"),
    "gaps": ("gaps", "conjugate", "value"),
    "domain": ("domain", "support", "rays", "cvxpy_value"),
    "active": ("active", "subgradient"),
    "cvxpy-value": ("value", "G", "cvxpy_value"),
    "cvxpy-conjugate": ("cvxpy_conjugate", "conjugate", "residuals"),
    "sizes": ("magnitude", "multipliers"),
    "cones": ("cones", "G", "cvxpy_value", "cvxpy_conjugate"),
}
"""The methods of an edge function that each check compares; `G` is the expression of a `CvxpyEdges`."""

FACTORY_METHODS = ("regularizer", "edge_function")

FORMULATION_METHODS: Mapping[str, tuple[str, ...]] = {
    "binds": (*FACTORY_METHODS, "canonical"),
    "labels": ("primal", "dual"),
    "senses": ("primal", "dual"),
    "strong-duality": ("dual", "primal", "cvxpy_conjugate"),
    "literal-primal": ("primal", *FACTORY_METHODS, "f"),
    "literal-dual": ("dual", *FACTORY_METHODS, "cvxpy_conjugate"),
    "certificate": (*FACTORY_METHODS, "f", "values", "derivatives", "maximizers", "upper"),
    "printed-dual-at-w": ("dual", "primal", "cvxpy_conjugate"),
    "closed-dual-at-w": ("primal", *FACTORY_METHODS, "f", "maximizers", "values", "upper"),
    "multiplier-w": ("primal", "maximizers"),
    "multiplier-d": ("dual", "values"),
    "copies": ("f", "values", "maximizers", "derivatives"),
    "permutation": ("f", "values", "maximizers", "derivatives"),
}
"""The functions of a formulation and of its regularizer that each check compares."""


def add_locations(checks: Iterable[Check], locations_by_check: Mapping[str, Sequence[str]]) -> tuple[Check, ...]:
    """Return checks; the failed ones with the locations that may contain the mistake, the most suspicious first.

    Parameters
    ----------
    checks
        All checks of a component.
    locations_by_check
        By the name of a check, the locations of the functions that it compares.
    """
    checks = tuple(checks)
    failed = [set(locations_by_check.get(check.name, ())) for check in checks if not check.passed]
    passed = [
        set(locations_by_check.get(check.name, ())) for check in checks if check.passed and check.worst == check.worst
    ]

    def doubt(location: str) -> float:
        against, for_it = sum(location in entry for entry in failed), sum(location in entry for entry in passed)
        return against / math.sqrt(len(failed) * (against + for_it)) if against else 0.0

    def with_locations(check: Check) -> Check:
        places = sorted(dict.fromkeys(locations_by_check.get(check.name, ())), key=lambda location: -doubt(location))
        return check if check.passed or check.locations else replace(check, locations=tuple(places[:MAX_LOCATIONS]))

    return tuple(map(with_locations, checks))


def regularizer_locations(F: Regularizer) -> dict[str, list[str]]:
    """Return the locations of a user's functions by the names of the checks of a regularizer."""
    import cvxpy as cp

    return _locations_by_check(
        REGULARIZER_METHODS,
        {**_own_method_locations(F, REGULARIZER_METHODS), **_expression_location(F, "f", cp.Variable(F.N))},
    )


def edge_locations(G: EdgeFunction, t: int) -> dict[str, list[str]]:
    """Return the locations of a user's functions by the names of the checks of an edge function."""
    import cvxpy as cp

    return _locations_by_check(
        EDGE_METHODS, {**_own_method_locations(G, EDGE_METHODS), **_expression_location(G, "G", cp.Variable(t))}
    )


def formulation_locations(
    page: Formulation[Any], F: Regularizer, G: EdgeFunction, bind: Callable[[], Any]
) -> dict[str, list[str]]:
    """Return the locations of a user's functions by the names of all checks of a formulation.

    Parameters
    ----------
    page, F, G
        The formulation, and its functions F and G.
    bind
        Binds the formulation. The functions that run are then those that construct F and G.
    """
    import cvxpy as cp

    of_F, of_G = regularizer_locations(F), edge_locations(G, page.columns or 2)
    places = {
        **_own_method_locations(F, REGULARIZER_METHODS),
        **_expression_location(F, "f", cp.Variable(F.N)),
        **_own_method_locations(page, FORMULATION_METHODS),
    }
    makers = {**_factory_locations(bind), **_own_method_locations(page, {"": FACTORY_METHODS})}
    locations = {
        **{f"F: {name}": locations_of_check for name, locations_of_check in of_F.items()},
        **{f"G: {name}": locations_of_check for name, locations_of_check in of_G.items()},
        **_locations_by_check(FORMULATION_METHODS, {**places, **makers}),
    }
    locations["F: minimizer"] += makers["regularizer"]  # the regularizer also names the point at which boosting starts
    locations["G: project"] += makers["edge_function"]
    return locations


def _factory_locations(bind: Callable[[], Any]) -> dict[str, list[str]]:
    """Return the functions that make F and G of a formulation from a factory: by name, or the first that runs."""
    run = trace_user_functions(bind)
    named = {
        name: [location for location in run if location.endswith((f" in {name}", f".{name}"))]
        for name in FACTORY_METHODS
    }
    return {name: locations[:1] or run[:1] for name, locations in named.items()}


def trace_user_functions(call: Callable[[], Any]) -> list[str]:
    """Return the locations of the user's functions that run during a call, in their order."""
    locations: dict[str, None] = {}

    def see(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and is_user_file(frame.f_code.co_filename):
            locations[locate_code(frame.f_code)] = None

    previous_profiler = sys.getprofile()
    sys.setprofile(see)
    try:
        call()
    except Exception:  # noqa: BLE001 the checks report the failure
        pass
    finally:
        sys.setprofile(previous_profiler)
    return list(locations)


def method_locations(pieces: Iterable[object], table: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the locations of the methods of classes, or of functions, by the names of the checks that call them."""
    places: dict[str, list[str]] = {}
    for piece in pieces:
        for name in {name for names in table.values() for name in names}:
            if location := locate_function(getattr_static(piece, name, None)):
                places.setdefault(name, []).append(location)
    return _locations_by_check(table, places)


def _own_method_locations(piece: object, table: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the locations of the methods of a component that its author wrote."""
    names = {name for names in table.values() for name in names}
    locations = {name: locate_function(getattr_static(type(piece), name, None)) for name in names}
    return {name: [location] for name, location in locations.items() if location}


def _expression_location(piece: object, name: str, variable: Any) -> dict[str, list[str]]:
    """Return the location of the expression of a component given by CVXPY: the last function that runs for it."""
    expression = getattr(piece, name, None)
    return {name: trace_user_functions(lambda: expression(variable))[-1:]} if callable(expression) else {}


def _locations_by_check(table: Mapping[str, Sequence[str]], places: Mapping[str, list[str]]) -> dict[str, list[str]]:
    return {check: [location for name in names for location in places.get(name, ())] for check, names in table.items()}
