"""`reweight` solves any program over all hypotheses for the members of a fitted ensemble."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from boostopt._utils.array_types import Array, DaskCollection, ExampleVector, HypothesisVector, Int8, is_dask_collection
from boostopt._utils.validation import (
    check_array,
    check_choice,
    check_flag,
    check_instance,
    check_optional,
    check_tolerance,
)
from boostopt.backends.base import Backend
from boostopt.boosting.boost_options import check_keywords
from boostopt.boosting.booster_names import booster_hint
from boostopt.boosting.boosting_problem import rows_left_out
from boostopt.boosting.objectives.soft_margin import SoftMarginObjective, value_in_words
from boostopt.boosting.run.combined_hypothesis import ZERO_TOL
from boostopt.boosting_certificates.certificate import Certificate
from boostopt.ensembles.distributed_reweighting import DistributedReweighted, reweight_distributed
from boostopt.ensembles.member_extraction import members_of
from boostopt.ensembles.members import Members
from boostopt.ensembles.reweighting_result import PROGRAM_WEIGHTS, Reweighted
from boostopt.ensembles.thinning import certified_soft_margin, drop_small_weights
from boostopt.errors import OptionError, ProblemError, short_repr
from boostopt.estimators.training.baseline_and_nu_warnings import warn_about_member_weights
from boostopt.estimators.training.margin_summary import MarginSummary, find_contradictory_votes
from boostopt.functions.edge_functions.base import EdgeFunction
from boostopt.functions.edge_functions.largest_edge import AbsoluteEdge, MaximumEdge
from boostopt.functions.regularizers.base import Regularizer
from boostopt.functions.regularizers.capped_simplex import CappedSimplex
from boostopt.functions.regularizers.capped_simplex_indicator import CappedSimplexIndicator
from boostopt.functions.regularizers.loss_conjugates import Hinge
from boostopt.oracles.labelled_examples import check_multiplicities, select_counting
from boostopt.oracles.learners.classifier_hypotheses import VALUE_METHODS
from boostopt.programs.formulation import Formulation
from boostopt.programs.formulation_catalogue import get_formulation
from boostopt.programs.program import Program
from boostopt.rows.margin_matrix import MarginMatrix
from boostopt.solving.solution import Solution
from boostopt.solving.solve import solve

NU_PARAMETER = "nu"
"""The parameter by which formulations have the count of smallest margins in the soft margin."""

TWO_SIDED_PARAMETER = "two_sided"
"""The parameter by which formulations allow weights of either sign."""

DEFAULT_TOL = 1e-9
"""Default scaled gap."""

MAX_COMPARED_VOTES = 1 << 26
"""Largest number of votes among which a warning looks for equal rows with different labels, as float64."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ReweightOptions:
    """The options of `reweight`. Pass the record as `options`, or each option by its name.

    Attributes
    ----------
    values
        The method that gives the values h(x) of a classifier, "predict" by default: see `members_of`.
    weights
        The weights of the classifiers in a list, 1 by default.
    reflexive
        Whether the negation of each member may have a weight too; w then has either sign.
    tol
        The scaled gap, in (0, 1), 1e-9 by default. The smallest weights are dropped if they sum to less than this
        share. For rows on a cluster, tol is the distance of the soft margin from the best one, at least 1e-5, and 0.001
        by default.

    Raises
    ------
    OptionError
        An option is out of its range.
    """

    values: str | None = None
    weights: npt.ArrayLike | None = None
    reflexive: bool = False
    tol: float | None = None

    def __post_init__(self) -> None:
        """Check each option; the weights are checked together with the members."""
        object.__setattr__(self, "values", check_optional(check_choice, "kind of values", self.values, VALUE_METHODS))
        object.__setattr__(self, "reflexive", check_flag("reflexive", self.reflexive))
        object.__setattr__(self, "tol", check_optional(check_tolerance, "tol", self.tol))


OPTION_NAMES = tuple(field.name for field in fields(ReweightOptions))
"""The options of `reweight` by name."""


