"""Boosting with a certified soft margin, as a classifier with scikit-learn's interface."""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from boostopt._utils.array_types import is_dask_collection
from boostopt._utils.blas_threads import limit_blas_threads
from boostopt.backends.base import Deadline
from boostopt.boosting.booster_names import resolve_formulation
from boostopt.boosting.boosting_problem import rows_left_out
from boostopt.boosting.run.combined_hypothesis import ZERO_TOL
from boostopt.boosting.run.run import Run
from boostopt.boosting.run.run_file import remove_partial_files
from boostopt.boosting_certificates.feature_name_metadata import feature_metadata
from boostopt.errors import DataError, OptionError
from boostopt.estimators.binary_model import BinaryModel
from boostopt.estimators.certificate_of_fit import save_certificate_of_fit
from boostopt.estimators.feature_importances import distributed_feature_spreads, feature_spreads
from boostopt.estimators.model_files import load, save
from boostopt.estimators.numeric_columns import validated_examples
from boostopt.estimators.prediction import BoostedClassifier
from boostopt.estimators.probability_calibration import ProbabilityMixin, fit_sigmoids
from boostopt.estimators.training.binary_fit import MARGIN, PARAMETER_CHECKS, FitSettings, check_boolean
from boostopt.estimators.training.convergence_warnings import convergence_findings
from boostopt.estimators.training.dask_collections import UNSUPPORTED_PARAMETERS, distributed_class_of, fit_distributed
from boostopt.estimators.training.diagnosis import Diagnosis
from boostopt.estimators.training.margin_summary import find_contradiction
from boostopt.estimators.training.nu_by_cross_validation import cross_validate_nu
from boostopt.estimators.training.nu_by_margin import FIRST_NU, choose_nu_by_margin, share_of_checkpoint
from boostopt.estimators.training.one_vs_rest import (
    checkpoint_paths,
    fit_classes,
    loop_thread_count,
    positive_class_index,
    process_count,
)
from boostopt.estimators.training.training_data import OracleCache, WeightedExamples, merge_examples
from boostopt.estimators.training.validation_set import ValidationSet, split_validation_set
from boostopt.programs.formulation_catalogue import default_formulation_name
from boostopt.rows.loop_selection import limit_loop_threads

FORMULATION = default_formulation_name()

FITTED_IN_MEMORY = ("margins_", "feature_names_in_", "nus_", "nu_scores_", "validation_score_", "sigmoids_")
"""Attributes that a fit to distributed rows does not set, or not always."""


TRAINING_ATTRIBUTES = ("runs_", "margins_")
"""Attributes that grow with the training examples; pickles leave them out by default."""


