"""Ideas of a prototyper, each stated in a few lines, and what can be done with each: the table of docs/howto/ideas.md.

    python benchmarks/ideas.py --page docs/howto/ideas.md

Each idea is a function of this file. The command solves it, compares solvers on it, boosts it, follows a path, fits a
classifier, verifies both certificates from files, writes a report, and saves and loads the run. A cell is what came of
a step, or the reason for which boostopt refuses it.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cvxpy
import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1])]

from benchmarks.pages import head as table_head
from benchmarks.pages import replace_between
from benchmarks.pages import row as table_row
from boostopt import Run, boost, compare, get_formulation, path, verify
from boostopt.authoring import (
    COUNT,
    PER_EXAMPLE,
    POSITIVE,
    CappedSimplex,
    CappedSimplexIndicator,
    CvxpyEdges,
    CvxpyRegularizer,
    edge_formula,
    formula,
    parameter,
    prototype,
)
from boostopt.boosting import certify_limits
from boostopt.errors import BoostoptError
from boostopt.estimators import MarginBoostClassifier, MarginBoostRegressor
from boostopt.oracles import (
    DecisionStumps,
    DepthTwoTrees,
    Estimators,
    LimitedClass,
    MulticlassStumps,
    RegressionStumps,
    equal_mean_margins,
)
from boostopt.reporting import to_html

cp: Any = cvxpy
"""CVXPY, whose own annotations refuse expressions that it takes."""

PAGE = Path(__file__).parents[1] / "docs" / "howto" / "ideas.md"
BEGIN, END = "<!-- made by benchmarks/ideas.py: begin -->", "<!-- made by benchmarks/ideas.py: end -->"

GAP, EPSILON, MAX_ROUNDS, FEW_ROUNDS = 1e-6, 0.05, 20, 5
"""The gap of solves; the accuracy and the largest number of rounds of runs, and that of sorted norms."""

N = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4))
Y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.5 * RNG.normal(size=N) > 0.5, 1, -1)
CLASSES = np.digitize(X[:, 0] + 0.5 * X[:, 1], (-0.5, 0.5))
TARGETS = X[:, 0] + np.abs(X[:, 1])
GROUPS = np.arange(N) % 4
POSITIONS = np.argsort(np.argsort(X[:, 2])).astype(float)

NU = parameter("the least number of examples that share the weight", COUNT)
ETA = parameter("the inverse strength", POSITIVE)


@dataclass(frozen=True)
class Idea:
    """An idea as a page, its parameters and its class of hypotheses.

    Attributes
    ----------
    page
        A formulation, or its name.
    parameters
        Values of the parameters: numbers, arrays with one value an example, and functions of the round.
    oracle
        The class of hypotheses.
    base
        The base of the classifier.
    values
        The values of nu of the path; other parameters stay.
    max_rounds
        The largest number of rounds of a run.
    omissions
        Reasons for steps that are not run, by step.
    """

    page: Any
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"nu": 16, "eta": 8.0})
    oracle: Any = field(default_factory=lambda: DecisionStumps(X, Y))
    base: Any = "stump"
    values: Sequence[int] = (16, 24)
    max_rounds: int = MAX_ROUNDS
    omissions: Mapping[str, str] = field(default_factory=dict[str, str])


def domain(p: Any, examples: Any) -> CappedSimplex:
    """Return the capped simplex of the examples."""
    return CappedSimplex(examples.c, p.nu)


def description(
    p: Any, examples: Any, f: Callable[[Any], Any], constraints: Callable[[Any], list[Any]] | None = None
) -> CvxpyRegularizer:
    """Return the regularizer of an expression on the capped simplex, with equal shares inside."""
    keywords: dict[str, Any] = {} if constraints is None else {"constraints": constraints}
    return CvxpyRegularizer(domain(p, examples), f, inside=examples.c / examples.total, **keywords)


def hellinger() -> Idea:
    """Hellinger's distance."""
    text = "(sqrt(d) - sqrt(d0))**2/eta"
    return Idea(
        prototype("hellinger", lambda p, x: formula(text, domain(p, x), x.d0, eta=p.eta), nu=NU, eta=ETA),
    )