@overload
def reweight(
    ensemble: Any,
    X: DaskCollection,
    y: Any,
    formulation: Any,
    *,
    options: ReweightOptions | None = None,
    **keywords: Any,
) -> DistributedReweighted: ...
@overload
def reweight(
    ensemble: Any,
    X: Any,
    y: npt.ArrayLike,
    formulation: Any,
    *,
    sample_weight: npt.ArrayLike | None = None,
    backend: str | Backend = "auto",
    d0: npt.ArrayLike | None = None,
    options: ReweightOptions | None = None,
    **keywords: Any,
) -> Reweighted: ...
def reweight(
    ensemble: Any,
    X: Any,
    y: npt.ArrayLike,
    formulation: Any,
    *,
    sample_weight: npt.ArrayLike | None = None,
    backend: str | Backend = "auto",
    d0: npt.ArrayLike | None = None,
    options: ReweightOptions | None = None,
    **keywords: Any,
) -> Reweighted | DistributedReweighted:
    """Give the members of a fitted ensemble the weights of a program, and certify the soft margin of the new weights.

    The result has the soft margin of the ensemble's own weights, the soft margin of the new weights, and the interval
    of the largest soft margin of any weights of these members. The nu of the soft margin is that of the program.

    Some programs have no nu, because their d need not sum to 1: they hold the margins at 1 and give a slack the price
    C. For them nu = sum d / C with the optimal d, but at least 1, or the smallest multiplicity if that is less. Then
    d / sum d lies within the caps of this nu. For the program (22) of the source, w / sum w is then optimal, with the
    soft margin 1 / sum d. For its quadratic relatives, nu only fixes the scale of the comparison.

    Parameters
    ----------
    ensemble
        A fitted ensemble of two classes: see `members_of`.
    X
        Features in the form that the ensemble takes, N rows. Pass the training set or, better, a separate set. The rows
        of a `dask.array` or a `dask.dataframe` stay on the cluster of the default client. There the members vote, by -1
        or 1, and the formulation must be one that `boost` runs by histogram Newton.
    y
        Labels, shape (N,): the two labels of the ensemble. A run or a list of hypotheses has no labels; then y holds
        any two labels, and the larger one is positive. Both labels must occur. On a cluster, y is an array beside a
        `dask.array`, a series beside a `dask.dataframe`, or the name of one of its columns, which is then not a
        feature.
    formulation
        A name from `list_formulations()`, the path of a formulation file, or a formulation; it must be a program over
        all hypotheses.
    sample_weight
        Multiplicities, non-negative, shape (N,), 1 by default: see `boostopt.estimators`. On a cluster, whole numbers
        in one of the forms of y.
    backend
        The backend that solves the program, as in `solve`. Any backend may compute the bound on the best soft margin.
    d0
        Reference distribution, shape (N,), with sum 1 over the rows of positive weight; proportional to the
        multiplicities by default.
    options
        The values and the own weights of the members, and the accuracy. You can also pass each field by its name, which
        takes precedence: `reweight(..., values="predict_proba")`.
    **keywords
        Fields of `ReweightOptions`, and parameters of the formulation, as in `bind`: nu is a count, not a fraction. A
        parameter with one value an example has the shape (N,), in the order of the rows.

    Returns
    -------
    The new weights with their certificates. If the program gives no weights, the new weights are those of the largest
    soft margin, and `weights_source` says so. This happens if w = 0 is optimal, or if the program is infeasible, as it
    is with a bound gamma on the edges below the optimum. For rows on a cluster, the result is a plain local object that
    predicts. It has both bounds of the interval of the soft margin, but no arrays as long as the rows.

    Warns
    -----
    MarginWarning
        The soft margin of the new weights is not proved to be above that of f = 0; or f = 0 on most examples; or nu is
        more than twice the share of the smaller class, so that a constant prediction has a soft margin above 0.

    Raises
    ------
    ProblemError
        The ensemble is not fitted, is of an unknown kind, or does not have two classes; or X and y do not fit it, or
        hold one class; or a member returns values that are not finite or not in [-1, 1], or on a cluster not -1 or 1;
        or a parameter is out of its domain.
    OptionError
        The formulation states one update, not a program over all hypotheses, or has no soft margin; or a name is
        unknown. On a cluster: histogram Newton does not support the formulation, or you passed a backend, d0, or
        values other than "predict".
    SolverFailed
        No solver returned an answer.

    References
    ----------
    Raetsch, Onoda, Mueller 2001, section 4, (20) to (22), figures 12 and 14; Warmuth, Glocer, Raetsch 2007, algorithm
    2, for the weights after an infeasible program.
    """
    arguments = ReweightArguments.parse(formulation, sample_weight, backend, d0, options, keywords)
    options = arguments.options
    members = members_of(ensemble, options.values, options.weights)
    if is_dask_collection(X):
        _validate_distributed_arguments(backend, d0, options)
        parameters = dict(arguments.parameters)
        is_two_sided = bool(parameters.pop(TWO_SIDED_PARAMETER, False)) or options.reflexive
        return reweight_distributed(
            arguments.formulation, members, (X, y, sample_weight), options.tol, is_two_sided, parameters
        )
    members = members.with_labels_of(y)
    result, summary = arguments.solve_binary(members, X, np.asarray(y), members.label_signs(y))
    predicted = np.unique(result.training_predictions())
    constant_label = repr(predicted.tolist()[0]) if len(predicted) == 1 else ""
    warn_about_member_weights([summary], result.goal.examples.total, constant_label, stacklevel=2)
    return result