@dataclass(eq=False, repr=False)
class MarginBoostClassifier(ProbabilityMixin, BoostedClassifier):
    """A classifier by boosting to a large soft margin, with a certificate of the largest soft margin of the class.

    The decision function f(x) = sum_q w_q h_q(x) / sum |w| lies in [-1, 1]. With two classes, f is positive for the
    second class. With more than two classes, the classifier learns each class against the rest and predicts the class
    with the largest f. The order of the examples does not matter if the program is symmetric in the examples, as those
    of `list_formulations()` are. If it may not be (`is_symmetric` of the formulation), the fit keeps the rows as they
    are; examples of weight 0 are left out, with their values of parameters. Over stumps with whole weights, the fit
    spends what a run leaves of epsilon on a smaller logistic loss; the certificate holds for the final weights.

    Parameters
    ----------
    formulation
        The program to boost: a name from `list_formulations()`, the path of a formulation file, or a formulation; or
        the name of a booster of `boost` that states no program, such as "smoothboost".
    nu
        The smallest number of examples that share the weight. The soft margin is the mean of the nu smallest margins. A
        float in (0, 1] is a share of the sum of the weights. A whole number is a count, from 1 to this sum. "margin"
        chooses the smallest of a few shares at which a soft margin above that of f = 0 is proved, by bisection: 0.1,
        and 0.3, 0.4, 0.5, 0.6, 0.7, 0.85 and 1 times the largest nu that gives up no class. If nothing is proved for
        two classes over stumps with whole weights up to 0.85 times, nu is half of the largest, and the votes are near
        f = 0. Other fits of two classes have at last 1.25 times, where the model is nearly the constant prediction. A
        fit with `warm_start` keeps the nu of the fit before. "auto" chooses a share by cross-validation, among 0.1, 0.3
        and 1 times the largest nu that gives up no class, and the geometric means of the best of these and its
        neighbours: the smallest whose `scoring` is at most one standard error below the highest. For other values, use
        `GridSearchCV`. `time_limit` then holds for each fit. Formulations without this parameter ignore nu.
    epsilon
        The accuracy of the soft margin at which boosting stops, positive.
    eta
        The inverse strength of the entropy, positive; None for the value that gives the accuracy. Formulations without
        this parameter ignore eta.
    base
        The class of hypotheses, in one of four forms. A name: "stump" for decision stumps, "binned" for stumps at few
        thresholds, "tree2" for decision trees of depth two at few thresholds, "feature" for the features themselves,
        "kernel" for kernel values with a training example, or "rbf" for RBF networks with adaptive centres. An unfitted
        classifier with scikit-learn's interface. A function of (X, y, c), which are features, labels -1 and 1 and
        multiplicities, that returns an oracle. The path of a Python file that defines one class of oracles with these
        arguments.
    reflexive
        Whether the negation of each hypothesis belongs to the class. If base is a function, the function decides this.
    final_weights
        "program", "lp" or "scaled": see `boost`. The formulation sets the default.
    backend
        The backend that solves the programs, as in `solve`.
    max_iter
        The largest number of rounds, at least 1; None for no limit.
    time_limit
        The limit on the time of boosting in seconds, None for no limit. With more than two classes, each run gets an
        equal share. With nu="margin" all shares together have this time.
    random_state
        The seed of hypotheses that are fitted, as in scikit-learn; None for the same seed in each fit.
    class_weight
        None, a mapping from labels to positive numbers by which the weights are multiplied, or "balanced" for numbers
        that give each class the same total.
    warm_start
        Whether a further fit continues from the hypotheses of the last fit. It needs the same examples, weights, base,
        reflexive and intercept.
    n_jobs
        The number of processes for the runs of more than two classes, and for the folds of nu="auto", as in joblib; and
        the largest number of threads of compiled loops over rows in a single process. None for the number of processes
        of joblib's context and two threads at most, 1 for one of each, -1 for as many as cores. No number changes a
        result.
    checkpoint
        The file in which each run is stored while it continues. If the file exists, the next fit continues from it.
        With more than two classes, there is one file for each class, with the number of the class after the name. None
        for no file. With nu="margin" or "auto" the file is that of the last fit, with the chosen nu. If it exists,
        nu="margin" keeps its share without a search, also if limits have changed.
    early_stopping
        Whether boosting stops when it no longer improves on held-out examples. Rounds are then steps of few hypotheses,
        never histogram Newton. With more than two classes, each run stops by itself.
    validation_fraction
        The held-out examples: a float in (0, 1) is a share of the examples, a whole number is a count, and the classes
        keep their proportions. None to stop by the training examples. Each held-out example counts once.
    n_iter_no_change
        Boosting stops after this number of rounds without a smaller error on the held-out examples, at least 1.
    parameters
        Further parameters of the formulation by name, such as {"C": 0.1}. A parameter with one value an example has the
        shape (N,), in the order of the rows of X; see also `fit`.
    base_options
        Further arguments of the oracle of the base by name, such as {"kernel": "rbf", "gamma": 0.5}.
    intercept
        Whether the constant hypotheses also belong to the class. If base is a function, the function decides this.
    probability
        Whether the classifier has `predict_proba`: a sigmoid of f that scikit-learn fits to the held-out parts of five
        folds (`CalibratedClassifierCV`). The classifier is then fitted six more times.
    scoring
        The score by which nu="auto" compares values of nu, by scikit-learn's name: "accuracy", "balanced_accuracy",
        "roc_auc", "average_precision" or "neg_log_loss". The held-out examples count with their weights. With more than
        two classes, "roc_auc" and "average_precision" are means over the classes, each against the rest.
    store_training
        Whether a pickle of the classifier holds its runs, and with them the training examples. By default a pickle is
        as small as a file of `save`, and the unpickled classifier is as `load` returns it. Copies keep the runs.
    verbose
        The `progress` of `boost`: see `boostopt.estimators`.

    Attributes
    ----------
    classes_
        The labels, ascending, shape (classes,).
    runs_
        A tuple of the runs: one run for two classes; with more classes, the run of each class against the rest.
    margins_
        The margins y f(x) of the training examples in the given order, shape (N,). With more than two classes, the
        shape is (N, classes), and y = 1 for the examples of the class and -1 for the rest. An example of weight 0 has
        nan if its class is not in `classes_`.
    sigmoids_
        With `probability`, the numbers a and b of the sigmoid 1 / (1 + exp(a f + b)) behind `predict_proba`: shape
        (1, 2), or (classes, 2) with more than two classes.
    n_iter_
        The number of rounds of the longest run; 0 if a further fit with `warm_start` needed none.
    validation_score_
        With `early_stopping`, the share of the held-out examples that is predicted correctly after each round, shape
        (rounds,). With more than two classes, a list of such arrays, one for each class against the rest.
    nu_
        The nu of the fit.
    nus_, nu_scores_
        With nu="auto", the values that were tried, shape (k,), and the score of each on held-out examples, shape (k,).
    diagnosis_
        The causes of the warnings of the fit, with all numbers: its `findings`, and `summaries` of the runs. `str` has
        the texts, and a notebook shows a table. A classifier of `load` has none.
    n_features_in_
        The number of features.
    feature_names_in_
        The names of the features, if X had any.
    zero_based_
        Whether the index of the first feature is 0 or 1 in the svmlight text that the command line fitted the
        classifier to. Other classifiers do not have it.
    """

    # Any, and not int and float: scikit-learn sets parameters to any value, and fit checks them.
    formulation: Any = FORMULATION
    nu: Any = MARGIN
    epsilon: Any = 0.01
    eta: Any = None
    base: Any = "stump"
    reflexive: Any = True
    final_weights: Any = None
    backend: Any = "auto"
    max_iter: Any = 1000
    time_limit: Any = None
    random_state: Any = None
    class_weight: Any = None
    warm_start: Any = False
    n_jobs: Any = None
    checkpoint: Any = None
    early_stopping: Any = False
    validation_fraction: Any = 0.1
    n_iter_no_change: Any = 10
    parameters: Any = None
    base_options: Any = None
    intercept: Any = True
    probability: Any = False
    scoring: Any = "accuracy"
    store_training: Any = False
    verbose: Any = False

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **per_example: Any) -> MarginBoostClassifier:
        """Fit the classifier.

        Parameters
        ----------
        X
            Features, shape (N, features), finite; dense or sparse. With base="binned", X may also be a `dask.array` or
            a `dask.dataframe`, whose rows stay on the cluster of the default client: see `BinnedStumps`.
        y
            Labels, shape (N,), at least two different ones. For a data frame on a cluster, y may also be the name of a
            column.
        sample_weight
            Multiplicities, non-negative, shape (N,), 1 by default: see `boostopt.estimators`. On a cluster they must be
            whole numbers.
        **per_example
            Parameters of the formulation with one value an example, by name, each of shape (N,). `parameters` takes
            them too; scikit-learn's searches and cross-validation split only those that are passed here.

        Warnings have one line, the same for the same reason; `diagnosis_` has the numbers, and what to do.

        Warns
        -----
        ConvergenceWarning
            The run reached the limit on rounds or on time before a stopping rule held, or no further hypothesis helped
            before the gap fell below epsilon.
        MarginWarning
            The soft margin is not proved to be above that of f = 0; or f = 0 on most examples; or nu is more than twice
            the share of the smaller of two classes, so that a constant prediction has a soft margin above 0.

        Raises
        ------
        ValueError
            X, y or the weights are not valid examples, or a parameter is out of its range.
        KeyboardInterrupt
            The user stopped a run. With a checkpoint, the file holds the run up to this point.
        """
        settings = self._validated_settings(per_example)
        if settings.checkpoint is not None:  # found before the choice of nu, which writes no file
            remove_partial_files(settings.checkpoint)
        vars(self).pop("zero_based_", None)  # of an earlier fit
        if is_dask_collection(X):
            return self._fit_on_cluster(settings, X, y, sample_weight)
        features, labels = validated_examples(self, X, y)
        with limit_blas_threads(), limit_loop_threads(loop_thread_count(settings)):
            examples, validation_set = self._split(settings, features, labels, sample_weight)
            with rows_left_out(settings.formulation, len(examples.c), len(labels)):
                settings, runs = self._fit_runs(settings, examples, validation_set)
            self._set_fitted_attributes(runs, examples.classes)
            self._scorers = tuple(
                replace(scorer, spreads=feature_spreads(scorer, examples.X, examples.c)) for scorer in self._scorers
            )
            f = self._decision_values(features)
        vars(self).pop("validation_score_", None)
        if validation_set is not None:
            scores = [1.0 - run.trace["test_error"] for run in self.runs_]
            self.validation_score_: Any = scores[0] if len(scores) == 1 else scores
        is_class = labels[:, np.newaxis] == self.classes_
        is_labelled = is_class.any(axis=1, keepdims=True)  # False for a label that only examples of weight 0 have
        signs = np.where(is_labelled, np.where(is_class, 1.0, -1.0), np.nan)
        self.margins_: Any = (signs[:, -1] if f.ndim == 1 else signs) * f
        vars(self).pop("sigmoids_", None)
        if settings.probability:
            self.sigmoids_: Any = fit_sigmoids(self, features, labels, sample_weight, settings.values_of(len(labels)))
        shares = np.bincount(examples.codes, examples.c) / examples.c.sum()
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        predicted = self._predict_labels(f)
        recalls = [
            float(np.average(predicted[rows] == label, weights=None if weights is None else weights[rows]))
            for label, rows in zip(self.classes_, is_class.T, strict=True)
        ]
        zero_fractions = np.atleast_1d(np.average(np.abs(f) <= ZERO_TOL, axis=0, weights=weights))
        self.diagnosis_: Diagnosis = settings.diagnose(
            self.runs_,
            self.classes_.tolist(),
            shares.tolist(),
            zero_fractions.tolist(),
            recalls,
            np.unique(predicted).tolist(),
            convergence_findings(settings, self.runs_, self.classes_.tolist()),
            self.nu,
            partial(find_contradiction, features, labels, weights, examples),
        )
        self.diagnosis_.issue_warnings(stacklevel=2)
        return self

    def _fit_runs(
        self, settings: FitSettings, examples: WeightedExamples, validation_set: ValidationSet | None
    ) -> tuple[FitSettings, tuple[Run, ...]]:
        """Return the settings with a number as nu, and the runs; set the attributes about nu."""
        previous_runs, is_nu_chosen = self._warm_start_runs(examples.classes), settings.chooses_nu
        for name in ("nus_", "nu_scores_"):  # of an earlier fit
            vars(self).pop(name, None)
        if settings.chooses_nu:
            nu_scores = cross_validate_nu(settings, examples)
            self.nus_: Any = nu_scores.nus
            self.nu_scores_: Any = nu_scores.scores
            settings = replace(settings, nu=nu_scores.best_nu)
        elif settings.nu == MARGIN and previous_runs[0] is not None:
            settings = replace(settings, nu=self.nu_)
        runs: tuple[Run, ...] | None = None
        shares = examples.class_shares()
        if settings.nu == MARGIN and settings.checkpoint is not None:
            files = checkpoint_paths(settings.checkpoint, len(previous_runs))
            settings = replace(settings, nu=share_of_checkpoint(settings, examples, shares, files) or MARGIN)
        if settings.nu == MARGIN:
            is_nu_chosen = True
            # Runs of other processes come without the rows that a refinement needs; others wait for the chosen nu.
            is_local = len(previous_runs) == 1 or process_count(settings) == 1
            unsaved = replace(settings, checkpoint=None, needs_refinement=not is_local)  # a file belongs to one nu
            cache, deadline = OracleCache(), Deadline.after(settings.time_limit)
            selection, runs = choose_nu_by_margin(
                unsaved,
                lambda trial: fit_classes(trial, examples, previous_runs, validation_set, cache),
                lambda trial_runs: trial_runs,
                shares,
            )
            settings = replace(settings, nu=selection.nu)
            if is_local:
                runs = tuple(settings.refine(run, deadline, len(runs) > 1) for run in runs)
        self.nu_: Any = settings.nu
        if runs is not None and settings.checkpoint is None:
            return settings, runs
        try:
            return settings, fit_classes(settings, examples, previous_runs, validation_set)
        except DataError as failure:
            if not is_nu_chosen:
                raise
            raise DataError(
                f"{failure} This fit chose the share {settings.nu:.12g} by nu={self.nu!r}: other limits, examples or "
                "parameters may choose another one. To continue a fit with its share, pass it as nu."
            ) from failure

    def _fit_on_cluster(self, settings: FitSettings, X: Any, y: Any, sample_weight: Any) -> MarginBoostClassifier:
        """Fit the classifier to distributed rows."""
        for name in settings.formulation.example_parameters & settings.parameters.keys():
            raise OptionError(
                f"{name} has one value an example, which needs rows in memory; got rows on a cluster. Load the rows "
                "into memory: X.compute(), y.compute()."
            )
        if settings.chooses_nu:
            raise OptionError("nu='auto' needs rows in memory; got rows on a cluster. Set nu to a number.")
        unsupported_values = self._unsupported_values()
        if settings.nu == MARGIN:
            start, deadline = time.monotonic(), Deadline.after(settings.time_limit)
            unsaved = replace(settings, checkpoint=None, needs_refinement=False)
            # A fit tells the weight fractions of the classes, on which the shares depend.
            first = fit_distributed(replace(unsaved, nu=FIRST_NU), unsupported_values, X, y, sample_weight)
            selection, result = choose_nu_by_margin(
                unsaved,
                lambda trial: fit_distributed(trial, unsupported_values, X, y, sample_weight),
                lambda trial_fit: trial_fit.runs,
                [first.shares],
                first,
                start,
            )
            settings = replace(settings, nu=selection.nu)
            runs = tuple(settings.refine(run, deadline, len(result.runs) > 1) for run in result.runs)
            result = replace(result, runs=runs)
        else:
            result = None
        if result is None or settings.checkpoint is not None:
            result = fit_distributed(settings, unsupported_values, X, y, sample_weight)
        self.nu_ = settings.nu
        for name in FITTED_IN_MEMORY:  # of an earlier fit
            vars(self).pop(name, None)
        self.n_features_in_: int = result.features
        if result.names is not None:
            self.feature_names_in_: npt.NDArray[Any] = result.names
        self._set_fitted_attributes(result.runs, result.classes)
        self._scorers = tuple(
            replace(scorer, spreads=distributed_feature_spreads(scorer, oracle, result.features))
            for scorer, oracle in zip(self._scorers, result.oracles, strict=True)
        )
        classes: list[Any] = self.classes_.tolist()
        findings = convergence_findings(settings, self.runs_, classes)
        self.diagnosis_ = settings.diagnose(self.runs_, classes, result.shares, findings=findings, nu_parameter=self.nu)
        self.diagnosis_.issue_warnings(stacklevel=3)
        return self

    def _unsupported_values(self) -> dict[str, Any]:
        """Return the values of the parameters that rows on a cluster do not support."""
        return {name: getattr(self, name) for name in UNSUPPORTED_PARAMETERS}

    def _split(
        self, settings: FitSettings, features: Any, labels: Any, sample_weight: Any
    ) -> tuple[WeightedExamples, ValidationSet | None]:
        """Return the training examples with their weights, and the validation set or None."""
        values, validation_set = settings.values_of(len(labels)), None
        if settings.early_stopping:
            rows, validation_set = split_validation_set(
                features, labels, sample_weight, settings.validation_fraction, settings.seed
            )
            features, labels = features[rows], labels[rows]
            sample_weight = None if sample_weight is None else np.asarray(sample_weight)[rows]
            values = {name: value[rows] for name, value in values.items()}
        examples = merge_examples(features, labels, sample_weight, values)
        return settings.examples(examples).with_class_weight(self.class_weight), validation_set

    def _set_fitted_attributes(self, runs: tuple[Run, ...], classes: npt.NDArray[Any]) -> None:
        """Set the fitted attributes from the runs."""
        self.runs_: tuple[Run, ...] = runs
        self.classes_: npt.NDArray[Any] = classes
        self._scorers = tuple(map(BinaryModel.from_run, runs))
        self.n_iter_: int = max(run.rounds for run in runs)

    def class_of(self, X: Any, y: Any, sample_weight: Any = None, label: Any = None, **per_example: Any) -> Any:
        """Return the oracle that a fit to these examples uses, without fitting; for rows on a cluster the class there.

        Pass it to `boostopt.verify` to check a certificate of `save_certificate`. The classifier needs the same
        formulation, nu, base, base_options, reflexive, intercept and class_weight as the fitted one, and the same
        parameters with one value an example. With `early_stopping`, it also needs the same random_state, a number or
        None, and the same validation_fraction.

        Parameters
        ----------
        X, y, sample_weight, **per_example
            As in `fit`.
        label
            With more than two classes, the class that the run separates from the rest.

        Raises
        ------
        ValueError
            X, y or the weights are not valid examples, or a parameter is out of its range.
        OptionError
            There are more than two classes and no label, or the label is none of the classes.
        """
        if is_dask_collection(X):
            settings = self._validated_settings(per_example)
            return distributed_class_of(settings, self._unsupported_values(), X, y, sample_weight, label)
        features, labels = validated_examples(clone(self), X, y)
        settings = self._validated_settings(per_example)
        # The oracle is the same for all shares, unless a share is less than one example: c is then scaled.
        settings = replace(settings, nu=getattr(self, "nu_", FIRST_NU)) if settings.needs_number else settings
        examples, _ = self._split(settings, features, labels, sample_weight)
        return settings.oracle_and_parameters(examples, positive_class_index(examples.classes, label))[0]

    def save_certificate(
        self,
        path: str | PathLike[str],
        X: Any,
        y: Any,
        sample_weight: Any = None,
        label: Any = None,
        **per_example: Any,
    ) -> None:
        """Save the certificate of the soft margin over the whole class of hypotheses, with its proof.

        Parameters
        ----------
        path
            The file, JSON text. `boostopt.verify(path, classifier.class_of(X, y))` checks it.
        X, y, sample_weight, **per_example
            The examples that the classifier was fitted to, as in `fit`.
        label
            With more than two classes, the class whose certificate is saved.

        Raises
        ------
        OptionError
            The examples differ from those of the fit; or the formulation has no soft margin; or the classifier was
            loaded from a file, which holds no run; or there are more than two classes and no label.
        ProblemError
            F or G has no closed forms (a description).
        DataError
            The file cannot be written.
        """
        check_is_fitted(self)
        if not hasattr(self, "runs_"):
            raise OptionError(
                "a certificate needs the run of a fit; this one came from a file or a pickle, which holds "
                "no run. Save the certificate after the fit, or fit with store_training=True."
            )
        k = positive_class_index(self.classes_, label)
        run = self.runs_[0 if len(self.runs_) == 1 else k]
        options = feature_metadata(getattr(self, "feature_names_in_", None))
        save_certificate_of_fit(run, path, self.class_of(X, y, sample_weight, label, **per_example), options)

    def save(self, path: str | PathLike[str]) -> None:
        """Save the classifier to a model file of plain numbers, without pickle: see `load`.

        Raises
        ------
        OptionError
            The hypotheses or the labels are not plain numbers and texts; fitted estimators are an example.
        DataError
            The file cannot be written.
        """
        check_is_fitted(self)
        save(self, self._scorers, path)

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes for pickle: without runs and training examples, unless `store_training` keeps them."""
        state: Any = super().__getstate__()
        if self.store_training or "_scorers" not in state:
            return state
        state = {name: value for name, value in state.items() if name not in TRAINING_ATTRIBUTES}
        return {**state, "_scorers": tuple(scorer.without_run() for scorer in self._scorers)}

    def __copy__(self) -> MarginBoostClassifier:
        """Return a copy with the same runs."""
        duplicate = type(self).__new__(type(self))
        vars(duplicate).update(vars(self))
        return duplicate

    def __deepcopy__(self, memo: dict[int, Any]) -> MarginBoostClassifier:
        """Return a copy with copies of the runs."""
        memo[id(self)] = duplicate = type(self).__new__(type(self))
        vars(duplicate).update(copy.deepcopy(vars(self), memo))
        return duplicate

    @classmethod
    def load(cls, path: str | PathLike[str]) -> MarginBoostClassifier:
        """Return the classifier in a model file, whose predictions equal those of the saved one to the last bit.

        The classifier has `classes_`, `certificate_` as it was recorded, `oracle_`, `n_iter_`, `nu_`, the names of the
        features, the parameters, and `predict_proba` if the saved classifier had it. It has no runs; save a run by
        `run_.save`. Nothing in the file is executed.

        Raises
        ------
        DataError
            The file does not exist, is not a model file, was written by another version, or is damaged.
        """
        contents = load(path, cls._get_param_names())
        model = cls(**contents.parameters)
        vars(model).update(contents.attributes)
        model._scorers = contents.scorers
        return model

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()
        is_estimator = hasattr(self.base, "fit") and not isinstance(self.base, type)
        tags.input_tags.sparse = get_tags(self.base).input_tags.sparse if is_estimator else True
        return tags

    def _validated_settings(self, per_example: Mapping[str, Any]) -> FitSettings:
        """Return the checked settings, with the per-example parameters of the formulation."""
        check_boolean("warm_start", self.warm_start)
        values = {name: getattr(self, name) for name in PARAMETER_CHECKS} | self._parameters_with(per_example)
        formulation, seed = resolve_formulation(self.formulation), _integer_seed(self.random_state)
        settings = FitSettings.from_parameters(formulation, seed, values)
        for name in per_example.keys() - settings.formulation.example_parameters:
            raise OptionError(
                f"fit takes parameters with one value an example; got {name}, which has one value. Pass "
                f"parameters={{{name!r}: ...}}."
            )
        return settings

    def _parameters_with(self, per_example: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of the formulation with those that were passed to `fit`."""
        parameters: Any = self.parameters or {}
        if not per_example or not isinstance(parameters, Mapping):  # `FitSettings` refuses other types
            return {}
        stored_parameters: Mapping[str, Any] = parameters
        for name in per_example:
            if stored_parameters.get(name) is not None:
                raise OptionError(
                    f"{name} must be passed once; got it in parameters and in fit. Leave out one of both."
                )
        return {"parameters": {**stored_parameters, **per_example}}

    def _warm_start_runs(self, classes: npt.NDArray[Any]) -> Sequence[Run | None]:
        """Return the runs that a warm start continues, None for classes without one."""
        if not self.warm_start or not hasattr(self, "classes_"):
            return [None] * (1 if len(classes) == 2 else len(classes))
        if not np.array_equal(classes, self.classes_):
            raise OptionError(
                f"warm_start continues the runs of the last fit, so it needs the classes {self.classes_.tolist()}; got "
                f"{classes.tolist()}. Fit a clone, or set warm_start=False."
            )
        if not hasattr(self, "runs_"):
            raise OptionError(
                "warm_start continues the runs of the last fit; this one came from a file or a pickle, which "
                "holds no runs. Set warm_start=False, or fit with store_training=True."
            )
        return self.runs_


def _integer_seed(random_state: Any) -> int | None:
    """Return the seed of random draws; None for the oracle's default seed."""
    generator = None if random_state is None else check_random_state(random_state)
    if generator is None:
        return None
    # The oracle gets a whole number unchanged, so that `boost` with the same seed gives the same run.
    return int(random_state) if isinstance(random_state, Integral) else int(generator.randint(2**31 - 1))
