"""Formulations: the pair (F, G) of one algorithm with its parameters, its sources and the problems as printed.

A file of `formulations/` defines a subclass of `Formulation`. Bound to a margin matrix and to values of its parameters,
a formulation gives a `Program`.
"""

from __future__ import annotations

import dataclasses
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse

from boostopt._utils.array_types import Array, ExampleVector, Float
from boostopt._utils.immutable_arrays import immutable_record
from boostopt._utils.validation import check_instance
from boostopt.errors import ProblemError, unknown_name
from boostopt.functions.edge_functions.base import EdgeFunction
from boostopt.functions.regularizers.base import Regularizer
from boostopt.functions.regularizers.capped_simplex import WEIGHT_SUM_TOL
from boostopt.programs.boosting_spec import BoostingSpec
from boostopt.programs.cvxpy_models import ModelForm, Side, build_cvxpy_model
from boostopt.programs.parameters import (
    LARGEST,
    OF_EXAMPLES,
    POSITIVE,
    SMALLEST,
    Parameter,
    check_per_example_array,
    check_value,
    check_values,
    typical_value,
)
from boostopt.programs.program import Examples, Program, call_formulation
from boostopt.rows.margin_matrix import MarginMatrix
from boostopt.typesetting import latex_display

P = TypeVar("P")

STATING = ("regularizer", "edge_function", "fill_parameters", "Parameters")
"""Members that define the program: a subclass that redefines one of them states another program."""

PRINTED = ("primal", "dual", "text")
"""Members that print the problems; the solved program does not depend on them."""


OLD_BOOSTING_MEMBERS = {
    "update": "update=...",
    "stopping_rules": "rules=...",
    "final_weights": "final_weights=...",
    "smoothed_formulation": "smoothed_formulation=...",
    "extra_success_reasons": "extra_success_reasons=...",
    "iteration_bound": "iteration_bound=lambda program: ...",
    "next_parameters": "next_parameters=lambda progress: ...",
    "guaranteed_edge": "guaranteed_edge=lambda p: ...",
    "min_edge_excess": "min_edge_excess=lambda p: ...",
    "keeps_perfect_hypothesis": "keeps_perfect_hypothesis=lambda p: ...",
}
"""Members of the formulations of older releases, each with the field of `BoostingSpec` that replaces it."""