@dataclass(frozen=True, kw_only=True, eq=False)
class ReweightArguments:
    """The arguments of `reweight` that do not depend on the class, checked.

    Attributes
    ----------
    formulation
        A formulation over all hypotheses.
    sample_weight, backend, d0
        As in `reweight`.
    options
        The options.
    parameters
        The parameters of the formulation.
    """

    formulation: Formulation[Any]
    sample_weight: npt.ArrayLike | None
    backend: str | Backend
    d0: npt.ArrayLike | None
    options: ReweightOptions
    parameters: Mapping[str, Any]

    @classmethod
    def parse(
        cls,
        formulation: Any,
        sample_weight: npt.ArrayLike | None,
        backend: str | Backend,
        d0: npt.ArrayLike | None,
        options: ReweightOptions | None,
        keywords: Mapping[str, Any],
    ) -> ReweightArguments:
        """Return checked arguments, with the keywords split into options and parameters of the formulation.

        Raises
        ------
        OptionError
            The formulation states one update and no program over all hypotheses; or a name is unknown.
        """
        formulation = get_formulation(formulation)
        if formulation.columns is not None:
            raise OptionError(
                f"re-weighting needs a program over all hypotheses; {formulation.name} states one update, of "
                f"{formulation.columns} column{'s' if formulation.columns > 1 else ''}."
                f"{booster_hint(formulation) or ' Choose another formulation.'}"
            )
        own_options = {name: value for name, value in keywords.items() if name in OPTION_NAMES}
        parameters = {name: value for name, value in keywords.items() if name not in OPTION_NAMES}
        check_keywords("reweight", parameters, NON_FORMULATION_KEYWORDS, formulation)
        return cls(
            formulation=formulation,
            sample_weight=sample_weight,
            backend=backend,
            d0=d0,
            options=replace(_validate_options(options), **own_options),
            parameters=parameters,
        )

    def solve_binary(
        self,
        members: Members,
        X: Any,
        labels: npt.NDArray[Any],
        signs: Int8[Array, " N"],
        margins: MarginMatrix | None = None,
    ) -> tuple[Reweighted, MarginSummary]:
        """Return new weights for members that separate two classes, and their summary for warnings.

        Parameters
        ----------
        members, labels, signs
            The members, and the label of each row, with its class as -1 or 1.
        X
            As in `reweight`.
        margins
            The margins of the examples with a positive weight, if they are known.
        """
        reflexive, tol = self.options.reflexive, DEFAULT_TOL if self.options.tol is None else self.options.tol
        rows, c = check_multiplicities(self.sample_weight, len(signs))
        if (signs[rows] == signs[rows[0]]).all():
            raise ProblemError(
                f"both classes must occur among the examples with a positive weight; got {len(rows)} such examples of "
                "one class. Pass examples of the other class."
            )
        U = members.margins(X, signs, rows) if margins is None else margins
        parameters = {
            name: _select_reference(name, value, rows, len(signs))
            if name in self.formulation.example_parameters
            else value
            for name, value in self.parameters.items()
        }
        d0 = _select_reference("d0", self.d0, rows, len(signs))
        with rows_left_out(self.formulation, len(rows), len(signs)):
            program = _bind_members(self.formulation, U, c, d0, reflexive, parameters)
        solution = solve(program, self.backend, tol).raise_if_failed()
        goal = _soft_margin_objective(program, solution, reflexive)
        best = _best_soft_margin(goal, solution, U, tol)
        w, source = _member_weights(solution, goal, best, U.t)
        w = drop_small_weights(w, tol)
        result = Reweighted(
            ensemble=members,
            numbers=np.arange(U.t),
            w=w,
            weights_source=source,
            solution=solution,
            goal=goal,
            U=U,
            signs=signs[rows],
            soft_margin_before=certified_soft_margin(goal, U, members.weights, best.d),
            soft_margin=certified_soft_margin(goal, U, w, best.d),
            soft_margin_certificate=best,
            majority=1 if c @ signs[rows] >= 0 else -1,
        )
        summary = _margin_summary(result, NU_PARAMETER in self.formulation.parameters)
        if summary.is_unproved and U.N * U.t <= MAX_COMPARED_VOTES:
            votes = U.to_array() * signs[rows, np.newaxis]
            contradiction = find_contradictory_votes(votes, signs[rows], c, rows, labels)
            summary = replace(summary, contradiction=contradiction)
        return result, summary


