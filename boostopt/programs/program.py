"""A program: a formulation bound to a margin matrix and to numbers."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from boostopt._utils.array_types import Array, ExampleVector, Float
from boostopt._utils.blas_threads import limit_blas_threads
from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.formatting import format_parameters
from boostopt._utils.immutable_arrays import ImmutableArrays, as_immutable, immutable_record
from boostopt._utils.validation import check_choice, check_real_array, check_tolerance
from boostopt.boosting_certificates.certificate import Certificate
from boostopt.boosting_certificates.multiplier_recovery import Recovery, recover, recover_over_tolerances
from boostopt.boosting_certificates.primal_dual_certifier import Certifier
from boostopt.errors import BoostoptError, ProblemError, reason_of
from boostopt.functions.edge_functions.base import EdgeFunction
from boostopt.functions.regularizers.base import Regularizer
from boostopt.programs.cvxpy_models import ModelForm, Side, build_cvxpy_model
from boostopt.rows.margin_matrix import MarginMatrix
from boostopt.typesetting.page_rendering import latex_of_formulas

if TYPE_CHECKING:
    from boostopt.solving.exact_solution import ExactSolution
    from boostopt.solving.explanation import Explanation
    from boostopt.solving.solution import Solution

T = TypeVar("T")


@dataclass(frozen=True)
class Examples(ImmutableArrays):
    """The examples of a program, without their margins.

    Attributes
    ----------
    c
        Multiplicities, shape (N,), positive: example n stands for c_n copies of itself.
    d0
        Reference distribution, shape (N,), non-negative, sum 1.
    """

    c: ExampleVector
    d0: ExampleVector

    @property
    def N(self) -> int:
        """The number of examples."""
        return len(self.c)

    @property
    def total(self) -> float:
        """The number of examples, counted with multiplicity."""
        return float(self.c.sum())


@runtime_checkable
class FormulationLike(Protocol):
    """The part of a formulation that a program uses: the name and the problems as printed."""

    name: ClassVar[str]
    source_file: str | None

    def primal(self, U: Float[Array, "N t"], p: Any, examples: Examples) -> Any: ...

    def dual(self, U: Float[Array, "N t"], p: Any, examples: Examples) -> Any: ...

    def _repr_latex_(self) -> str | None: ...


@dataclass(frozen=True, eq=False, repr=False)
class Program(ImmutableArrays):
    """min F(d) + G(Uᵀd) over example weights d, with its dual max -F*(-Uw) - G*(w) over hypothesis weights w.

    `Formulation.bind` returns programs.

    Attributes
    ----------
    formulation
        The formulation that states the program.
    parameters
        The frozen record of the parameters, all filled in.
    examples
        The multiplicities and the reference distribution.
    margins
        The margin matrix U, shape (N, t).
    regularizer, edge_function
        F and G.
    """

    formulation: FormulationLike
    parameters: Any
    examples: Examples
    margins: MarginMatrix
    regularizer: Regularizer
    edge_function: EdgeFunction

    def __post_init__(self) -> None:
        super().__post_init__()
        for function in (self.regularizer, self.edge_function):
            function.note_outer_arrays()
        object.__setattr__(self, "parameters", immutable_record(self.parameters))

    def __repr__(self) -> str:
        return f"Program({self.formulation.name}, {self.margins!r}, {self.parameters!r})"

    def _repr_latex_(self) -> str | None:
        text = self.formulation._repr_latex_()  # pyright: ignore[reportPrivateUsage]
        if text is None and find_spec("sympy") is not None:
            return latex_of_formulas(self.regularizer.latex, self.edge_function.latex)
        return text

    @property
    def headline(self) -> str:
        """The name, the sizes and the parameters in one line."""
        N, t = self.margins.shape
        return f"{self.formulation.name}: N = {N}, t = {t}, {format_parameters(self.parameters)}"

    @property
    def cones(self) -> frozenset[str]:
        """The cones that a solver must support, such as "linear" and "exponential"."""
        return self.regularizer.cones | self.edge_function.cones

    @property
    def available_sides(self) -> tuple[Side, ...]:
        """The sides that a solver can get: the dual only if both conjugates have a closed form."""
        return (
            ("primal", "dual")
            if self.regularizer.has_closed_form_conjugate and self.edge_function.has_closed_form_conjugate
            else ("primal",)
        )

    @limit_blas_threads()
    def certify(self, d: npt.ArrayLike | None = None, w: npt.ArrayLike | None = None) -> Certificate:
        """Return the interval that an answer proves; the answer may come from any source.

        Parameters
        ----------
        d
            Example weights, shape (N,). They may be any numbers: infeasible weights are repaired, and non-finite
            entries count as 0.
        w
            Hypothesis weights, shape (t,), with the same treatment. By default, `recover` computes them from d.

        Raises
        ------
        ProblemError
            An array has a wrong shape or does not hold real numbers.

        References
        ----------
        Weak duality; the repair of d is the entropic projection of Shalev-Shwartz and Singer 2008, figure 2.
        """
        N, t = self.margins.shape
        example_weights = None if d is None else _check_vector("d", d, N, "N")
        hypothesis_weights = None if w is None else _check_vector("w", w, t, "t")
        certifier = Certifier(self.margins, self.regularizer, self.edge_function, example_weights)
        certificate = certifier.certify(hypothesis_weights)
        if example_weights is None or hypothesis_weights is not None or certificate.infeasible:
            return certificate
        recovered = certifier.certify(recover_over_tolerances(certifier).w)
        # The KKT residuals describe the answer as given, which had no w.
        return replace(recovered, kkt=certificate.kkt) if recovered.gap < certificate.gap else certificate

    def explain(self, certificate: Certificate, tol: float = 1e-8) -> Explanation:
        """Explain why the pair of a certificate is optimal within `tol`, or which condition fails and where.

        Parameters
        ----------
        certificate
            A certificate of this program, from `certify` or `solve`.
        tol
            The scaled gap, in (0, 1).

        Raises
        ------
        ProblemError
            The certificate has other sizes than the program, or its weights prove another interval here.
        """
        from boostopt.solving.explanation import explain

        tol, certificate = check_tolerance("tol", tol), check_certificate_sizes(self, certificate)
        d, w = (certificate.d, certificate.w) if np.isfinite(certificate.upper) else (None, certificate.w)
        again = self.certify(d, w)
        allowed = 2.0 * (certificate.slack + again.slack) + 1e-12 * certificate.scale
        ends = ((certificate.lower, again.lower), (again.upper, certificate.upper))
        if again.infeasible != certificate.infeasible or any(end > bound + allowed for end, bound in ends):
            raise ProblemError(
                f"expected a certificate of this program; got one of {certificate.words}, whose weights prove "
                f"{again.words} here. Pass the certified program."
            )
        return explain(self, certificate, tol)

    @limit_blas_threads()
    def recover(
        self,
        d: npt.ArrayLike,
        method: str = "nnls",
        active_tol: float | None = None,
        w: npt.ArrayLike | None = None,
    ) -> Recovery:
        """Return the multipliers (w, beta, psi, zeta) that the active sets of d determine, with their residual.

        Parameters
        ----------
        d
            Example weights, shape (N,), near the optimum.
        method
            "nnls" solves the equations together with the inequalities w >= 0. "least_squares" solves the equations
            alone, as the papers do.
        active_tol
            The tolerance for "active", in (0, 0.1]: relative to the cap for weights, absolute for edges. By default it
            is 1e-6, or that of 1e-9, 1e-8, ..., 1e-2 with the smallest certified gap, if this is less than half of
            the gap by 1e-6.
        w
            Hypothesis weights, shape (t,), of the same answer. If they prove a smaller gap with d than the recovered
            ones, they are returned with the beta, psi and zeta that fit them best. So the result proves at least as
            much as the answer.

        Raises
        ------
        ProblemError
            d or w has a wrong shape or does not hold real numbers.
        OptionError
            The method is unknown, or the tolerance is out of range.

        References
        ----------
        Glocer 2009, sections 3.1.2, 3.2.4 and appendix A.
        """
        vector = _check_vector("d", d, self.margins.N, "N")
        weights = None if w is None else _check_vector("w", w, self.margins.t, "t")
        return recover(self.margins, self.regularizer, self.edge_function, vector, method, active_tol, weights)

    def example_weights(self, w: npt.ArrayLike) -> ExampleVector:
        """Return d(w), the optimal answer to w, shape (N,): the supremum in F*(-Uw) is attained there.

        If it is attained at several d (linear programs), the method returns one of them. If w is not in the domain of
        G*, such as the simplex, it is projected onto that domain first. For other w use
        `regularizer.conjugate_at(-U w).d`.

        Raises
        ------
        ProblemError
            w has a wrong shape, does not hold real numbers, or has no positive finite weight.
        """
        vector = _check_vector("w", w, self.margins.t, "t")
        feasible = self.edge_function.project(vector)
        if feasible is None:
            raise ProblemError("w must have a positive finite weight; it has none. Pass hypothesis weights.")
        return self.regularizer.conjugate_at(-self.margins.margins(feasible)).d

    def cvxpy(self, side: str, form: str = "derived") -> Any:
        """Return the primal or the dual as a `cvxpy.Problem`.

        Parameters
        ----------
        side
            "primal" (over d, minimized) or "dual" (over w, maximized).
        form
            "derived" builds the problem from F and G. Its variables are d and e with the constraint "w" (Uᵀd = e), or w
            and m with the constraint "d" (m = Uw). The multipliers of this constraint are the variables of the other
            side. "literal" is the problem that the formulation prints, with every constraint labelled by
            its multiplier.

        Raises
        ------
        OptionError
            The side or the form is unknown.
        ProblemError
            boostopt cannot derive a dual, or the formulation fails to make the problem that it prints.
        """
        side = "primal" if check_choice("side", side, ("primal", "dual")) == "primal" else "dual"
        form = check_choice("form", form, ("derived", "literal"))
        if form == "literal":
            formulation = self.formulation
            labelled = formulation.primal if side == "primal" else formulation.dual
            U = self.margins.to_array()
            description = f"{side}, a cvxpy.Problem"
            return call_formulation(
                formulation.name, description, lambda: labelled(U, self.parameters, self.examples), cp.Problem
            )
        if side not in self.available_sides:
            raise ProblemError(
                f"the derived dual needs the conjugates of F and G in closed form; {self.formulation.name} has none. "
                'Use the primal, or the dual that it prints: form="literal".'
            )
        return build_cvxpy_model(self.margins, self.regularizer, self.edge_function, ModelForm(side)).problem

    def solve(
        self,
        backend: Any = "auto",
        tol: float | str = 1e-8,
        time_limit: float | None = None,
        start: Any = None,
        isolate: bool = False,
        merge: bool = True,
        options: Mapping[str, Any] | None = None,
    ) -> Solution:
        """Solve the program and certify the answer: the same as `boostopt.solve(program, ...)`."""
        from boostopt.solving.solve import solve

        return solve(self, backend, tol, time_limit, start, isolate, merge, options)

    def solve_exactly(self) -> ExactSolution:
        """Return the optimum of a linear program as a fraction, with d and w as fractions, proved by both programs.

        F must be the indicator of the capped simplex, the hinge or the shortfall, and G the largest edge, the largest
        absolute edge, or a bound of the edges: `lpboost`, `lp_adaboost`, `lp_reg_adaboost`, `l1_adaboost` and
        `nm_boost` are such programs. The simplex method of HiGHS proposes a basis, which is made optimal in rational
        numbers. Nothing that HiGHS says is believed. Numbers mean their floats; caps are the quotients c_n / nu.

        Raises
        ------
        OptionError
            F or G is not linear.
        SolverFailed
            No basis that HiGHS ends with could be refined to an exact one.

        References
        ----------
        Gleixner, Steffy, Wolter 2016, "Iterative refinement for linear programming", INFORMS Journal on Computing 28.
        """
        from boostopt.solving.exact_solution import solve_exactly

        return solve_exactly(self)


def check_certificate_sizes(program: Program, certificate: Certificate) -> Certificate:
    """Return the certificate; ProblemError if its sizes differ from the sizes of the program."""
    sizes, shape = (len(certificate.d), len(certificate.w)), program.margins.shape
    if sizes != shape:
        raise ProblemError(
            f"expected a certificate of this program, with {shape[0]} examples and {shape[1]} hypotheses; got a "
            f"certificate with {sizes[0]} and {sizes[1]}. Pass the certified program."
        )
    return certificate


def call_formulation(name: str, product: str, make: Callable[[], Any], kind: type[T]) -> T:
    """Call a function of a formulation; ProblemError names the formulation and the line of a fault."""
    try:
        result = make()
    except BoostoptError:
        raise
    except Exception as failure:
        frames = traceback.extract_tb(failure.__traceback__)
        # The last line outside site-packages: the formulation may have called other code with invalid arguments.
        frame = ([entry for entry in frames if "site-packages" not in entry.filename] or frames)[-1]
        raise ProblemError(
            f"{name} must make its {product}; it raises {type(failure).__name__}: {reason_of(failure)} "
            f"({frame.filename}, line {frame.lineno}). Correct the formulation."
        ) from failure
    if not isinstance(result, kind):
        raise ProblemError(f"{name} must make its {product}; it made {result!r}"[:300] + ". Correct the formulation.")
    return result


def _check_vector(name: str, values: npt.ArrayLike, length: int, size: str) -> Float[Array, " n"]:
    """Return an answer's array as float64, checked for its shape only."""
    expected = f"{length} real numbers, shape ({size},)"
    advice = "Pass one weight for each row or column, in the order of the margin matrix."
    return as_immutable(check_real_array(name, values, expected, advice, lambda shape: shape == (length,)))