class Formulation(ABC, Generic[P]):
    """The base of the formulations.

    A formulation states the convex program: its name, the record of its parameters (a frozen dataclass whose fields are
    made by `parameter`), and the functions F and G. If a paper prints the two problems, `primal` and `dual` return them
    as printed. `boosting` says how boosting runs the formulation.
    """

    name: ClassVar[str]
    """The name for users: lower case, one word, the name of the file."""
    title: ClassVar[str] = ""
    """The name in the literature."""
    sources: ClassVar[tuple[str, ...]] = ()
    """The sources: paper, sections, equations."""
    Parameters: ClassVar[type[Any]]
    """The record of the parameters."""
    uses_reference: ClassVar[bool] = False
    """True if the program depends on a reference distribution d0."""
    needs_all_examples: ClassVar[bool] = True
    """True if F depends on more of the examples than the multiplicity c_n of each, their sum and d0. If not, F is a sum
    over the examples, and two examples with the right multiplicities represent all examples. Distributed rows require
    this property, and histogram Newton on rows in memory starts faster with it. A subclass that defines F, G,
    parameters or canonical values must set it again."""
    optional_in_files: ClassVar[tuple[str, ...]] = ()
    """Parameters that older files do not state, because the formulation had none of them. They get their defaults."""
    is_symmetric: ClassVar[bool] = False
    """True if the program is symmetric in the examples: F and G know an example by its c, its d0 and its values of the
    parameters with one value an example, and by nothing else, and an example with c_n = k is k copies. Classifiers sort
    the examples of such a program and merge equal ones. For other programs, classifiers keep the order and the rows of
    the user. A subclass that defines functions, other than the problems as printed, must set the flag again."""
    columns: ClassVar[int | None] = None
    """The number of columns that the margin matrix must have; None for any."""
    boosting: ClassVar[BoostingSpec] = BoostingSpec()
    """The rules by which boosting runs the formulation: update, stopping rules, final weights."""

    pickle_recipe: tuple[Callable[..., Any], tuple[Any, ...]] | None = None
    """Function and arguments by which pickle restores the formulation; one from a file is loaded again."""

    source_file: str | None = None
    """The user's file that states the formulation; None for a formulation of boostopt, of a package or of no file."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        _check_boosting(cls)
        members, spec = vars(cls), cls.boosting
        base: BoostingSpec = next(vars(parent)["boosting"] for parent in cls.__mro__[1:] if "boosting" in vars(parent))
        smoothes_anew = spec.smoothed_formulation != base.smoothed_formulation
        if "needs_all_examples" not in members and (smoothes_anew or any(name in members for name in STATING)):
            cls.needs_all_examples = True
        has_functions = spec.functions != base.functions or any(map(_may_change_program, members, members.values()))
        if "is_symmetric" not in members and has_functions:
            cls.is_symmetric = False

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Return the function and the arguments by which pickle restores the formulation."""
        return super().__reduce_ex__(protocol) if self.pickle_recipe is None else self.pickle_recipe

    def __repr__(self) -> str:
        return f"<formulation {self.name}>"

    def _repr_latex_(self) -> str | None:
        return latex_display(self.text, {name: parameter.meaning for name, parameter in self.parameters.items()})

    @property
    def text(self) -> str:
        """The docstring of the module that states the formulation; "" if it has none."""
        return getattr(sys.modules.get(type(self).__module__), "__doc__", None) or ""

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The parameters by name, each with its meaning, domain and default."""
        for field in dataclasses.fields(self.Parameters):
            if "domain" not in field.metadata:
                raise ProblemError(
                    f"the parameter {field.name} of {self.name} must be declared by parameter(meaning, domain, "
                    "default); it is not. Correct the formulation."
                )
        return {
            field.name: Parameter(field.name, field.metadata["meaning"], field.metadata["domain"], field.default)
            for field in dataclasses.fields(self.Parameters)
        }

    @property
    def example_parameters(self) -> frozenset[str]:
        """The names of the parameters that have one value per example."""
        return frozenset(name for name, parameter in self.parameters.items() if parameter.domain.kind == OF_EXAMPLES)

    @abstractmethod
    def regularizer(self, p: P, examples: Examples) -> Regularizer:
        """Return F."""

    @abstractmethod
    def edge_function(self, p: P) -> EdgeFunction:
        """Return G."""

    def primal(self, U: Float[Array, "N t"], p: P, examples: Examples) -> Any:
        """Return the primal as printed, a `cvxpy.Problem` with labelled constraints; the derived primal by default."""
        return self._derived("primal", U, p, examples)

    def dual(self, U: Float[Array, "N t"], p: P, examples: Examples) -> Any:
        """Return the dual as printed, a `cvxpy.Problem` with labelled constraints; the derived dual by default.

        Raises
        ------
        ProblemError
            The formulation defines no dual, and a conjugate is not known in closed form.
        """
        return self._derived("dual", U, p, examples)

    def _derived(self, side: Side, U: Float[Array, "N t"], p: P, examples: Examples) -> Any:
        return build_cvxpy_model(
            MarginMatrix(U), self.regularizer(p, examples), self.edge_function(p), ModelForm(side)
        ).problem

    def fill_parameters(self, p: P, examples: Examples) -> P:
        """Return the record with every open value (`CANONICAL`) filled in."""
        return p

    def example_program(self) -> Program:
        """Return a program of two examples with typical parameters, which shows what a solver must support."""
        U = np.tile([[1.0], [-1.0]], self.columns or 1)
        required = {name: parameter.domain for name, parameter in self.parameters.items() if parameter.required}
        return self.bind(U, **{name: typical_value(domain, len(U)) for name, domain in required.items()})

    def bind(
        self,
        U: npt.ArrayLike | scipy.sparse.sparray | scipy.sparse.spmatrix | MarginMatrix,
        *,
        c: npt.ArrayLike | None = None,
        d0: npt.ArrayLike | None = None,
        **parameters: Any,
    ) -> Program:
        """Bind the formulation to a margin matrix and to values of its parameters.

        Parameters
        ----------
        U
            Margin matrix U[n, q] = y_n h_q(x_n), shape (N, t), entries in [-1, 1]; an array, a scipy sparse matrix or
            `MarginMatrix`. The program has a read-only copy. U contains the labels. Numbers 0 and 1 of any type
            are the margins 0 and 1. True, False and masked entries are refused.
        c
            Multiplicities, shape (N,), positive; 1 by default. They are sample weights: an example with c_n = 2 counts
            as two copies of itself.
        d0
            Reference distribution, shape (N,), non-negative with sum 1; proportional to c by default. Only
            formulations with a regularizer relative to a reference distribution take it.
        **parameters
            Values of `self.parameters`: real numbers, flags, or arrays of shape (N,), as their domains say. None means
            the default or canonical value.

        Returns
        -------
        The program, with every parameter filled in.

        Raises
        ------
        ProblemError
            U, c, d0 or a parameter lies outside its domain or is masked, a required parameter is missing, or the
            formulation fails to make F or G.
        OptionError
            The formulation does not have a parameter of this name.
        """
        margins = MarginMatrix(U)
        if self.columns not in (None, margins.t):
            raise ProblemError(
                f"{self.name} takes {self.columns} column{'s' if self.columns != 1 else ''}; got t = {margins.t}. "
                "See the docstring of the formulation for their meaning."
            )
        examples = _check_examples(self, margins.N, c, d0)
        for name, value in parameters.items():
            if value is not None and name not in self.parameters:
                raise unknown_name(f"parameter of {self.name}", name, self.parameters)
        values = {
            name: check_value(self.parameters[name], value, margins.N)
            for name, value in parameters.items()
            if value is not None
        }
        for parameter in self.parameters.values():
            if parameter.required and parameter.name not in values:
                raise ProblemError(
                    f"{self.name} needs {parameter.name}, {parameter.meaning}, in {parameter.domain.text}; got none. "
                    f"Pass {parameter.name}=..."
                )
        check_values(self.parameters, values, examples)
        record = self.Parameters
        p = call_formulation(
            self.name, "record of parameters", lambda: self.fill_parameters(record(**values), examples), record
        )
        check_values(self.parameters, {name: getattr(p, name) for name in self.parameters}, examples)
        p = immutable_record(p)
        F = call_formulation(self.name, "regularizer", lambda: self.regularizer(p, examples), Regularizer)
        G = call_formulation(self.name, "edge function", lambda: self.edge_function(p), EdgeFunction)
        G.settle(margins.t)
        self._try_out(F, G, margins.N, margins.t)
        return Program(self, p, examples, margins, F, G)

    def _try_out(self, F: Regularizer, G: EdgeFunction, N: int, t: int) -> None:
        """Raise ProblemError if F has another number of examples, or if a user's function rejects such arrays."""
        size = call_formulation(self.name, "regularizer", lambda: int(F.N), int)
        if size != N:
            raise ProblemError(
                f"{self.name} must make its regularizer for {N} examples; got one for {size}. Use examples.c and "
                "arrays with one entry for each example."
            )
        if _is_user_defined(F):
            call_formulation(self.name, "regularizer", lambda: float(F.value(F.project(None))), float)
        if _is_user_defined(G):
            call_formulation(self.name, "edge function", lambda: float(G.value(np.zeros(t))), float)


