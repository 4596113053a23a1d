"""The proof of a classifier travels: written with the fit, verified by whoever has the examples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostopt import verify
from boostopt.errors import OptionError
from boostopt.estimators import MarginBoostClassifier
from boostopt.oracles import Stump

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(60, 4)).round(1)
y = np.where(X[:, 0] + 0.5 * X[:, 1] + 0.3 * RNG.normal(size=60) > 0, "yes", "no")
THREE = np.digitize(X[:, 2] + 0.2 * RNG.normal(size=60), (-0.3, 0.3))


def classifier(**parameters: Any) -> MarginBoostClassifier:
    return MarginBoostClassifier(**{"epsilon": 0.1, **parameters})


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"base": "feature"},
        {"intercept": False},
        {"reflexive": False},
        {"class_weight": "balanced"},
        {"formulation": "lpboost", "nu": 6},
        {"formulation": "softboost"},
    ],
    ids=str,
)
def test_the_certificate_of_a_fit_is_verified_over_its_examples(parameters: dict[str, Any], tmp_path: Path) -> None:
    path, weights = tmp_path / "proof.json", RNG.integers(0, 4, len(y))
    model = classifier(**parameters).fit(X, y, sample_weight=weights)
    model.save_certificate(path, X, y, sample_weight=weights)
    order = RNG.permutation(len(y))  # the class is that of the examples, in whatever order
    verification = verify(path, classifier(**parameters).class_of(X[order], y[order], weights[order]))
    assert verification, verification.reason
    certificate: Any = model.certificate_
    assert abs(verification.lower - certificate.lower) < 1e-9 and abs(verification.upper - certificate.upper) < 1e-9
    assert not verify(path, classifier(**parameters).class_of(X[1:], y[1:], weights[1:]))
    assert not verify(path, classifier(**parameters).class_of(X, y))


def test_constants_with_a_weight_belong_to_the_class(tmp_path: Path) -> None:
    """All examples count alike and most are of one class: the best answer is the same to all."""
    path, rare = tmp_path / "proof.json", np.where(np.arange(60) < 3, "yes", "no")
    model = classifier(nu=1.0).fit(X, rare)
    weighted = [h for h, w in zip(model.run_.hypotheses, model.run_.w, strict=True) if w > 0]
    assert any(isinstance(h, Stump) and h.threshold == -np.inf for h in weighted)
    model.save_certificate(path, X, rare)
    assert verify(path, classifier().class_of(X, rare))
    assert not verify(path, classifier(intercept=False).class_of(X, rare))


def test_constants_of_the_other_sign_are_no_part_of_a_class_without_negations(tmp_path: Path) -> None:
    path, rare = tmp_path / "proof.json", np.where(np.arange(60) < 3, "no", "yes")
    classifier(nu=1.0, reflexive=False).fit(X, rare).save_certificate(path, X, rare)
    oracle = classifier(reflexive=False).class_of(X, rare)
    assert verify(path, oracle)
    content = json.loads(path.read_text())
    states = [
        hypothesis["is"] for hypothesis in content["data"]["hypotheses"] if "inf" in str(hypothesis["is"]["threshold"])
    ]
    assert states and oracle.margins_of(Stump(0, -np.inf, 1, 4)) is not None
    with pytest.raises(ValueError, match=r"\bstumps\b.*\bone direction\b.*\balways -1\b"):
        oracle.margins_of(Stump(0, -np.inf, -1, 4))


@pytest.mark.thorough
def test_a_certificate_of_several_classes_names_one(tmp_path: Path) -> None:
    path, model = tmp_path / "proof.json", classifier().fit(X, THREE)
    with pytest.raises(OptionError, match=r"\blabel\b.*\[0, 1, 2\].*\bNone\b"):
        model.save_certificate(path, X, THREE)
    model.save_certificate(path, X, THREE, label=2)
    assert verify(path, classifier().class_of(X, THREE, label=2))
    assert not verify(path, classifier().class_of(X, THREE, label=1))
    with pytest.raises(OptionError, match=r"\blabel\b.*\['yes'\].*'no'"):
        classifier().class_of(X, y, label="no")


def test_classifiers_without_a_run_have_no_certificate(tmp_path: Path) -> None:
    model = classifier().fit(X, y)
    model.save(tmp_path / "model.npz")
    with pytest.raises(OptionError, match=r"\brun\b.*\bfile\b"):
        MarginBoostClassifier.load(tmp_path / "model.npz").save_certificate(tmp_path / "proof.json", X, y)
    with pytest.raises(
        OptionError, match=r"\bsave_certificate\b.* 59 .*\bPass X, y and sample_weight as to fit\b"
    ) as error:
        model.save_certificate(tmp_path / "proof.json", X[1:], y[1:])
    assert "oracle" not in str(error.value)
    assert not (tmp_path / "proof.json").exists()


def test_a_class_of_hypotheses_leaves_the_classifier_as_it_was() -> None:
    fresh = classifier()
    fresh.class_of(X, y)
    assert not hasattr(fresh, "n_features_in_") and not hasattr(fresh, "classes_")


@pytest.mark.thorough
def test_the_rounds_of_a_fit_are_those_of_its_trace(tmp_path: Path) -> None:
    """The constant comes first though it is not the best: the rule measures by the best."""
    formulation_file = tmp_path / "squares.py"
    formulation_file.write_text(
        "import cvxpy as cp\n"
        "from boostopt.authoring import COUNT, CappedSimplex, CvxpyRegularizer, parameter, prototype\n"
        "def F(p, examples):\n"
        "    f = lambda d: 5 * examples.c @ cp.huber(d / examples.c - 1 / examples.total, 0.01)\n"
        "    return CvxpyRegularizer(CappedSimplex(examples.c, p.nu), f, examples.c / examples.total)\n"
        "squares = prototype('squares', F, nu=parameter('the number of examples', COUNT))\n",
        encoding="utf-8",
    )
    for formulation in ("erlpboost", str(formulation_file)):
        model = classifier(formulation=formulation).fit(X, y)
        run: Any = model.run_
        certificate: Any = model.certificate_
        assert model.n_iter_ == len(run.trace) == run.rounds > 1
        assert run.trace[-1].soft_margin - 1e-6 <= certificate.lower and certificate.gap <= 0.1 + 1e-9
        assert len(list(model.staged_predict(X))) == model.n_iter_


def test_one_answer_to_all_is_given_alone_where_it_is_as_good_as_any() -> None:
    model = classifier(nu=1.0).fit(X, np.where(np.arange(60) < 3, "yes", "no"))
    certificate: Any = model.certificate_
    assert [str(h) for h in model.run_.hypotheses] == ["always -1"] and certificate.gap <= 0.1
