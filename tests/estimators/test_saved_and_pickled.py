"""Fitted models can be saved and loaded, pickled and read again, or are refused before the fit."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from support.file_edits import packed, unpacked
from typer.testing import CliRunner

from boostopt import DataError, OptionError, ProblemError, boost, get_formulation
from boostopt.authoring import COUNT, CappedSimplex, CappedSimplexIndicator, parameter, prototype
from boostopt.boosting.run.run import Run
from boostopt.cli import app
from boostopt.estimators import MarginBoostClassifier
from boostopt.oracles import DecisionStumps, GivenMargins, Hypothesis

PAGE = Path(__file__).parents[1] / "prototypes" / "tsallis.py"

rng = np.random.default_rng(3)
X = rng.normal(size=(30, 3))
y = np.where(X[:, 0] + 0.5 * rng.normal(size=30) > 0, 1, -1)

OF_THIS_MODULE = prototype(
    "of this module",
    lambda p, examples: CappedSimplexIndicator(CappedSimplex(examples.c, p.nu)),
    nu=parameter("the least number of examples that share the weight", COUNT),
)


def fitted(formulation: Any, **more: Any) -> MarginBoostClassifier:
    settings: Any = {"nu": 0.5, "epsilon": 0.5, "max_iter": 3, "backend": "interior", **more}
    eta = {"eta": 5.0} if formulation == str(PAGE) else {}
    return MarginBoostClassifier(formulation=formulation, **settings, **eta).fit(X, y)


FORMULATIONS = [str(PAGE), PAGE, OF_THIS_MODULE, "LPBoost", "erlpboost "]


@pytest.mark.every(3)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("formulation", FORMULATIONS, ids=str)
def test_model_files_of_all_statements_of_a_formulation_are_read_again(formulation: Any, tmp_path: Path) -> None:
    backend = "auto" if formulation in (str(PAGE), PAGE) else "interior"
    settings: Any = {"parameters": {"eta": 5.0}} if formulation == PAGE else {}
    model = (
        fitted(formulation, backend=backend, **settings) if formulation != PAGE else fitted(str(PAGE), backend="auto")
    )
    model.save(tmp_path / "model.npz")
    loaded = MarginBoostClassifier.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.formulation == model.run_.record.problem.formulation.name  # and no path, which a fit would run
    assert loaded.certificate_.lower == model.certificate_.lower  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.thorough_cases("page")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("formulation", [str(PAGE), OF_THIS_MODULE], ids=["page", "module"])
def test_a_classifier_of_a_prototype_is_pickled(formulation: Any) -> None:
    model = fitted(formulation, backend="auto")
    assert model.run_.program.margins.N == 30  # what follows from a run is kept in it once asked for
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.certificate_.lower == model.certificate_.lower  # pyright: ignore[reportAttributeAccessIssue]
    assert not hasattr(again, "runs_") and again.oracle_ == model.oracle_
    whole = pickle.loads(pickle.dumps(model.set_params(store_training=True)))
    assert whole.run_.record.problem.formulation.name == model.run_.record.problem.formulation.name
    assert again.set_params(max_iter=2).fit(X, y).n_iter_ >= 1


@pytest.mark.parametrize("base", ["stump", "binned"])
def test_a_pickle_is_as_small_as_a_file_and_copies_keep_the_runs(base: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(3000, 8))
    labels = features[:, 0] + rng.normal(size=3000) > 0
    model: Any = MarginBoostClassifier(base=base, epsilon=0.2, nu=0.5).fit(features, labels)
    model.save(tmp_path / "model.npz")
    text = pickle.dumps(model)
    assert len(text) < 1.5 * (tmp_path / "model.npz").stat().st_size < features.nbytes / 2
    copies: list[Any] = [pickle.loads(text), MarginBoostClassifier.load(tmp_path / "model.npz")]
    for model_copy in copies:
        np.testing.assert_array_equal(model_copy.decision_function(features), model.decision_function(features))
        np.testing.assert_array_equal(model_copy.certificate_.d, model.certificate_.d)
        assert model_copy.certificate_.recorded and model_copy.certificate_.upper == model.certificate_.upper
        twice = pickle.dumps(model_copy)
        assert abs(len(twice) - len(text)) < 1000
        np.testing.assert_array_equal(pickle.loads(twice).certificate_.d, model.certificate_.d)
        with pytest.raises(AttributeError, match="store_training"):
            _ = model_copy.run_
        with pytest.raises(OptionError, match="store_training"):
            model_copy.save_certificate(tmp_path / "proof.json", features, labels)
    for model_copy in (
        copy.copy(model),
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model.set_params(store_training=True))),
    ):
        model_copy.save_certificate(tmp_path / "proof.json", features, labels)
    assert len(pickle.dumps(model)) > features.nbytes / 4


@pytest.mark.thorough
def test_skops_writes_a_pipeline_as_plain_data(tmp_path: Path) -> None:
    library: Any = pytest.importorskip("skops.io")
    pipeline: Any = make_pipeline(StandardScaler(), MarginBoostClassifier(nu=0.5)).fit(X, y)
    library.dump(pipeline, tmp_path / "steps.skops")
    classes = library.get_untrusted_types(file=tmp_path / "steps.skops")
    assert {name.split(".")[0] for name in classes} == {"boostopt"}
    again = library.load(tmp_path / "steps.skops", trusted=classes)
    assert again.decision_function(X).tolist() == pipeline.decision_function(X).tolist()
    assert again[-1].certificate_.lower == pipeline[-1].certificate_.lower and not hasattr(again[-1], "runs_")


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_a_search_in_processes_and_an_unfitted_classifier_are_pickled(n_jobs: int) -> None:
    search = GridSearchCV(MarginBoostClassifier(epsilon=0.3), {"nu": [0.2, 0.5]}, cv=2, n_jobs=n_jobs).fit(X, y)
    assert pickle.loads(pickle.dumps(search)).predict(X).tolist() == search.predict(X).tolist()
    assert pickle.loads(pickle.dumps(MarginBoostClassifier(nu=0.3))).nu == 0.3


@pytest.mark.thorough
def test_a_page_is_read_again_in_another_process(tmp_path: Path) -> None:
    path = tmp_path / "page.pickle"
    path.write_bytes(pickle.dumps([get_formulation(PAGE), get_formulation("lpboost")]))
    code = "import pickle, sys; print([page.name for page in pickle.load(open(sys.argv[1], 'rb'))])"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["['tsallis',", "'lpboost']"]


def test_a_pickled_run_is_the_run() -> None:
    run = boost("erlpboost", DecisionStumps(X, y), nu=10, epsilon=0.3, d0=np.linspace(1, 2, 30) / 45)
    again: Run = pickle.loads(pickle.dumps(run))
    assert again.record.problem.template.examples.d0.tobytes() == run.record.problem.template.examples.d0.tobytes()
    assert (again.certificate.lower == run.certificate.lower and again.class_certificate == run.class_certificate) or (
        str(again.class_certificate) == str(run.class_certificate)
    )
    assert (
        again.record.problem.user_parameters == run.record.problem.user_parameters
        and again.iteration_bound == run.iteration_bound
    )


def test_a_prototype_has_no_path_for_a_name() -> None:
    with pytest.raises(ProblemError, match=r"\bname\b.*'x\.py'"):
        prototype("x.py", lambda p, examples: CappedSimplexIndicator(CappedSimplex(examples.c, 1.0)))


@pytest.mark.parametrize("formulation", ["svm", "qp_reg_adaboost"])
def test_fit_refuses_a_certificate_that_no_file_can_state_before_it_fits(
    formulation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MarginBoostClassifier, "fit", lambda *_: pytest.fail("it was fitted"))
    out = ["--out", str(tmp_path / "m.npz"), "--certificate", str(tmp_path / "c.json")]
    command = ["fit", "--data", "breast_cancer", "--formulation", formulation, *out, "--set", "C=0.1"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 2 and re.search(rf"\b{formulation}\b.*--certificate\b", result.stderr, re.DOTALL)
    assert not list(tmp_path.iterdir())


# Hypotheses


class Threshold(Hypothesis):
    """A class of the user's, of plain numbers."""

    kind = "threshold of a test"

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold

    def __call__(self, X: Any) -> Any:
        return np.where(np.asarray(X)[:, 0] > self.threshold, 1.0, -1.0)

    def __str__(self) -> str:
        return f"x > {self.threshold}"

    def __hash__(self) -> int:
        return hash(self.threshold)

    def __eq__(self, operand: object) -> bool:
        return isinstance(operand, Threshold) and operand.threshold == self.threshold

    def state(self) -> Mapping[str, Any]:
        return {"at": self.threshold}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Hypothesis:
        return cls(float(state["at"]))