def _is_user_defined(function: Regularizer | EdgeFunction) -> bool:
    """Return whether code of the user computes F or G."""
    return not type(function).__module__.startswith("boostopt.") or (
        isinstance(function, EdgeFunction) and not function.has_closed_form_conjugate
    )


def _check_boosting(formulation: type[Formulation[Any]]) -> None:
    """Raise ProblemError unless a class states the rules of boosting by a `BoostingSpec`, and by no other member."""
    old_members = [name for name in OLD_BOOSTING_MEMBERS if name in vars(formulation)]
    if old_members:
        fields = ", ".join(OLD_BOOSTING_MEMBERS[name] for name in old_members)
        raise ProblemError(
            f"the class {formulation.__name__} must state the rules of boosting in one member, a BoostingSpec; got "
            f"{', '.join(old_members)}. Write boosting = BoostingSpec({fields}) and import BoostingSpec from "
            "boostopt.authoring."
        )
    check_instance(
        f"boosting of {formulation.__name__}",
        formulation.boosting,
        BoostingSpec,
        "a BoostingSpec",
        'Write boosting = BoostingSpec(rules=("direct",), ...).',
        ProblemError,
    )


def _may_change_program(name: str, value: object) -> bool:
    """Return whether F, G or the parameters may depend on the member `name` of the class of a formulation."""
    hidden = name.startswith("__") and name != "__init__"
    return not hidden and name not in PRINTED and (callable(value) or hasattr(value, "__get__"))


def _check_examples(
    formulation: Formulation[Any], N: int, c: npt.ArrayLike | None, d0: npt.ArrayLike | None
) -> Examples:
    """Return the checked multiplicities and reference distribution."""
    counts = np.ones(N) if c is None else check_per_example_array("c", c, N)
    if not ((counts >= SMALLEST) & (counts <= LARGEST)).all():
        n = int(np.argmin((counts >= SMALLEST) & (counts <= LARGEST)))
        raise ProblemError(
            f"the multiplicities c must be positive; got {counts[n]:.6g} at {n}, outside {POSITIVE.text}. "
            "Remove the examples that should not count."
        )
    if d0 is None:
        return Examples(counts, counts / counts.sum())
    if not formulation.uses_reference:
        raise ProblemError(
            f"{formulation.name} has no reference distribution d0. To weight examples, pass multiplicities c; "
            "to leave examples out, remove their rows."
        )
    reference = check_per_example_array("d0", d0, N)
    if not ((reference >= 0) & (reference <= 2)).all():
        n = int(np.argmin((reference >= 0) & (reference <= 2)))
        raise ProblemError(f"d0 must be non-negative with sum 1; got {reference[n]:.6g} at {n}. Correct this entry.")
    if abs(reference.sum() - 1.0) > 1e-8:
        raise ProblemError(f"d0 must sum to 1; got {reference.sum():.10g}. Divide it by its sum.")
    return Examples(counts, normalize_reference(reference))


def normalize_reference(reference: ExampleVector) -> ExampleVector:
    """Return a reference distribution divided by its sum.

    A distribution whose sum is 1 up to rounding is returned unchanged, so that a weight at its cap stays at the cap.
    """
    total = float(reference.sum())
    return reference if abs(total - 1.0) <= WEIGHT_SUM_TOL else reference / total