def alpha_divergence() -> Idea:
    """A divergence of order 3/2."""
    text = "(d**1.5/d0**0.5 - d)/eta"
    return Idea(
        prototype("alpha", lambda p, x: formula(text, domain(p, x), x.d0, eta=p.eta), nu=NU, eta=ETA),
    )


def fused() -> Idea:
    """Total variation along the order of the examples."""
    return Idea(
        prototype("fused", lambda p, x: description(p, x, lambda d: cp.tv(d) / p.eta), nu=NU, eta=ETA),
    )


def group_norms() -> Idea:
    """Norms of the weights of groups."""

    def regularizer(p: Any, x: Any) -> CvxpyRegularizer:
        members = [np.flatnonzero(p.groups == k) for k in np.unique(p.groups)]
        return description(p, x, lambda d: sum(cp.norm(d[rows], 2) for rows in members) / p.eta)

    groups = parameter("the group of each example", PER_EXAMPLE)
    return Idea(
        prototype("group norms", regularizer, nu=NU, eta=ETA, groups=groups),
        {"nu": 16, "eta": 8.0, "groups": GROUPS.astype(float)},
    )


def sorted_norm_as_atom() -> Idea:
    """A sorted norm (OWL) by `dotsort`."""
    weights = np.linspace(1.0, 0.0, N)
    return Idea(
        prototype(
            "owl", lambda p, x: description(p, x, lambda d: cp.dotsort(cp.abs(d - x.d0), weights)), nu=NU, eta=ETA
        ),
        max_rounds=FEW_ROUNDS,
    )


def sorted_norm_as_program() -> Idea:
    """A sorted norm (OWL) of ten levels as a linear program."""

    def regularizer(p: Any, x: Any) -> CvxpyRegularizer:
        def norm(d: Any) -> tuple[Any, list[Any]]:
            s, Y = cp.Variable((10, 1)), cp.Variable((10, x.N), nonneg=True)
            deviations = np.ones((10, 1)) @ cp.reshape(d - x.d0, (1, x.N), order="C")
            levels = Y + s @ np.ones((1, x.N))
            value = cp.sum(cp.multiply(np.arange(1, 11), s[:, 0]) + cp.sum(Y, axis=1)) / 10
            return value, [levels >= deviations, levels >= -deviations]

        return description(p, x, norm)

    return Idea(prototype("owl program", regularizer, nu=NU, eta=ETA), max_rounds=FEW_ROUNDS)


def transport_as_program() -> Idea:
    """Transport of the group weights to the shares, as a linear program."""

    def regularizer(p: Any, x: Any) -> CvxpyRegularizer:
        share = np.array([x.c[p.groups == k].sum() for k in range(4)]) / x.total
        costs = np.abs(np.subtract.outer(np.arange(4), np.arange(4))) / p.eta

        def transport(d: Any) -> tuple[Any, list[Any]]:
            T = cp.Variable((4, 4), nonneg=True)
            weights = cp.hstack([cp.sum(d[np.flatnonzero(p.groups == k)]) for k in range(4)])
            return cp.sum(cp.multiply(costs, T)), [cp.sum(T, axis=1) == weights, cp.sum(T, axis=0)[:-1] == share[:-1]]

        return description(p, x, transport)

    groups = parameter("the bin of each example", PER_EXAMPLE)
    return Idea(
        prototype("transport", regularizer, nu=NU, eta=ETA, groups=groups),
        {"nu": 16, "eta": 8.0, "groups": GROUPS.astype(float)},
    )


def transport_along_a_line() -> Idea:
    """Transport along one feature: the 1-norm of cumulative sums."""

    def regularizer(p: Any, x: Any) -> CvxpyRegularizer:
        order = np.argsort(p.position)
        return description(p, x, lambda d: cp.norm1(cp.cumsum((d - x.d0)[order])) / p.eta)

    position = parameter("the place of each example", PER_EXAMPLE)
    return Idea(
        prototype("line", regularizer, nu=NU, eta=ETA, position=position),
        {"nu": 16, "eta": 8.0, "position": POSITIONS},
    )


