"""`reweight` for distributed examples: workers compute the members' votes, and histogram Newton finds the weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, NoReturn

import numpy as np

from boostopt._utils.array_types import Array, HypothesisVector
from boostopt.boosting.boost_options import BoostOptions, BoostRequest
from boostopt.boosting.histogram_newton.histogram_run import HistogramRun
from boostopt.boosting.histogram_newton.method_selection import MIN_EPSILON, histogram_inputs
from boostopt.boosting.histogram_newton.newton_solver import integer_weights
from boostopt.boosting.objectives.class_certificate import ClassCertificate
from boostopt.boosting.objectives.exact_objective import ExactSoftMargin
from boostopt.ensembles.members import Members, labels_to_signs
from boostopt.ensembles.reweighting_result import PROGRAM_WEIGHTS, ReweightedBase
from boostopt.errors import OptionError, ProblemError
from boostopt.estimators.training.baseline_and_nu_warnings import warn_about_member_weights
from boostopt.functions.numerics.rounding_errors import float_below
from boostopt.oracles.base import aggregates_only_error
from boostopt.oracles.distributed.cluster_classes import DistributedClass, DistributedEncoder
from boostopt.oracles.distributed.sign_columns import sign_rows
from boostopt.oracles.labelled_examples import check_multiplicities
from boostopt.oracles.matrix_oracle import MatrixColumn
from boostopt.oracles.stumps.threshold_sketches import LabelCounts, count_labels
from boostopt.programs.formulation import Formulation
from boostopt.rows.binned_rows import BinnedRows
from boostopt.rows.margin_grid import MARGIN_SCALE
from boostopt.rows.row_block import RowBlock, Split

DEFAULT_TOL = 1e-3
"""Default accuracy of the soft margin."""


@dataclass(frozen=True, eq=False, repr=False)
class DistributedReweighted(ReweightedBase):
    """The members of a fitted ensemble under new weights, computed from distributed examples.

    It is a plain local object, without any array as long as the rows.

    Attributes
    ----------
    ensemble, numbers, w, weights_are, soft_margin_before, soft_margin, soft_margin_certificate, majority
        As in `ReweightedBase`.
    run
        The histogram Newton run; its hypotheses are the indices of members.
    nu
        The nu of the soft margin, a count.
    """

    soft_margin_certificate: ClassCertificate
    run: HistogramRun
    nu: float

    @property
    def certificate(self) -> ClassCertificate:
        """The interval of the largest soft margin, the only value that histogram Newton certifies."""
        return self.soft_margin_certificate

    @property
    def solution(self) -> NoReturn:
        """Raise ProblemError: no program was solved over the rows."""
        raise aggregates_only_error("a solution")

    @property
    def program(self) -> NoReturn:
        """Raise ProblemError: no program holds the rows."""
        raise aggregates_only_error("a program")

    @property
    def goal(self) -> NoReturn:
        """Raise ProblemError: a goal contains every example."""
        raise aggregates_only_error("a goal")

    @property
    def U(self) -> NoReturn:
        """Raise ProblemError: the margins of members are as long as the rows."""
        raise aggregates_only_error("margins of members")

    @property
    def margins(self) -> NoReturn:
        """Raise ProblemError: margins are as long as the rows."""
        raise aggregates_only_error("margins")

    def thinned(self, k: Any) -> NoReturn:
        """Raise ProblemError: programs over few members are solved in memory."""
        raise aggregates_only_error("few members")

    def __repr__(self) -> str:
        return self._summary(self.run.problem.formulation.name)

    def _repr_html_(self) -> str:
        return self._html_table(f"{self.run.problem.formulation.name}, rows on a cluster", self.nu)


class DistributedMembers(DistributedClass):
    """The votes of an ensemble's members, on a cluster.

    Attributes
    ----------
    rows
        The votes as binned features.
    balance
        The number of positive examples minus the number of negative ones.
    t
        The number of members.
    reflexive
        Whether the negations of members belong to the class.
    """

    reflexive: bool

    def __init__(self, rows: BinnedRows, balance: int, t: int, reflexive: bool) -> None:
        self._set_rows(rows, balance)
        self._t, self.reflexive = t, reflexive

    def hypothesis_of(self, split: Split) -> MatrixColumn:
        return MatrixColumn(split.feature, split.sign)

    def __str__(self) -> str:
        return f"{self._t} members of an ensemble{' and their negations' if self.reflexive else ''}"


def reweight_distributed(
    formulation: Formulation[Any],
    members: Members,
    examples: tuple[Any, Any, Any],
    tol: float | None,
    reflexive: bool,
    parameters: Mapping[str, Any],
) -> DistributedReweighted:
    """Return the members with the weights of a formulation over distributed examples.

    Parameters
    ----------
    formulation
        The formulation.
    members
        The members of the ensemble.
    examples
        Features, labels and multiplicities.
    tol
        The accuracy of the soft margin; 0.001 for None.
    reflexive
        Whether negations of members belong to the class.
    parameters
        The parameters of the formulation.

    Raises
    ------
    ProblemError
        The examples are not distributed, or do not fit the ensemble; or a member has values other than -1 and 1.
    OptionError
        Histogram Newton does not support the formulation or the accuracy.
    """
    epsilon = DEFAULT_TOL if tol is None else tol
    if epsilon < MIN_EPSILON:
        raise OptionError(
            f"on a cluster tol must be at least {MIN_EPSILON:g}, because weights of examples are whole numbers "
            "there; got "
            f"{epsilon:g}. Leave out tol for {DEFAULT_TOL:g}."
        )
    placing = DistributedEncoder(*examples, framed=True)
    if members.labels is None:
        members = members.with_labels_of(np.unique(np.concatenate(placing.blocks.map_labels(_distinct_labels))))
    placing.count(partial(_label_statistics, members.labels))
    rows = sign_rows(placing, members.t, _member_votes, members)
    oracle = DistributedMembers(rows, placing.balance, members.t, reflexive)
    options = BoostOptions()
    try:
        inputs = histogram_inputs(BoostRequest(formulation, oracle, epsilon, parameters, options))
    except OptionError as unfit:
        raise _unsupported_error(formulation, epsilon, f": {str(unfit).partition('.')[0]}") from unfit
    if inputs is None or not isinstance(inputs[1], ExactSoftMargin):
        raise _unsupported_error(formulation, epsilon, "")
    aim = inputs[1]
    run = HistogramRun.solve(*inputs, options)
    w = np.zeros(members.t)
    for hypothesis, weight in zip(run.hypotheses, run.w.tolist(), strict=True):
        if isinstance(hypothesis, MatrixColumn):
            w[hypothesis.q] += hypothesis.sign * weight
    weighted = DistributedReweighted(
        ensemble=members,
        numbers=np.arange(members.t),
        w=w,
        weights_source=PROGRAM_WEIGHTS,
        soft_margin_before=_certified_soft_margin(rows, aim, members.weights),
        soft_margin=run.class_certificate.lower,
        soft_margin_certificate=run.class_certificate,
        majority=oracle.majority,
        run=run,
        nu=float(aim.nu),
    )
    total = oracle.total
    summary = weighted.margin_summary((total + oracle.balance) / (2.0 * total), float(aim.nu) / total)
    warn_about_member_weights([summary], total, "", stacklevel=4)
    return weighted


def _unsupported_error(formulation: Formulation[Any], epsilon: float, why: str) -> OptionError:
    """Return the error for a formulation that histogram Newton does not support."""
    return OptionError(
        "re-weighting on a cluster uses histogram Newton, which supports LPBoost, ERLPBoost and similar programs, with "
        f"no more smoothing than tol = {epsilon:g} needs; it does not support {formulation.name} with these parameters"
        f"{why}. Choose another formulation, leave out eta, or compute X and y."
    )


def _certified_soft_margin(rows: BinnedRows, aim: ExactSoftMargin, w: HypothesisVector) -> float:
    """Return the certified soft margin of weights of members.

    The exact soft margin is that of nearby integer weights. The distance of both weight vectors bounds the
    difference of any margin, so it is subtracted.
    """
    W = integer_weights(w)
    soft_margin = aim.best_lower_bound(rows, rows.margins([Split(q, 0, 1) for q in range(len(w))], W))
    return float_below(
        soft_margin
        - sum(abs(Fraction(x) - Fraction(k, MARGIN_SCALE)) for x, k in zip(w.tolist(), W.tolist(), strict=True))
    )


def _distinct_labels(y: Any, c: Any) -> Array:
    """Return the different labels of some rows."""
    return np.unique(y)


def _label_statistics(labels: Array | None, y: Any, c: Any) -> LabelCounts:
    """Return the aggregates of the labels and multiplicities of some rows."""
    return count_labels(labels_to_signs(labels, y), c)


def _member_votes(members: Members, X: Any, y: Any, c: Any) -> RowBlock:
    """Return the margins of the members on some rows as codes.

    Raises
    ------
    ProblemError
        X does not fit the ensemble, or a member has values other than -1 and 1.
    """
    signs = members.label_signs(y)
    rows, copies = check_multiplicities(c, len(signs))
    U = members.margins(X, signs, rows)
    codes = np.empty((U.t, U.N), np.uint8)
    for q, hypothesis in enumerate(members.hypotheses):
        margins = U.column(q)
        if (strange := np.abs(margins) != 1.0).any():
            raise ProblemError(
                f"on a cluster members must have the values -1 and 1; {hypothesis} has a value of size "
                f"{abs(margins[strange][0]):.6g}. Pass an ensemble of classifiers, or compute X and y."
            )
        np.greater(margins, 0.0, out=codes[q], casting="unsafe")
    return RowBlock(codes, np.ones(U.N, np.int8), None if (copies == 1.0).all() else copies.astype(np.int64))
