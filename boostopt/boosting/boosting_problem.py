"""The problem of a run: a formulation with its parameters, for any set of hypotheses."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from boostopt._utils.array_types import ExampleVector, HypothesisVector
from boostopt._utils.validation import check_positive
from boostopt.boosting.booster_names import booster_hint
from boostopt.boosting.objectives.exact_objective import ExactObjective, exact_objective
from boostopt.boosting.objectives.soft_margin import EPS, SoftMarginObjective, value_slack
from boostopt.boosting_certificates.nan_checks import as_bound
from boostopt.errors import OptionError, ProblemError, short_repr
from boostopt.functions.edge_functions.base import EdgeFunction
from boostopt.functions.edge_functions.largest_edge import MaximumEdge
from boostopt.functions.regularizers.base import ConjugatePoint, Regularizer
from boostopt.programs.boosting_spec import UpdateKind, parse_choice
from boostopt.programs.formulation import Formulation
from boostopt.programs.formulation_catalogue import get_formulation
from boostopt.programs.program import Examples, Program
from boostopt.programs.step_rules.boosting_state import BoostingState
from boostopt.rows.margin_matrix import MarginMatrix

DEFAULT_EPSILON = 0.01
"""The default accuracy of the soft margin."""

CORRECTIVE_STEPS = (UpdateKind.STEP, UpdateKind.LINE_SEARCH, UpdateKind.PAIRWISE, UpdateKind.BLENDED_PAIRWISE)
"""The corrective steps: weight is moved to the newest hypothesis, from all others or from one, or between two."""

CORRECTIVE_UPDATES = (UpdateKind.NEWTON, *CORRECTIVE_STEPS, UpdateKind.PROGRAM, UpdateKind.MLPBOOST)
"""The updates that are at least as good as a corrective step, or that change the newest weight only."""

UPDATES_WITH_EDGE_BOUND = (UpdateKind.NEWTON, UpdateKind.STEP, UpdateKind.LINE_SEARCH)
"""The corrective updates that support bounded edges, with weights whose sum is free."""

LEVEL_OVERHEAD = 7.0 / 3.0
"""The largest ratio of the rounds of all levels of Newton steps to the rounds of the last level: see theorem A."""

ADDITIVE_UPDATES = (UpdateKind.PROJECTION, UpdateKind.REWEIGHTING)
"""The updates that add a step to the newest weight. Formulations with such an update support no other one."""


def round_parameters(
    formulation: Formulation[Any], epsilon: float, c: npt.ArrayLike = (1.0, 1.0)
) -> Mapping[str, float]:
    """Return the parameters that boosting sets in every round, with the values before the first round."""
    N = len(np.asarray(c))
    examples = Examples(np.asarray(c, dtype=np.float64), np.full(N, 1.0 / N))
    return formulation.boosting.next_parameters(BoostingState(0, 1.0, epsilon, examples, 0.0, np.zeros(N), -np.ones(N)))


@contextmanager
def rows_left_out(formulation: Formulation[Any], N: int, n_rows: int) -> Generator[None]:
    """Add to a ProblemError that some rows are no examples, because a formulation may have arrays over all rows.

    Parameters
    ----------
    formulation
        The formulation.
    N, n_rows
        The numbers of examples and of rows.
    """
    try:
        yield
    except ProblemError as failure:
        if formulation.is_symmetric or N == n_rows:
            raise
        raise ProblemError(
            f"{failure} {formulation.name} is stated over {N} examples here, of {n_rows} rows: the others have the "
            "weight 0 or are held out. If the formulation has arrays with one value for each row, make them parameters "
            "of the domain PER_EXAMPLE, which follow the rows."
        ) from failure


@dataclass(frozen=True, eq=False)
class Problem:
    """A formulation with the parameters of a user.

    Attributes
    ----------
    formulation
        The formulation.
    user_parameters
        The parameters of the user, without those that the formulation sets in every round.
    template
        The program over a virtual hypothesis that is wrong everywhere. Its F and its record hold for all rounds, except
        for the parameters that are set in every round.
    update
        The update.
    epsilon
        The accuracy at which the run stops.
    objective
        The value that boosting maximizes, such as the soft margin; None if the largest edge bounds no value.
    """

    formulation: Formulation[Any]
    user_parameters: Mapping[str, Any]
    template: Program
    update: UpdateKind
    epsilon: float
    objective: SoftMarginObjective | None

    @classmethod
    def create(
        cls,
        formulation: Formulation[Any],
        c: npt.ArrayLike,
        d0: npt.ArrayLike | None,
        epsilon: float | None,
        update: str | None,
        settings: Mapping[str, Any],
    ) -> Problem:
        """Check the parameters of a user and bind them.

        Raises
        ------
        OptionError
            The accuracy, the update or a parameter does not fit the formulation.
        ProblemError
            A parameter is out of its domain.
        """
        epsilon = DEFAULT_EPSILON if epsilon is None else epsilon
        epsilon = check_positive("epsilon", epsilon, advice="Pass the accuracy of the soft margin, such as 0.01.")
        spec = formulation.boosting
        update = spec.update if update is None else parse_choice(UpdateKind, "update", update)
        if update != spec.update and {update, spec.update} & set(ADDITIVE_UPDATES):
            raise OptionError(
                f"the update of {formulation.name} is {spec.update!r}; got update={short_repr(update)}. Leave it out."
            )
        if formulation.columns is not None and spec.update is UpdateKind.TOTAL:
            raise OptionError(
                f"boosting needs a program over all hypotheses; {formulation.name} states one update."
                f"{booster_hint(formulation) or ' Choose another formulation.'}"
            )
        if np.ndim(c) != 1 or np.size(c) == 0:
            raise ProblemError(
                f"c must have one multiplicity for each example, at least one; got shape {np.shape(c)}. Pass examples."
            )
        if "epsilon" in formulation.parameters:
            settings = {**settings, "epsilon": epsilon}
        first_round = round_parameters(formulation, epsilon, c)
        for name in first_round:
            if settings.get(name) is not None:
                raise OptionError(
                    f"{formulation.name} sets {name} in every round of boosting; it is not a parameter of boost; got "
                    f"{name}={short_repr(settings[name])}. Leave it out."
                )
        U = np.full((len(np.asarray(c)), formulation.columns or 1), -1, dtype=np.int8)
        template = formulation.bind(U, c=c, d0=d0, **{**settings, **first_round})
        F, G = template.regularizer, template.edge_function
        is_smoothed = update is UpdateKind.NEWTON and bool(spec.smoothed_formulation)
        if update in CORRECTIVE_UPDATES and F.strong_convexity == 0.0 and not is_smoothed:
            smooth = "Pass a finite eta, which adds an entropy, or use" if "eta" in formulation.parameters else "Use"
            raise OptionError(
                f"update={short_repr(update)} needs a strongly convex regularizer; that of {formulation.name} with "
                f'these parameters is not strongly convex. {smooth} update="total".'
            )
        objective = SoftMarginObjective.from_pair(F, G, template.examples)
        if update in CORRECTIVE_UPDATES:
            _check_corrective(formulation, update, G if formulation.columns is None else MaximumEdge(), objective)
        if update is UpdateKind.NEWTON:
            _check_newton(formulation, F, G if formulation.columns is None else MaximumEdge(), is_smoothed)
        return cls(formulation, dict(settings), template, update, epsilon, objective)

    def __reduce__(self) -> Any:
        """Return the settings for pickle, because a formulation may contain functions."""
        return Problem.create, self._settings(self.user_parameters)

    def with_parameters(self, values: Mapping[str, Any]) -> Problem:
        """Return the problem with other values of some parameters, checked."""
        return Problem.create(*self._settings({**self.user_parameters, **values}))

    def _settings(self, parameters: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the arguments of `create` with the parameters of a user."""
        d0 = self.examples.d0 if self.formulation.uses_reference else None
        return self.formulation, self.examples.c, d0, self.epsilon, self.update, parameters

    @property
    def F(self) -> Regularizer:
        """The regularizer."""
        return self.template.regularizer

    @property
    def examples(self) -> Examples:
        """The multiplicities and the reference distribution."""
        return self.template.examples

    @property
    def is_additive(self) -> bool:
        """True if steps add to the weights, so that their sum grows."""
        return self.update in ADDITIVE_UPDATES

    @property
    def needs_limit(self) -> bool:
        """True if the run needs a limit, because possibly no rule ever holds."""
        return self.is_additive and not math.isfinite(self.iteration_bound)

    @property
    def has_class_bound(self) -> bool:
        """True if the largest edge of a class bounds the program over the whole class, or the soft margin."""
        return self.objective is not None or self.edge_function.has_class_bound

    @property
    def class_pair(self) -> tuple[Regularizer, EdgeFunction]:
        """The pair (F, G) whose value is bounded over a class: the soft margin's, or the program's if it has none."""
        return (self.F, self.edge_function) if self.objective is None else (self.objective.F0, self.objective.G)

    @property
    def measure(self) -> str:
        """The name of the value that is bounded: see `SoftMarginObjective.name_of`."""
        return SoftMarginObjective.name_of(self.objective)

    @property
    def has_soft_margin(self) -> bool:
        """True if the bounded value is a soft margin, without terms of F."""
        return self.objective is not None and self.objective.F0.is_indicator

    def class_upper_bound(self, d: ExampleVector, largest: float) -> tuple[float, ExampleVector]:
        """Return an upper bound over a class whose largest edge under d is `largest`, and the d that proves it.

        The bound is that of the soft margin, or F + G at d, or F + G at d scaled such that the edges of the class cost
        nothing.
        """
        for function in (self.template.regularizer, self.template.edge_function):
            function.check_outer_arrays()
        if self.objective is not None:
            return self.objective.upper_bound(d, largest), d
        F, G = self.F, self.edge_function
        if G.zero_cost_edge is not None and largest > G.zero_cost_edge:
            if F.on_simplex or G.zero_cost_edge <= 0.0:
                return math.inf, d
            # The weights are rounded, and the rounding error of each edge is proportional to their sum.
            share = G.zero_cost_edge / largest * (1.0 - EPS * (10.0 + 4.0 * F.mass / G.zero_cost_edge))
            d = d * max(share, 0.0)
            largest = G.zero_cost_edge
        g = G.class_bound(largest)
        # G may have another magnitude than F: the product in G and the sum are rounded, too.
        return as_bound(F.value(d) + g + value_slack(F, d) + 4.0 * EPS * abs(g), math.inf), d

    @property
    def two_sided(self) -> bool:
        """True if edges count without their sign."""
        return self.template.edge_function.is_largest_edge and self.template.edge_function.is_symmetric

    @property
    def smooth(self) -> bool:
        """True if d(w) is unique, so that it is the next query to the oracle."""
        return bool(self.F.strong_convexity > 0.0)

    @property
    def edge_function(self) -> EdgeFunction:
        """The edge function G over all hypotheses, if the program has more than one or two columns."""
        return self.template.edge_function if self.formulation.columns is None else MaximumEdge()

    @property
    def rules(self) -> tuple[str, ...]:
        """The names of the formulation's stopping rules; if it names none, rules that fit any program of its kind."""
        return self.formulation.boosting.rules or (("direct",) if self.objective is not None else ("priced",))

    @property
    def max_level(self) -> int:
        """The highest level of Newton steps, whose eta is 2^-level times the problem's and at least 1/2."""
        if self.update is not UpdateKind.NEWTON:
            return 0
        if not self.formulation.boosting.smoothed_formulation and self.F.unsmoothed is self.F:
            return 0  # eta belongs to the objective itself
        formulation, template = self._smoothed
        return max(math.floor(math.log2(2.0 * template.parameters.eta)), 0) if "eta" in formulation.parameters else 0

    def level_for_gap(self, gap: float) -> int:
        """Return the first level of Newton steps whose accuracy, 2^level epsilon, is not below a positive gap."""
        if gap == math.inf:
            return self.max_level
        return min(max(math.ceil(math.log2(gap / self.epsilon)), 0), self.max_level)

    @cached_property
    def _smoothed(self) -> tuple[Formulation[Any], Program]:
        """The formulation of the programs of the Newton steps, and their template."""
        name = self.formulation.boosting.smoothed_formulation
        if not name:
            return self.formulation, self.template
        formulation: Formulation[Any] = get_formulation(name)
        parameters = {
            name: value for name, value in vars(self.template.parameters).items() if name in formulation.parameters
        }
        examples = self.examples
        return formulation, formulation.bind(
            self.template.margins, c=examples.c, d0=examples.d0, **{**parameters, "epsilon": self.epsilon}
        )

    @cached_property
    def least_value(self) -> float:
        """The bound of the program and of the soft margin before the first hypothesis: -1, or less if F is negative.

        On the simplex, the weights of the margins, which are at least -1, sum to 1.
        """
        objective = self.objective
        smallest = -self.F.conjugate_at(np.zeros(self.F.N)).value if objective is None else objective.min_regularizer
        return min(smallest, 0.0) - 1.0

    @cached_property
    def affordable(self) -> bool:
        """True if the regularizer costs at most epsilon / 2 of the soft margin."""
        return self.F.smoothing_within(self.epsilon)

    @cached_property
    def strong_convexity(self) -> float:
        """The number 1 / eta of Newton steps at level 0."""
        return self.F.strong_convexity or self.regularizer_at_level(0, self.examples).strong_convexity

    def regularizer_at_level(self, level: int, examples: Examples) -> Regularizer:
        """Return F at a level of Newton steps for some examples: eta is 2^-level times that of the problem."""
        formulation, template = self._smoothed
        p = template.parameters
        return formulation.regularizer(p if level == 0 else replace(p, eta=p.eta * 0.5**level), examples)

    @property
    def iteration_bound(self) -> float:
        """The theoretical bound on the number of hypotheses; inf if there is none."""
        is_newton = self.update is UpdateKind.NEWTON
        formulation, template = self._smoothed if is_newton else (self.formulation, self.template)
        bound = formulation.boosting.iteration_bound(template)
        if is_newton and self.edge_function.edge_bound is not None:  # theorem 14
            return 4.0 * LEVEL_OVERHEAD * bound + 2.0 * max(math.ceil(math.log2(2.0 / self.epsilon)), 1)
        return bound if self.max_level == 0 else LEVEL_OVERHEAD * bound + self.max_level

    def parameters(self, progress: BoostingState) -> Any:
        """Return the record of parameters of a round."""
        return replace(self.template.parameters, **self.formulation.boosting.next_parameters(progress))

    def edge_function_in(self, progress: BoostingState) -> EdgeFunction:
        """Return G of a round; its bound on the edges may change from round to round."""
        return (
            self.formulation.edge_function(self.parameters(progress))
            if self.formulation.columns is None
            else self.edge_function
        )

    def program(self, U: MarginMatrix, progress: BoostingState) -> Program:
        """Return the program of a round over all hypotheses."""
        return replace(
            self.template,
            parameters=self.parameters(progress),
            margins=U,
            edge_function=self.edge_function_in(progress),
        )

    def two_column_program(self, v: ExampleVector, u: ExampleVector) -> Program:
        """Return the program over two columns: the convex combination so far and the newest hypothesis."""
        # The margins of the combination may leave [-1, 1] by rounding.
        return replace(self.template, margins=MarginMatrix.of_private(np.stack([np.clip(v, -1.0, 1.0), u], axis=1)))

    def conjugate_at_margins(self, m: ExampleVector) -> ConjugatePoint:
        """Return F* at -m, with the maximizer d(w), where m = Uw are the margins."""
        return self.F.conjugate_at(-m)

    def dual_objective(self, conjugate: ConjugatePoint, w: HypothesisVector, G: EdgeFunction | None = None) -> float:
        """Return D(w), the lower bound of the program up to rounding; by default with G before the first round."""
        return -conjugate.value - (self.edge_function if G is None else G).conjugate(w)