def transport_among_bins() -> Idea:
    """Transport among four bins in a row: the 1-norm of the cumulative sums of their weights."""

    def regularizer(p: Any, x: Any) -> CvxpyRegularizer:
        sums = np.array([p.groups <= k for k in range(3)], dtype=float)
        return description(p, x, lambda d: cp.norm1(sums @ (d - x.d0)) / p.eta)

    groups = parameter("the bin of each example", PER_EXAMPLE)
    return Idea(
        prototype("bins", regularizer, nu=NU, eta=ETA, groups=groups),
        {"nu": 16, "eta": 8.0, "groups": GROUPS.astype(float)},
    )


def cap(p: Any, examples: Any) -> CappedSimplexIndicator:
    """Return the indicator of the capped simplex."""
    return CappedSimplexIndicator(domain(p, examples))


def tail_of_edges() -> Idea:
    """The mean of the two largest edges."""
    return Idea(
        prototype("tail", cap, lambda p: CvxpyEdges(lambda e: cp.sum_largest(e, 2) / 2), nu=NU),
        {"nu": 16},
    )


def softmax_of_edges() -> Idea:
    """The smoothed largest edge."""
    return Idea(
        prototype("softmax", cap, lambda p: CvxpyEdges(lambda e: cp.log_sum_exp(p.a * e) / p.a), nu=NU, a=ETA),
        {"nu": 16, "a": 10.0},
    )


def exponentials_of_edges() -> Idea:
    """The sum of exponentials of the edges."""
    return Idea(
        prototype("exponentials", cap, lambda p: edge_formula("exp(a*e)/a", a=p.a), nu=NU, a=ETA),
        {"nu": 16, "a": 2.0},
    )


def squareplus() -> Idea:
    """The loss (x + sqrt(x^2 + 4)) / 2 of the margins below a threshold."""
    text = "-2*sqrt(d)*sqrt(u - d)/eta"  # its conjugate, with d / u as minus its slope
    return Idea(
        prototype("squareplus", lambda p, x: formula(text, domain(p, x), eta=p.eta), nu=NU, eta=ETA),
    )


def equal_weight_of_groups() -> Idea:
    """Half of the weight to two of four groups."""

    def regularizer(p: Any, x: Any) -> CvxpyRegularizer:
        first = np.flatnonzero(p.groups < 2)
        return description(p, x, lambda d: cp.sum_squares(d) / p.eta, lambda d: [cp.sum(d[first]) == 0.5])

    groups = parameter("the group of each example", PER_EXAMPLE)
    return Idea(
        prototype("equal weight", regularizer, nu=NU, eta=ETA, groups=groups),
        {"nu": 16, "eta": 8.0, "groups": GROUPS.astype(float)},
    )


def equal_margins_of_groups() -> Idea:
    """Equal mean margins of two groups, as limits on the hypothesis weights."""
    limits = equal_mean_margins(GROUPS < 2, tolerance=0.02)

    def limited_stumps(features: Any, labels: Any, c: Any = None) -> LimitedClass:
        return LimitedClass(DecisionStumps(features, labels, c), limits)

    return Idea(get_formulation("lpboost"), {"nu": 16}, limited_stumps(X, Y), limited_stumps)


def trees_of_depth_two() -> Idea:
    """Trees of depth two, with a bound of their edges."""
    return Idea(get_formulation("erlpboost"), {"nu": 16, "eta": 50.0}, DepthTwoTrees(X, Y), "tree2")


def trees_of_others() -> Idea:
    """Trees of depth two by scikit-learn, without a bound."""
    from sklearn.tree import DecisionTreeClassifier

    learner = DecisionTreeClassifier(max_depth=2, random_state=0)
    return Idea(get_formulation("erlpboost"), {"nu": 16, "eta": 50.0}, Estimators(learner, X, Y), learner)