class Steeper(Threshold):
    """A class below it, which has more than numbers."""

    kind = "steeper of a test"

    def state(self) -> Mapping[str, Any]:
        return {"at": self.threshold, "more": object()}


class UserHypotheses(GivenMargins):
    """The class of three hypotheses that are made from their columns."""

    def __init__(self, make_hypothesis: Any, X: Any, y: Any, c: Any) -> None:
        super().__init__(y[:, np.newaxis] * np.where(X > np.median(X, axis=0), 1.0, -1.0), c=c)
        self.make_hypothesis = make_hypothesis

    def best(self, query: Any) -> Any:
        answer = super().best(query)
        columns = [
            replace(column, hypothesis=self.make_hypothesis(vars(column.hypothesis)["q"])) for column in answer.columns
        ]
        return replace(answer, columns=tuple(columns))


def user_oracle(make_hypothesis: Any) -> Any:
    """The base of such a class."""
    return lambda X, y, c: UserHypotheses(make_hypothesis, X, y, c)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_hypotheses_of_plain_numbers_are_saved_whatever_their_class(tmp_path: Path) -> None:
    H = np.sign(X)
    model = MarginBoostClassifier("lpboost", 0.5, base=lambda X, y, c: GivenMargins(y[:, np.newaxis] * X, c=c))
    reference = model.fit(H, y)
    reference.save(tmp_path / "given.npz")
    loaded = MarginBoostClassifier.load(tmp_path / "given.npz")
    np.testing.assert_array_equal(loaded.decision_function(H), reference.decision_function(H))

    model_of_thresholds = fitted("lpboost", base=user_oracle(Threshold))
    model_of_thresholds.save(tmp_path / "own.npz")
    loaded = MarginBoostClassifier.load(tmp_path / "own.npz")
    np.testing.assert_array_equal(loaded.decision_function(X), model_of_thresholds.decision_function(X))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_hypotheses_that_are_more_than_numbers_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    bases = (
        (DecisionTreeClassifier(max_depth=1), r"'DecisionTreeClassifier 0'"),
        (user_oracle(Steeper), r"\bobject\b.*\bJSON\b"),
    )
    for base, facts in bases:
        with pytest.raises(OptionError, match=rf"{facts}.*\bpickle\b"):
            fitted("lpboost", base=base).save(tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_unreadable_models_are_not_written(tmp_path: Path) -> None:
    """Parameters within parameters are left out, and names of classes that no file holds are refused."""
    model = fitted("lpboost")
    model.set_params(base_options={"a": {"b": 1}, "c": [1], "d": 2}).save(tmp_path / "model.npz")
    assert MarginBoostClassifier.load(tmp_path / "model.npz").base_options == {"a": None, "c": None, "d": 2}
    model.classes_ = np.array(["a", "b" * (1 << 24)], dtype=object)
    with pytest.raises(OptionError, match=r"\bnames\b.*\bclasses\b.*\bpickle\b"):
        model.save(tmp_path / "other.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]


def test_paths_of_files_that_a_fit_would_execute_are_left_out_and_labels_like_them_are_not(tmp_path: Path) -> None:
    names = np.where(np.asarray(y) > 0, "a.py", "b.py")
    model = MarginBoostClassifier("lpboost", epsilon=0.5, nu=0.5, class_weight={"a.py": 2.0, "b.py": 1.0})
    fitted_model = model.fit(X, names).set_params(base="other.py", backend="other.py")
    fitted_model.save(tmp_path / "model.npz")
    loaded = MarginBoostClassifier.load(tmp_path / "model.npz")
    assert loaded.class_weight == {"a.py": 2.0, "b.py": 1.0} and loaded.base is None and loaded.backend is None
    assert loaded.predict(X).tolist() == fitted_model.predict(X).tolist()


def first_part(description: dict[str, Any]) -> dict[str, Any]:
    return description["parts"][0]


WRONG_VALUES: dict[str, tuple[Any, str]] = {
    "names in one text": (lambda d: d.update(feature_names="abc"), r"\bfeature_names\b.*\blist\b"),
    "names in an object": (lambda d: d.update(feature_names=dict.fromkeys("abc")), r"\bfeature_names\b.*\blist\b"),
    "a name too few": (lambda d: d.update(feature_names=["a", "b"]), r"\bfeature_names\b.* 3 names\b.* 2\b"),
    "infinite nu": (lambda d: d.update(nu=float("inf")), r"\bnu\b.*\(0, 1\].* inf\b"),
    "no features": (lambda d: d.update(features=0), r"\bfeatures\b.*\bat least 1\b"),
    "negative rounds": (lambda d: first_part(d).update(rounds=-3), r"\brounds\b.*\bcount\b"),
    "more rounds than int64": (lambda d: d.update(rounds=2**63), r"\brounds\b.*\bcount\b"),
    "a truth value as majority": (lambda d: first_part(d).update(majority=True), r"\bmajority\b.* -1 or 1\b.* True\b"),
    "parts in an object": (lambda d: d.update(parts={"0": first_part(d)}), r"\bparts\b.*\blist\b"),
    "no certificate": (lambda d: first_part(d).pop("certificate"), r"\bparts\b.* have certificate\b.* none\b"),
    "lower bound nan": (lambda d: first_part(d)["certificate"].update(lower=float("nan")), r"\blower\b.*\bfinite\b"),
    "weights in a list": (lambda d: first_part(d).update(w=[1.0]), r"\bw\b.* array of float64\b.*\[1\.0\]"),
    "triples in a mapping": (
        lambda d: d["parameters"].update(base_options={"mapping": [[1, 2, 3]]}),
        r"\bbase_options\b.*\bpairs\b",
    ),
    "a path as base": (
        lambda d: d["parameters"].update(base="other.py"),
        r"\bbase\b.*\bname\b.*'other\.py', the path of a Python file\b",
    ),
    "a path as backend": (
        lambda d: d["parameters"].update(backend="other.py"),
        r"\bbackend\b.*\bname\b.*'other\.py', the path\b",
    ),
    "a path as formulation": (
        lambda d: d["parameters"].update(formulation="other.py"),
        r"\bformulation\b.*\bname\b.*'other\.py', the path\b",
    ),
    "a mapping as formulation": (
        lambda d: d["parameters"].update(formulation={"mapping": []}),
        r"\bformulation\b.*\btext\b",
    ),
}
"""Edits of the description of a model, and patterns of the message."""


@pytest.fixture(scope="module")
def description_and_arrays(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    path = tmp_path_factory.mktemp("models") / "model.npz"
    MarginBoostClassifier("lpboost", nu=0.5, epsilon=0.5).fit(X, y).save(path)
    return unpacked(path)


@pytest.mark.parametrize("name", WRONG_VALUES)
def test_a_model_file_with_a_value_of_another_type_is_refused(
    name: str, description_and_arrays: tuple[dict[str, Any], dict[str, np.ndarray]], tmp_path: Path
) -> None:
    original, arrays = description_and_arrays
    description, (edit, message), path = copy.deepcopy(original), WRONG_VALUES[name], tmp_path / "model.npz"
    path.write_bytes(packed(description, arrays))
    MarginBoostClassifier.load(path)
    edit(description)
    path.write_bytes(packed(description, arrays))
    with pytest.raises(DataError, match=message):
        MarginBoostClassifier.load(path)


# Certificates


@pytest.mark.thorough
def test_verify_says_which_of_the_two_classes_a_proof_is_of(tmp_path: Path) -> None:
    of_fit, of_run, model = (str(tmp_path / name) for name in ("fit.json", "run.json", "m.npz"))
    data = ["--data", "breast_cancer"]
    fit = CliRunner().invoke(app, ["fit", *data, "--out", model, "--epsilon", "0.5", "--certificate", of_fit])
    assert fit.exit_code == 0, fit.stderr
    run = ["boost", "lpboost", *data, "--nu", "300", "--epsilon", "0.5", "--certificate", of_run]
    assert CliRunner().invoke(app, run).exit_code == 0
    for path, right, hint in (
        (of_fit, ["--classifier"], "pass --classifier"),
        (of_run, [], "leave out --classifier"),
    ):
        options = [] if right else ["--classifier"]
        assert CliRunner().invoke(app, ["verify", path, *data, *right]).exit_code == 0
        result = CliRunner().invoke(app, ["verify", path, *data, *options, "--json"])
        assert result.exit_code == 1 and hint in result.stdout
    result = CliRunner().invoke(app, ["verify", of_fit, "--data", "iris", "--positive", "0", "--json"])
    assert result.exit_code == 1 and "--classifier" not in result.stdout


@pytest.mark.thorough
def test_a_fit_by_histogram_newton_is_pickled_with_its_certificate() -> None:
    model = MarginBoostClassifier(epsilon=0.1, store_training=True).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    certificate: Any = model.certificate_
    loaded_certificate: Any = again.certificate_
    assert np.array_equal(again.predict(X), model.predict(X)) and np.array_equal(again.margins_, model.margins_)
    assert (certificate.lower, certificate.upper) == (
        loaded_certificate.lower,
        loaded_certificate.upper,
    ) and np.array_equal(certificate.d, loaded_certificate.d)
    assert not loaded_certificate.recorded
    folds: Any = cross_validate(MarginBoostClassifier(epsilon=0.3), X, y, cv=3, n_jobs=2, return_estimator=True)
    assert all(estimator.certificate_.gap <= 0.3 for estimator in folds["estimator"])


def test_what_a_file_or_a_pickle_does_not_hold_is_said_with_the_way_to_keep_it(tmp_path: Path) -> None:
    model = MarginBoostClassifier(epsilon=0.2)
    with pytest.raises(AttributeError, match=r"no margins_\. It is not fitted: call fit first"):
        _ = model.margins_
    model.fit(X, y).save(tmp_path / "model.npz")
    loaded, copied = MarginBoostClassifier.load(tmp_path / "model.npz"), pickle.loads(pickle.dumps(model))
    for absent in (loaded, copied):
        for name in ("margins_", "runs_"):
            assert not hasattr(absent, name)
            with pytest.raises(AttributeError, match=rf"no {name}\. .*\bstore_training=True"):
                getattr(absent, name)
    assert str(copied.diagnosis_) == str(model.diagnosis_)
    with pytest.raises(AttributeError, match=r"no diagnosis_\. A file of save does not hold it\. .*\bpickle\b"):
        _ = loaded.diagnosis_
    with pytest.raises(AttributeError, match=r'no nu_scores_\. A fit with nu="auto" sets it'):
        _ = model.nu_scores_