def _check_newton(formulation: Formulation[Any], F: Regularizer, G: EdgeFunction, is_smoothed: bool) -> None:
    """Raise OptionError if Newton steps do not support the formulation."""
    terms = F.pointwise()
    if not is_smoothed and terms is None:
        raise OptionError(
            f'update="newton" needs a regularizer that is a sum over the examples; that of {formulation.name} is not. '
            'Use update="total".'
        )
    if (not G.is_largest_edge and G.edge_bound is None) or G.is_symmetric:
        raise OptionError(
            f'update="newton" needs the largest edge with its sign, or a bound on the edges; {formulation.name} with '
            'these parameters has another edge function. Use update="total", or leave out two_sided.'
        )


def _check_corrective(
    formulation: Formulation[Any], update: str, G: EdgeFunction, objective: SoftMarginObjective | None
) -> None:
    """Raise OptionError if a corrective update does not support G."""
    if objective is not None and G.is_largest_edge:
        return
    if objective is None or G.edge_bound is None:
        raise OptionError(
            f"update={short_repr(update)} needs the largest edge or a bound on the edges, with a soft margin; "
            f'{formulation.name} has neither. Use update="total".'
        )
    if update not in UPDATES_WITH_EDGE_BOUND:
        raise OptionError(
            f"update={short_repr(update)} needs weights with a fixed sum; {formulation.name} bounds the edges, so the "
            'sum of its weights is free. Use update="step", "line_search" or "total".'
        )


def exact_objective_of_problem(problem: Problem, n_examples: float) -> ExactObjective | None:
    """Return the exact objective of a problem over `n_examples` examples; None if histograms do not support it."""
    return exact_objective(
        problem.objective, problem.formulation, problem.template.parameters, problem.examples, n_examples
    )
