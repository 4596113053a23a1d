"""A formulation in one call, to try out regularizers and edge functions."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator
from pkgutil import resolve_name
from typing import Any

from boostopt._utils.validation import check_callable, check_string
from boostopt.errors import ProblemError, short_repr
from boostopt.functions.edge_functions.base import EdgeFunction
from boostopt.functions.edge_functions.largest_edge import MaximumEdge
from boostopt.functions.regularizers.base import Regularizer
from boostopt.programs.formulation import Formulation
from boostopt.programs.program import Examples


def prototype(
    name: str,
    regularizer: Callable[[Any, Examples], Regularizer],
    edge_function: Callable[[Any], EdgeFunction] = lambda p: MaximumEdge(),
    **parameters: Any,
) -> Formulation[Any]:
    """Return a formulation from functions that return F and G.

    You can bind, solve, certify and compare it like any other formulation. Its literal problems are the derived ones.
    A file with one prototype is a formulation file: every command and function that takes a formulation takes its path.

    Parameters
    ----------
    name
        The name of the formulation.
    regularizer
        The function that makes F from the record of parameters p and the examples. The examples have the multiplicities
        `c`, their sum `total` and the reference distribution `d0`.
    edge_function
        The function that makes G from p; the largest edge by default.
    **parameters
        The parameters by name, each made by `parameter(meaning, domain, default)`.

    Raises
    ------
    OptionError
        The name is not a text, or regularizer or edge_function is not a function.
    ProblemError
        A parameter is not made by `parameter`, or the name is the path of a file.

    Notes
    -----
    Like a function, a prototype is pickled by reference: by its file, or by its name in a module.
    """
    check_string("name", name, "the name of the formulation")
    check_callable("regularizer", regularizer, "a function of the parameters and the examples")
    check_callable("edge_function", edge_function, "a function of the parameters")
    if name.endswith(".py"):
        raise ProblemError(f"name must not be the path of a file; got {name!r}. Leave out .py.")
    for key, field in parameters.items():
        if not isinstance(field, dataclasses.Field) or "domain" not in field.metadata:
            raise ProblemError(
                f"the parameter {key} of {name} must be made by parameter(meaning, domain, default); got "
                f"{short_repr(field)}. Call parameter(...)."
            )
    fields = [(key, Any, field) for key, field in parameters.items()]
    record = dataclasses.make_dataclass("Parameters", fields, frozen=True, kw_only=True)

    class Prototype(Formulation[Any]):
        uses_reference = True
        Parameters = record

        def __reduce_ex__(self, protocol: Any) -> Any:
            place = None if self.pickle_recipe else next(_module_references(self), None)
            return super().__reduce_ex__(protocol) if place is None else (resolve_name, (place,))

        def regularizer(self, p: Any, examples: Examples) -> Regularizer:
            return regularizer(p, examples)

        def edge_function(self, p: Any) -> EdgeFunction:
            return edge_function(p)

    Prototype.name = Prototype.title = name
    return Prototype()


def _module_references(formulation: Any) -> Iterator[str]:
    """Yield the module attributes that hold a formulation, as "module:name"."""
    for module, other_module in list(sys.modules.items()):
        yield from (
            f"{module}:{name}"
            for name, value in list(getattr(other_module, "__dict__", {}).items())
            if value is formulation
        )