def _margin_summary(result: Reweighted, has_nu: bool) -> MarginSummary:
    """Return the summary of new weights for the margin warnings."""
    goal = result.goal
    c, total = goal.examples.c, goal.examples.total
    return result.margin_summary(
        float(c[result.signs > 0].sum() / total),
        None if goal.nu is None or not has_nu else goal.nu / total,
        goal.min_regularizer,
        float(c[np.abs(result.margins) <= ZERO_TOL].sum() / total),
    )


def _validate_distributed_arguments(backend: object, d0: object, options: ReweightOptions) -> None:
    """Raise OptionError for arguments that distributed rows do not support."""
    named = {
        "backend": (backend, backend == "auto"),
        "d0": (d0, d0 is None),
        "values": (options.values, options.values in (None, VALUE_METHODS[0])),
    }
    for name, (value, left_out) in named.items():
        if not left_out:
            raise OptionError(
                f"{name} must be left out for rows on a cluster, where the members vote and no backend solves a "
                f"program; got {short_repr(value)}. Leave it out, or compute X and y."
            )


def _validate_options(options: object) -> ReweightOptions:
    """Return the record of options; the default one for None."""
    advice = "Make one with boostopt.ensembles.ReweightOptions(...), or leave it out."
    record = check_optional(check_instance, "options", options, ReweightOptions, "a ReweightOptions", advice)
    return record or ReweightOptions()


def _select_reference(name: str, values: npt.ArrayLike | None, rows: Array, N: int) -> Array | None:
    """Return the values of the examples that count, from one value for each row; `bind` refuses other shapes."""
    return None if values is None else select_counting(check_array(name, values), rows, N)