def several_classes() -> Idea:
    """Three classes: pairs of an example and a wrong class are rows."""
    oracle = MulticlassStumps(X, CLASSES)
    return Idea(get_formulation("erlpboost"), {"nu": 32, "eta": 50.0}, oracle, oracle)


def costs_of_examples() -> Idea:
    """A price of the weight on each example."""
    return Idea(
        prototype(
            "costly",
            lambda p, x: formula("z*d", domain(p, x), z=p.z),
            nu=NU,
            z=parameter("the price of weight on each example", PER_EXAMPLE),
        ),
        {"nu": 16, "z": np.linspace(0.0, 0.2, N)},
    )


def absolute_residuals() -> Idea:
    """The mean absolute residual of predicted numbers."""
    oracle = RegressionStumps(X, TARGETS)
    return Idea(get_formulation("erlpboost"), {"nu": N, "eta": 50.0}, oracle, None, (N // 2, N))


def schedule_of_eta() -> Idea:
    """An eta that is doubled each second round."""
    return Idea(
        get_formulation("erlpboost"), {"nu": 16, "eta": lambda number, row: min(4.0 * 2.0 ** (number // 2), 256.0)}
    )


IDEAS: tuple[Callable[[], Idea], ...] = (
    *(hellinger, alpha_divergence, fused, group_norms, sorted_norm_as_atom, sorted_norm_as_program),
    *(transport_as_program, transport_along_a_line, transport_among_bins),
    *(tail_of_edges, softmax_of_edges, exponentials_of_edges, squareplus),
    *(equal_weight_of_groups, equal_margins_of_groups, trees_of_depth_two, trees_of_others),
    *(several_classes, costs_of_examples, absolute_residuals, schedule_of_eta),
)


# What can be done with an idea


class Trial:
    """The steps of an idea; each returns what came of it, as a text.

    Attributes
    ----------
    idea
        The idea.
    run
        The run of `boost`.
    comparison
        The comparison of `compare`.
    """

    def __init__(self, idea: Idea, folder: Path) -> None:
        self.idea, self.folder = idea, folder
        self.run: Any = None
        self.comparison: Any = None

    def boost(self) -> str:
        """Boost, and name the gap over the class."""
        self.run = boost(
            self.idea.page, self.idea.oracle, epsilon=EPSILON, max_rounds=self.idea.max_rounds, **self.idea.parameters
        )
        rounds = f"{self.run.rounds} rounds"
        try:
            is_limited = isinstance(self.idea.oracle, LimitedClass)
            gap = certify_limits(self.run).interval.gap if is_limited else self.run.class_certificate.gap
        except BoostoptError as failure:
            return f"{rounds}; no class: {reason(failure)}"
        return f"{rounds}, gap {gap:.0e}" if np.isfinite(gap) else f"{rounds}, no bound of the class"

    def solve(self) -> str:
        """Solve the program of the hypotheses that were found."""
        gap = self.run.program.solve(tol=GAP, time_limit=20.0).certificate.scaled_gap
        return f"{gap:.0e}"

    def compare(self) -> str:
        """Compare the default solvers."""
        self.comparison = compare(self.run.program, tol=GAP, time_limit=20.0)
        able = [row for row in self.comparison.rows if row.ran]
        return f"{sum(row.scaled_gap <= GAP for row in able)} of {len(able)} solvers"

    def path(self) -> str:
        """Boost at two values of nu."""
        parameters: dict[str, Any] = {**self.idea.parameters, "nu": list(self.idea.values)}
        along = path(self.idea.page, self.idea.oracle, epsilon=EPSILON, max_rounds=self.idea.max_rounds, **parameters)
        return f"{len(along.runs)} runs"

    def fit(self) -> str:
        """Fit a classifier, whose arrays with one value an example travel with the rows."""
        arrays = {name: value for name, value in self.idea.parameters.items() if isinstance(value, np.ndarray)}
        numbers = {name: value for name, value in self.idea.parameters.items() if name not in arrays}
        settings = {name: numbers.pop(name) for name in ("nu", "eta") if name in numbers}
        if isinstance(self.idea.oracle, RegressionStumps):
            regressor = MarginBoostRegressor(self.idea.page, epsilon=EPSILON, max_iter=self.idea.max_rounds, **settings)
            return f"$R^2$ = {regressor.fit(X, TARGETS).score(X, TARGETS):.2f}"
        model = MarginBoostClassifier(
            self.idea.page,
            base=self.idea.base,
            epsilon=EPSILON,
            max_iter=self.idea.max_rounds,
            parameters=numbers,
            **settings,
        )
        return f"{model.fit(X, Y, **arrays).score(X, Y):.0%} right"

    def verify(self) -> str:
        """Verify the certificates of the program and of the class from files."""
        words = list[str]()
        solution = self.run.program.solve(tol=GAP, time_limit=20.0)
        for name, write, data in (
            ("program", lambda place: solution.save(place), self.run.program),
            ("class", lambda place: self.run.save_certificate(place, self.idea.oracle), self.idea.oracle),
        ):
            place = self.folder / f"{name}.json"
            try:
                write(place)
            except BoostoptError as failure:
                words.append(f"no {name}: {reason(failure)}")
                continue
            verification = verify(place, data, formulation=self.idea.page)
            words.append(name if verification else f"no {name}: {verification.reason}")
        return "; ".join(words)

    def report(self) -> str:
        """Write the report of the comparison."""
        return f"{len(to_html(self.comparison)) // 1000} kB"

    def save(self) -> str:
        """Save and load the run."""
        place = self.folder / "run.npz"
        self.run.save(place)
        loaded = Run.load(place, formulation=self.idea.page)
        return "yes" if (loaded.w == self.run.w).all() and loaded.rounds == self.run.rounds else "**another run**"


STEPS = ("boost", "solve", "compare", "path", "fit", "verify", "report", "save")


def reason(failure: BoostoptError) -> str:
    """Return the first sentence of a refusal."""
    return re.split(r"(?<=[a-z\])])[.;]\s", " ".join(str(failure).split()))[0].replace("|", "\\|")[:160]


def n_lines(idea: Callable[[], Idea]) -> int:
    """Return the number of lines that state an idea, without its title."""
    return len([line for line in inspect.getsource(idea).splitlines() if line.strip()]) - 2


def try_idea(idea: Callable[[], Idea]) -> dict[str, str]:
    """Return what came of each step of an idea, and the seconds of all."""
    begin, cells = time.process_time(), dict[str, str]()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trial = Trial(idea(), Path(folder))
        for step in STEPS:
            if step in trial.idea.omissions:
                cells[step] = f"not run: {trial.idea.omissions[step]}"
                continue
            try:
                cells[step] = getattr(trial, step)()
            except BoostoptError as failure:
                cells[step] = f"no: {reason(failure)}"
    return {**cells, "seconds": f"{time.process_time() - begin:.1f}"}


def table(results: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Yield the table of the ideas."""
    columns = (*STEPS, "seconds")
    yield from table_head(["idea", "lines", *columns])
    for idea in IDEAS:
        title = inspect.cleandoc(idea.__doc__ or "").rstrip(".")
        if idea.__name__ in results:
            cells = results[idea.__name__]
            yield table_row([title, str(n_lines(idea)), *(cells[column] for column in columns)])


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the ideas and write the table; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--page", type=Path, help="the page whose table is written")
    parser.add_argument("--ideas", nargs="+", help="names of functions of this file; all by default")
    options = parser.parse_args(arguments)
    results = dict[str, dict[str, str]]()
    for idea in IDEAS:
        if options.ideas is None or idea.__name__ in options.ideas:
            results[idea.__name__] = try_idea(idea)
            print(idea.__name__, results[idea.__name__], file=sys.stderr, flush=True)
    lines = "\n".join(table(results))
    print(lines)
    if options.page is not None:
        replace_between(options.page, BEGIN, END, lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
