"""Boosting of numbers with certified residuals, as a regressor with scikit-learn's interface."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from boostopt._utils.array_types import Array, ExampleVector, Float
from boostopt._utils.blas_threads import limit_blas_threads
from boostopt._utils.formatting import format_count, format_interval
from boostopt._utils.validation import check_integer, check_optional, check_positive
from boostopt.boosting.boost_function import boost
from boostopt.boosting.booster_names import resolve_formulation
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.objectives.class_certificate import ClassCertificate
from boostopt.boosting.run.combined_hypothesis import weighted_vote
from boostopt.boosting.run.run import Run
from boostopt.boosting_certificates.feature_name_metadata import feature_metadata
from boostopt.data.source_examples import numbered_features
from boostopt.errors import MarginWarning, OptionError, ProblemError
from boostopt.estimators.binary_model import BinaryModel, combine_opposites
from boostopt.estimators.certificate_of_fit import save_certificate_of_fit
from boostopt.estimators.feature_importances import feature_importances, feature_spreads
from boostopt.estimators.fitted_attributes import fitted_attribute
from boostopt.estimators.numeric_columns import validated_examples, validated_features
from boostopt.estimators.training.binary_fit import PARAMETER_CHECKS, check_share_or_count
from boostopt.estimators.training.convergence_warnings import GAP_REASON
from boostopt.estimators.training.diagnosis import warn_once
from boostopt.estimators.training.training_data import WeightedExamples, weighted_examples
from boostopt.oracles import RegressionStumps
from boostopt.oracles.weight_scaling import MACHINE_EPSILON
from boostopt.programs.formulation import Formulation
from boostopt.programs.formulation_catalogue import default_formulation_name

FORMULATION = default_formulation_name()

CHECKED = ("epsilon", "eta", "parameters", "backend", "max_iter", "time_limit")
"""Parameters that are those of the classifier."""

ROUNDING = 16.0 * MACHINE_EPSILON
"""The rounding of a residual, of its margin and of a prediction, over the largest residual and the middle target."""

CONSTANT_REASON = "One number is predicted for all training examples"
"""The reason of the warning about a constant prediction."""

NEARLY_BEST = 0.9
"""Share of the upper bound from which on a lower bound says that no vote has much smaller residuals."""


@dataclass(frozen=True)
class ResidualInterval:
    """The interval of the least mean of the largest absolute residuals over all votes of the class.

    Attributes
    ----------
    lower
        No vote of the class has a smaller mean.
    upper
        The mean of the fitted vote is at most this.
    nu
        The sum of the weights of the examples whose residuals are averaged; below the weight of one example, the value
        is the largest residual.
    """

    lower: float
    upper: float
    nu: float

    def __str__(self) -> str:
        return (
            f"the least mean of the {self.nu:g} largest absolute residuals lies in "
            f"{format_interval(self.lower, self.upper)}"
        )


@dataclass(eq=False, repr=False)
class MarginBoostRegressor(RegressorMixin, BaseEstimator):
    """A regressor by boosting of decision stumps, with a certificate of the smallest residuals of the class.

    The prediction is m + r f(x), with a vote f of stumps in [-1, 1], the middle m of the targets and the radius r. The
    fit minimizes the mean of the nu largest absolute residuals over all votes, up to the accuracy epsilon. With nu =
    1.0, this is the mean absolute residual; with smaller shares, the loss of nu support vector regression. `interval_`
    contains the smallest mean that any vote of the class has, whatever the solver did. See `RegressionStumps`.

    Parameters
    ----------
    formulation
        The program to boost, whose value over a class is the mean of the nu smallest margins: a name such as
        "erlpboost", "lpboost" or "softboost", the path of a formulation file, or a formulation.
    nu
        The number of examples whose residuals are averaged. A float in (0, 1] is a share of the sum of the weights; a
        whole number is a count, from 1 to this sum.
    epsilon
        The accuracy at which boosting stops, positive, as a share of the largest possible residual.
    eta
        The inverse strength of the entropy, positive; None for the value that gives the accuracy. Formulations without
        this parameter ignore eta.
    radius
        r in half ranges of the targets, positive. It bounds the variation of the prediction. Choose it by
        cross-validation.
    parameters
        Other parameters of the formulation by name, without values of single examples; None for none.
    backend
        The solver: see `list_backends()`.
    max_iter
        The largest number of rounds; None for no limit.
    time_limit
        The largest number of seconds; None for no limit.

    Attributes
    ----------
    interval_
        The interval of the least mean of the nu largest absolute residuals, in the units of y.
    certificate_
        The same as a `ClassCertificate` of the soft margin: minus `residual_scale_` times the soft margin is this mean.
    residual_scale_
        The largest possible residual.
    hypotheses_, weights_
        The stumps of the vote, and their weights, shape (t,), with the sum 1.
    target_scale_
        (m, r).
    run_
        The run. Pickles leave it out, because it grows with the examples.
    feature_importances_
        The share of each feature in the spread of the votes, as for the classifier, shape (features,).
    n_iter_
        The number of rounds.
    n_features_in_, feature_names_in_
        The number of features, and their names if X has any.

    References
    ----------
    Raetsch, Demiriz, Bennett 2002, with the same linear program over ensembles for regression.
    """

    formulation: Any = FORMULATION
    nu: Any = 1.0
    epsilon: Any = 0.01
    eta: Any = None
    radius: Any = 2.0
    parameters: Any = None
    backend: Any = "auto"
    max_iter: Any = 1000
    time_limit: Any = None

    run_ = fitted_attribute(
        "A pickle or a copy holds no run. Read it after the fit, or save it and load it: run_.save(path), "
        "Run.load(path)."
    )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MarginBoostRegressor:
        """Fit the regressor.

        Parameters
        ----------
        X
            Features, shape (N, features), finite; dense or sparse.
        y
            Targets, shape (N,), finite; at least two different ones.
        sample_weight
            Multiplicities, non-negative, shape (N,), 1 by default: an example of weight k counts as k copies.

        Warns
        -----
        ConvergenceWarning
            The run reached a limit, or no further hypothesis helped, before the gap fell below epsilon.
        MarginWarning
            One number is predicted for all training examples, although boosting reached epsilon.

        Raises
        ------
        ValueError
            X, y or the weights are not valid examples, or all targets are equal, or a parameter is out of its range.
        """
        formulation, settings = self._checked_settings()
        features, targets = validated_examples(self, X, y, y_numeric=True)
        with limit_blas_threads():
            examples, targets = self._examples(features, targets, sample_weight)
            oracle, nu, count = self._oracle_and_counts(examples, targets)
            parameters: dict[str, Any] = {**settings["parameters"], "nu": nu}
            if settings["eta"] is not None and "eta" in formulation.parameters:
                parameters["eta"] = settings["eta"]
            _require_mean_of_residuals(formulation, oracle, settings["epsilon"], parameters)
            self.run_: Run = boost(
                formulation,
                oracle,
                epsilon=settings["epsilon"],
                backend=settings["backend"],
                max_rounds=settings["max_iter"],
                time_limit=settings["time_limit"],
                **parameters,
            )
            self.certificate_: ClassCertificate = self.run_.class_certificate
            model = BinaryModel.from_run(self.run_)
            model = replace(model, spreads=feature_spreads(model, examples.X, examples.c))
            self.feature_importances_: Float[Array, " features"] = feature_importances([model], examples.X.shape[1])
        used = np.flatnonzero(self.run_.w)
        self.hypotheses_: tuple[Any, ...] = tuple(self.run_.hypotheses[q] for q in used.tolist())
        self.weights_: ExampleVector = self.run_.w[used]
        self.target_scale_: tuple[float, float] = oracle.target_scale
        self.residual_scale_: float = oracle.residual_scale
        margin = ROUNDING * (self.residual_scale_ + abs(oracle.target_scale[0]))
        self.interval_: ResidualInterval = ResidualInterval(
            max(-self.residual_scale_ * self.certificate_.upper - margin, 0.0),
            -self.residual_scale_ * self.certificate_.lower + margin,
            count,
        )
        self.n_iter_: int = self.run_.rounds
        if not self.certificate_.gap <= settings["epsilon"] + ROUNDING:
            details = (
                f"boosting ended before the gap fell below epsilon = {settings['epsilon']:g} ({self.run_.reason}): "
                f"{self.interval_}. Raise max_iter, time_limit or epsilon."
            )
            warn_once(ConvergenceWarning(f"{GAP_REASON}. See interval_."), details, stacklevel=2)
        elif not self.feature_importances_.any():
            warn_once(MarginWarning(f"{CONSTANT_REASON}. See interval_."), self._constant_details(settings), 2)
        return self

    def predict(self, X: Any) -> ExampleVector:
        """Return the predicted numbers, shape (n,).

        Raises
        ------
        NotFittedError
            The regressor is not fitted.
        ValueError
            X is not a matrix of finite numbers with the features of the fit.
        """
        check_is_fitted(self)
        features = validated_features(self, X)
        centre, radius = self.target_scale_
        return centre + radius * weighted_vote(self.hypotheses_, self.weights_, features)

    def in_words(self, max_hypotheses: int | None = 10) -> list[str]:
        """Return the stumps with the largest weights in words, each after its weight in the units of y.

        A stump adds its weight to the prediction where its value is +1, and subtracts it where its value is -1, from
        the middle `target_scale_[0]` of the targets on.

        Parameters
        ----------
        max_hypotheses
            The number of stumps, at least 1; None for all with a weight.
        """
        check_is_fitted(self)
        max_hypotheses = check_optional(check_integer, "max_hypotheses", max_hypotheses, 1)
        attributes: Any = vars(self)
        names = list(attributes.get("feature_names_in_", numbered_features(attributes["n_features_in_"], None)))
        votes = sorted(combine_opposites(self.hypotheses_, self.weights_), key=lambda vote: -abs(vote[1]))
        unit = self.target_scale_[1] / float(np.abs(self.weights_).sum())
        return [f"{weight * unit:z.4g} {stump.in_words(names)}" for stump, weight in votes[:max_hypotheses]]

    def class_of(self, X: Any, y: Any, sample_weight: Any = None) -> RegressionStumps:
        """Return the oracle that a fit to these examples uses, without fitting: pass it to `boostopt.verify`.

        Raises
        ------
        ValueError
            X, y or the weights are not valid examples, or the radius is out of its range.
        """
        features, targets = validated_examples(clone(self), X, y, y_numeric=True)
        return self._oracle_and_counts(*self._examples(features, targets, sample_weight))[0]

    def save_certificate(self, path: str | PathLike[str], X: Any, y: Any, sample_weight: Any = None) -> None:
        """Save the certificate of the soft margin over the class, with its proof.

        Parameters
        ----------
        path
            The file, JSON text. `boostopt.verify(path, regressor.class_of(X, y))` checks it.
        X, y, sample_weight
            The examples of the fit.

        Raises
        ------
        OptionError
            The examples differ from those of the fit, or the regressor was unpickled, without its run.
        DataError
            The file cannot be written.
        """
        check_is_fitted(self)
        if not hasattr(self, "run_"):
            raise OptionError(
                "a certificate needs the run of a fit; this regressor came from a pickle or a copy, without the "
                "run. Save the certificate after the fit."
            )
        options = feature_metadata(getattr(self, "feature_names_in_", None))
        save_certificate_of_fit(self.run_, path, self.class_of(X, y, sample_weight), options)

    def _constant_details(self, settings: Mapping[str, Any]) -> str:
        """Return the text of the warning about a fit that predicts one number, with what to change."""
        interval, epsilon = self.interval_, settings["epsilon"]
        if interval.lower >= NEARLY_BEST * interval.upper:
            advice = f"raise radius = {self.radius:g}, or add features: no vote of the class has much smaller residuals"
        else:
            advice = (
                f"lower epsilon = {epsilon:g}, which is {epsilon * self.residual_scale_:.3g} in the units of y, or "
                f"lower radius = {self.radius:g}"
            )
        return f"one number is predicted for all training examples: {interval}. {advice[:1].upper()}{advice[1:]}."

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "run_"}

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _checked_settings(self) -> tuple[Formulation[Any], dict[str, Any]]:
        """Return the formulation and the checked parameters."""
        formulation = resolve_formulation(self.formulation)
        settings: dict[str, Any] = {name: PARAMETER_CHECKS[name](name, getattr(self, name)) for name in CHECKED}
        if "nu" not in formulation.parameters or formulation.columns is not None:
            raise OptionError(
                "expected a formulation with the parameter nu over all hypotheses, such as erlpboost, lpboost or "
                f"softboost; got {formulation.name}. Set formulation to one of them."
            )
        numbers = formulation.parameters.keys() - {"nu", "eta", "epsilon"} - formulation.example_parameters
        for name in settings["parameters"]:
            if name not in numbers:
                raise OptionError(
                    f"parameters must hold numbers of {formulation.name} other than nu, eta and epsilon, among "
                    f"{', '.join(sorted(numbers)) or 'none'}; got {name}. Leave it out."
                )
        return formulation, settings

    def _examples(self, features: Any, targets: Any, sample_weight: Any) -> tuple[WeightedExamples, ExampleVector]:
        """Return the different examples in a canonical order, and their targets.

        Raises
        ------
        ProblemError
            All targets are equal.
        """
        y = np.asarray(targets, dtype=np.float64)
        has_weight = np.ones(len(y), dtype=bool)
        weights = None if sample_weight is None else np.asarray(sample_weight)
        if weights is not None and weights.shape == y.shape:
            has_weight = weights != 0
        used = y[has_weight]
        if used.size and used.min() == used.max():
            raise ProblemError(
                f"the targets y must be different numbers; got {format_count(len(used), 'sample')} with the target "
                f"{used[0]:g}. Add others: equal targets need no fit."
            )
        examples = weighted_examples(features, y, sample_weight).merged()
        return examples, examples.classes[examples.codes]

    def _oracle_and_counts(
        self, examples: WeightedExamples, targets: ExampleVector
    ) -> tuple[RegressionStumps, float, float]:
        """Return the class over the examples, nu for these, and nu in the given weights.

        Weights below 1 are scaled if nu is less than one example: caps c / nu of at least 1 do not bind, so that the
        value is the largest residual, as the mean of less than one example is.
        """
        radius = check_positive("radius", self.radius)
        c, total = examples.c, float(examples.c.sum())
        expected = "a float in (0, 1], a share of the sum of the weights, or a whole number of examples, at least 1"
        nu = check_share_or_count("nu", self.nu, expected, lambda share: 0.0 < share <= 1.0)
        if isinstance(nu, int) and nu > total * (1.0 + len(c) * ROUNDING):
            raise ProblemError(
                f"nu must be at most the sum of the weights, {total:g}; got {nu}. Pass a smaller one, or a share."
            )
        count = min(float(nu), total) if isinstance(nu, int) else nu * total
        if count < 1.0 and (smallest := float(c.min())) < 1.0:
            factor = 2.0 ** (1 - math.frexp(smallest)[1])  # an exact power of 2
            c, scaled_count = c * factor, max(count * factor, 1.0)
        else:
            scaled_count = max(count, 1.0)
        return RegressionStumps(examples.X, targets, c, radius), scaled_count, count


def _require_mean_of_residuals(
    formulation: Formulation[Any], oracle: RegressionStumps, epsilon: float, parameters: Mapping[str, Any]
) -> None:
    """Raise OptionError unless the value over the class is the mean of the nu smallest margins."""
    objective = Problem.create(formulation, oracle.c, None, epsilon, None, parameters).objective
    caps = None if objective is None else objective.F0.soft_margin_caps
    if caps is None or not np.allclose(caps, oracle.c / parameters["nu"], rtol=4.0 * MACHINE_EPSILON, atol=0.0):
        raise OptionError(
            f"expected a formulation whose value over a class is the mean of the nu smallest margins, such as lpboost "
            f"or erlpboost; {formulation.name} has another value. Choose one, or call boost with RegressionStumps."
        )