def _bind_members(
    formulation: Formulation[Any],
    U: MarginMatrix,
    c: ExampleVector,
    d0: Array | None,
    reflexive: bool,
    parameters: Mapping[str, Any],
) -> Program:
    """Return the program over the members, and over their negations if they belong to the class."""
    if not reflexive:
        return formulation.bind(U, c=c, d0=d0, **parameters)
    if TWO_SIDED_PARAMETER in formulation.parameters:
        return formulation.bind(U, c=c, d0=d0, **{**parameters, TWO_SIDED_PARAMETER: True})
    program = formulation.bind(U, c=c, d0=d0, **parameters)
    if _allows_negative_weights(program.edge_function):
        return program
    columns = U.to_array()
    return formulation.bind(
        MarginMatrix.of_private(np.concatenate([columns, -columns], axis=1)), c=c, d0=d0, **parameters
    )


def _allows_negative_weights(G: EdgeFunction) -> bool:
    """Return whether hypothesis weights may be negative."""
    w = G.project(np.array([-0.5, -0.5]))
    return w is not None and bool((w < 0).any())


def _soft_margin_objective(program: Program, solution: Solution, reflexive: bool) -> SoftMarginObjective:
    """Return the objective by which the weights of a program are measured: the soft margin, or another value."""
    F, G = program.regularizer, program.edge_function
    goal = SoftMarginObjective.from_pair(F, G, program.examples)
    largest = AbsoluteEdge() if reflexive or _allows_negative_weights(G) else MaximumEdge()
    F0 = _soft_margin_regularizer(program, solution) if goal is None else goal.F0
    return SoftMarginObjective(F0, largest, program.examples, value_in_words(F, G, F0))


def _soft_margin_regularizer(program: Program, solution: Solution) -> Regularizer:
    """Return the regularizer of the soft margin for a program that does not maximize one."""
    F, examples = program.regularizer, program.examples
    if F.on_simplex:
        return F.unsmoothed
    if not isinstance(F, Hinge):
        raise OptionError(
            f"reweight needs a formulation with a soft margin; {program.formulation.name} has none, because its "
            "example weights need not sum to 1 and its slacks have no price. Bind and solve it over "
            "members_of(...).margins(...)."
        )
    # d / sum d lies within the caps c / nu for nu = sum d / C; for nu <= min c, all caps are void.
    nu = min(max(float(solution.d.sum()) / F.C, min(1.0, float(examples.c.min()))), examples.total)
    return CappedSimplexIndicator(CappedSimplex(examples.c, nu))


def _best_soft_margin(goal: SoftMarginObjective, solution: Solution, U: MarginMatrix, tol: float) -> Certificate:
    """Return the interval of the largest soft margin over the members, from the program if it has this objective."""
    program = solution.program
    F = program.regularizer
    is_same_objective = isinstance(program.edge_function, type(goal.G)) and F.unsmoothed is F and F is goal.F0
    if is_same_objective and program.margins.t == U.t:
        return solution.certificate
    return solve(goal.program(U), tol=tol).raise_if_failed().certificate


def _member_weights(
    solution: Solution, goal: SoftMarginObjective, best: Certificate, t: int
) -> tuple[HypothesisVector, str]:
    """Return the weights of the members, and their source in words."""
    if solution.certificate.infeasible:
        return best.w, f"of the largest {goal.measure}, because {solution.program.formulation.name} is infeasible"
    w = solution.w
    w = w if len(w) == t else w[:t] - w[t:]
    total = float(np.abs(w).sum())
    if total == 0.0 and not best.w.any():
        return best.w, f"0, because no other weights have a larger {goal.measure}"
    if total == 0.0:
        name = solution.program.formulation.name
        return best.w, f"of the largest {goal.measure}, because the weights of {name} are 0"
    # Weights inside the ball of the 1-norm are not scaled: scaling would change them.
    G = solution.program.edge_function
    is_in_ball = G.is_largest_edge and G.is_symmetric and total <= 1.0
    return (w if is_in_ball else w / total), PROGRAM_WEIGHTS


NON_FORMULATION_KEYWORDS = ("sample_weight", "backend", "d0", "options", *OPTION_NAMES)
"""The keywords of `reweight` that no formulation has as a parameter."""
