"""A practitioner is warned where a classifier is no better than chance, or nu gives a class up: once, with the reason.

The numbers in the messages are those of hand: shares of classes, soft margins of one answer to everything.
"""

from __future__ import annotations

import re
import warnings
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from support.command_lines import run as invoke

from boostopt import MarginWarning, reweight
from boostopt.boosting.run.combined_hypothesis import ZERO_TOL
from boostopt.ensembles import reweight_one_vs_rest
from boostopt.estimators import MarginBoostClassifier
from boostopt.estimators.training.baseline_and_nu_warnings import RECALL_REASON, SMALL_RECALL, _recall_findings  # pyright: ignore[reportPrivateUsage]
from boostopt.estimators.training.margin_summary import MarginSummary, find_contradiction
from boostopt.estimators.training.training_data import merge_examples

RNG = np.random.default_rng(0)
X = RNG.normal(size=(100, 3)).round(2)
CLEAR = np.where(X[:, 0] > 0.0, "yes", "no")
SUM = X.sum(axis=1)
RARE = np.where(SUM > np.sort(SUM)[-11], "yes", "no")
"""10 of 100 are "yes"."""
SQUARE = np.tile([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], (5, 1))
EXCLUSIVE = np.tile([0, 1, 1, 0], 5)
"""No stump, and no sum of stumps, tells the corners of a square apart like this."""


def warnings_of(X: Any, y: Any, sample_weight: Any = None, **parameters: Any) -> list[str]:
    """Return the details of the warnings of a fit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        MarginBoostClassifier(**{"epsilon": 0.05, **parameters}).fit(X, y, sample_weight=sample_weight)
    messages = [message.message for message in caught]
    return [message.details for message in messages if isinstance(message, MarginWarning)]


def test_a_warning_is_one_line_with_the_same_words_for_the_same_reason() -> None:
    short = dict[str, set[str]]()
    for seed, nu, epsilon in ((0, 0.05, 0.3), (1, 0.1, 0.5), (2, 0.1, 0.3)):
        noise = np.random.default_rng(seed).permutation(CLEAR)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = MarginBoostClassifier(nu=nu, epsilon=epsilon).fit(X, noise)
        (message,) = [entry.message for entry in caught if isinstance(entry.message, MarginWarning)]
        assert message.details == str(model.diagnosis_).replace("\n", " ")
        assert f"nu = {nu:g} " in message.details
        (summary,) = model.diagnosis_.summaries
        assert summary.nu == nu and summary.soft_margin_bounds is not None and summary.is_unproved
        short.setdefault(str(message), set()).add(message.details)
    (text,) = short
    assert len(short[text]) == 3 and len(text) < 100 and "diagnosis_" in text and not re.search(r"[1-9]", text)


@pytest.mark.thorough
def test_a_search_of_many_fits_shows_a_warning_once() -> None:
    noise = np.random.default_rng(0).permutation(CLEAR)
    search = GridSearchCV(MarginBoostClassifier(), {"nu": [0.05, 0.1], "epsilon": [0.9, 0.8]}, cv=2, refit=False)
    counts = dict[str, int]()
    for action in ("default", "always"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter(action)  # type: ignore[arg-type]
            search.fit(X, noise)
        counts[action] = len([entry for entry in caught if entry.category is MarginWarning])
    assert counts["default"] == 1 < counts["always"]


def test_a_limit_is_named_without_numbers_and_the_diagnosis_has_them() -> None:
    noise = np.random.default_rng(0).permutation(CLEAR)
    with pytest.warns(ConvergenceWarning, match=r"^The limit max_iter .*\. See diagnosis_\.$"):
        model = MarginBoostClassifier(nu=0.1, epsilon=0.001, max_iter=2).fit(X, noise)
    assert "max_iter = 2 rounds" in str(model.diagnosis_) and "max_iter = 2 rounds" in model.diagnosis_._repr_html_()  # pyright: ignore[reportPrivateUsage]


def test_a_good_fit_has_a_diagnosis_without_findings() -> None:
    model = MarginBoostClassifier(epsilon=0.05).fit(X, CLEAR)
    assert not model.diagnosis_.findings and str(model.diagnosis_) == "Nothing to report."
    html = model.diagnosis_._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "Nothing to report." in html and "yes" in html and "<table>" in html


@pytest.mark.thorough
def test_separable_classes_cause_no_warning() -> None:
    for parameters in ({}, {"nu": 10}, {"formulation": "svm", "parameters": {"C": 1.0}}, {"formulation": "adaboost"}):
        assert warnings_of(X, CLEAR, max_iter=50, **parameters) == []
    assert warnings_of(X, RARE, nu=0.19) == [] and warnings_of(X, np.digitize(X[:, 0], [-0.4, 0.4]), nu=0.2) == []


def test_a_soft_margin_of_zero_is_named_with_its_interval_and_what_to_do() -> None:
    (words,) = warnings_of(SQUARE, EXCLUSIVE, nu=0.3, formulation="lpboost", epsilon=0.0001)
    assert re.fullmatch(
        r"at nu = 0\.3 no weights\b.*\bsoft margin above 0\b.*\bdecision stumps on 2 features\b.* \[\S+, \S+\]\. "
        r"Raise nu, to 1\b.*\bbase\b.*\. f\(x\) = 0 on 100%.*\bcancel\b.*\. .*\bpredicted as 1\.",
        words,
    )


def test_an_interval_that_contains_0_may_be_narrowed() -> None:
    noise = RNG.permutation(CLEAR)
    (words,) = warnings_of(X, noise, nu=0.1, epsilon=0.3)
    assert re.match(r"at nu = 0\.1 .*\bnot proved\b.* 0,", words) and "lower epsilon = 0.3" in words
    assert f"nu, to {2 * min((noise == 'yes').mean(), (noise == 'no').mean()):g} " in words
    assert warnings_of(X, noise, nu=0.5) == []


def test_an_upper_bound_within_the_tolerance_is_no_reason_to_narrow_the_interval() -> None:
    """A soft margin of at most 0.01 counts as 0, so an interval below 0.01 leaves nothing to prove."""
    rng = np.random.default_rng(0)
    features, labels = rng.normal(size=(300, 4)).round(1), rng.random(300) < 0.5
    parameters = {"nu": 0.296, "epsilon": 0.01, "formulation": "erlpboost"}
    (words,) = warnings_of(features, labels, **parameters)
    assert re.match(r"at nu = 0\.296 no weights have .* above 0, .*, by more than 0\.01: .*\[-0\.00\S+, 0\.00", words)
    assert "epsilon" not in words and "Raise nu, to 0.986 at most, or use another base" in words


def test_a_limit_that_prints_as_nu_is_no_advice_to_raise_nu() -> None:
    noise = RNG.permutation(np.arange(1999) < 100)  # the limit 200 / 1999 is 0.10005
    features = RNG.normal(size=(1999, 2))
    (words,) = warnings_of(features, noise, nu=0.1, epsilon=0.3)
    assert "raise nu" not in words.lower() and "lower epsilon" in words.lower()
    (words,) = warnings_of(features, noise, nu=0.05, epsilon=0.3)
    assert "raise nu, to 0.1 at most" in words.lower()


@pytest.mark.thorough
def test_random_labels_that_are_fitted_are_named() -> None:
    """Many stumps fit random labels with a small soft margin, which says nothing: it is below 0.01."""
    rng = np.random.default_rng(1)
    features, labels = rng.normal(size=(1200, 10)), np.where(rng.random(1200) < 0.25, "yes", "no")
    (words,) = warnings_of(features, labels, nu=0.1, epsilon=0.01)
    assert "soft margin" in words and re.search(r" 0, .* 0\.01: .*\[-0\.00\d*, 0\.00", words)


def test_a_limit_that_ended_the_run_is_what_narrows_the_interval() -> None:
    (words,) = warnings_of(X, RNG.permutation(CLEAR), nu=0.1, epsilon=0.001, max_iter=2)
    assert "max_iter" in words and "epsilon" not in words


def test_a_nu_that_gives_the_smaller_class_up_is_named_with_what_one_answer_reaches() -> None:
    (words,) = warnings_of(X, RARE, nu=0.4)
    assert re.match(r"nu = 0\.4 .* 4 .* 0\.1 .*'no' .* 0\.5; .* 0\.5\d*\b", words)  # 1 - 2 * 0.1 / 0.4
    assert re.search(r'\bnu to 0\.2 .*\bclass_weight="balanced"\.$', words)
    assert warnings_of(X, RARE, nu=0.4, class_weight="balanced") == []
    # One feature tells these apart with soft margin 1: nothing is given up.
    assert warnings_of(X, np.where(X[:, 0] > np.sort(X[:, 0])[-11], "yes", "no"), nu=0.4) == []
    (counted,) = warnings_of(X, RARE, nu=40)
    assert re.match(r"nu = 40 .* 4 .*\bnu to 20 ", counted)
    (weighted,) = warnings_of(X, RARE, np.where(RARE == "yes", 1.0, 2.0), nu=0.2)
    assert re.search(r" 3\.8 .* 0\.0526 ", weighted)  # 10 / 190
    (constant,) = warnings_of(X, RARE, nu=1.0)
    assert re.match(r"[^.]* 'no'\. nu = 1\.0 .* 10 ", constant)


def test_the_soft_margin_of_one_answer_is_the_mean_of_the_smallest_margins() -> None:
    for share, nu in ((0.1, 0.4), (0.25, 0.3), (0.5, 1.0), (0.1, 0.05)):
        margins = np.where(np.arange(1000) < 1000 * share, -1.0, 1.0)
        by_hand = np.sort(margins)[: round(1000 * nu)].mean()
        assert MarginSummary("", "", share, nu, None).constant_prediction_margin == pytest.approx(by_hand)


def test_advice_never_contradicts_the_choice_of_nu() -> None:
    rng = np.random.default_rng(0)
    features, labels = rng.integers(0, 2, (200, 2)), np.where(rng.random(200) < 0.13, "yes", "no")
    # Without negations f = 0 is no vote, near which votes could be better.
    (words,) = warnings_of(features, labels, reflexive=False)
    model = MarginBoostClassifier(epsilon=0.05, reflexive=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MarginWarning)
        model.fit(features, labels)
    share = (labels == "yes").mean()
    assert model.nu_ == pytest.approx(2.5 * share)  # nothing is proved at the largest share that gives up no class
    assert f"nu = {model.nu_:.3g} is 2.5 times" in words and "set nu" not in words.lower()
    assert re.search(
        r'nu="margin" found no clear .* smaller share\. .*class_weight="balanced", .*"logitboost_cg", or use', words
    )
    (near_zero,) = warnings_of(features, labels)
    assert re.match(rf"at nu = {share:.3g} .* a soft margin above 0, ", near_zero) and "raise nu" not in near_zero
    (passed,) = warnings_of(features, labels, nu=0.05)
    assert "raise nu" not in passed.lower()  # equal rows with different labels are 26 % of the weights
    (passed,) = warnings_of(np.arange(200.0)[:, None], np.tile(["no", "yes"], 100), nu=0.05)
    assert "raise nu" in passed.lower()
    (limited,) = warnings_of(features, labels, time_limit=1e-9)
    assert "raise nu" not in limited.lower() and "raise time_limit" in limited.lower()


@pytest.mark.thorough
def test_a_nu_of_the_cross_validation_comes_without_advice_to_raise_it() -> None:
    rng = np.random.default_rng(0)
    features, labels = rng.integers(0, 2, (200, 2)), np.where(rng.random(200) < 0.13, "yes", "no")
    (automatic,) = warnings_of(features, labels, nu="auto", scoring="roc_auc")
    assert re.search(r"at nu = 0\.\d{1,4} ", automatic) and "raise nu" not in automatic.lower()
    assert "rank by the logistic loss" in automatic.lower()
    (of_number,) = warnings_of(features, labels, nu=0.1)
    assert "logistic loss" not in of_number
    (of_loss,) = warnings_of(SQUARE, EXCLUSIVE, formulation="logitboost_cg")
    assert "rank by" not in of_loss.lower()


def test_the_limit_of_nu_is_that_of_the_smallest_class() -> None:
    labels = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [10, 40, 50]))
    features = np.random.default_rng(1).normal(size=(100, 1))
    (words,) = warnings_of(features, labels, nu=0.05, epsilon=0.5)
    assert "raise nu, to 0.1 at most" in words.lower()  # 0.4 and 0.5 give class 0 up


def test_the_limit_of_nu_has_three_digits_also_for_few_examples() -> None:
    features, labels = np.tile([[0.0], [1.0]], (1650, 1)), np.repeat([1, 0], [4, 3296])
    (words,) = warnings_of(features, labels, nu=0.2)
    assert "is 160 times the share 0.00121 " in words and "Set nu to 0.00242 or less" in words  # 8 / 3300 = 0.002424
    (words,) = warnings_of(np.tile([[0.0], [1.0]], (5, 1)), np.repeat([1, 0], [3, 7]), nu=1.0)
    assert "Set nu to 0.6 or less" in words


def test_one_warning_covers_several_classes() -> None:
    sizes = np.repeat([0, 1, 2, 3], [10, 20, 30, 40])
    y = sizes[np.argsort(np.argsort(SUM))]
    (words,) = warnings_of(X, y, nu=0.35, epsilon=0.3)
    assert re.search(r" 3\.5 .* 0\.1 .*\(classes 0, 1, 2 .*\bnot 0 .* 0\.429\b", words)  # 1 - 2 * 0.1 / 0.35
    assert re.search(r"\bnu to 0\.1 [^.]*\.$", words)
    (noise,) = warnings_of(X, RNG.permutation(np.repeat([0, 1, 2, 3, 4], 20)), epsilon=0.8)
    assert re.search(r"\(classes 0, 1, 2 and 2 more .*\bof class [0-4] .*\[", noise)


def test_useless_fits_of_losses_cause_a_warning() -> None:
    (zero,) = warnings_of(X, CLEAR, formulation="l1_adaboost", parameters={"C": 1e-6}, epsilon=0.01)
    assert re.match(r"f\(x\) = 0 on 100% .* predicted as \S+\. .*\bl1_adaboost\b", zero)
    # A booster that adds steps goes on whatever the soft margin is.
    assert warnings_of(SQUARE, EXCLUSIVE + (np.arange(20) == 0), formulation="madaboost", max_iter=3) == []


def test_chance_of_a_penalty_is_what_no_weights_are_worth() -> None:
    """With the penalty r |d| the value of f = 0 is the least penalty, r / sqrt N."""
    (words,) = warnings_of(SQUARE, EXCLUSIVE, formulation="norm_penalty", parameters={"r": 0.5})
    smallest_penalty = 0.5 / np.sqrt(20)
    assert f"value of the program above {smallest_penalty:.3g}, " in words and "at nu" not in words


def test_new_weights_of_an_ensemble_are_warned_of_alike() -> None:
    forest = RandomForestClassifier(10, max_depth=1, random_state=0).fit(X, RARE)
    with pytest.warns(MarginWarning, match=r"\bnu = 40 .* 4 .* 0\.1 .*'no' .* 0\.5; .*\bnu to 20 "):
        reweight(forest, X, RARE, "lpboost", nu=40)
    noise = np.random.default_rng(3).permutation(CLEAR)
    stumps = RandomForestClassifier(5, max_depth=1, random_state=0).fit(X, CLEAR)
    with pytest.warns(MarginWarning, match=r"^at nu = 5 no weights .*\bmembers .*\[.*\bnu above 84, to 88 ") as w:
        reweighted = reweight(stumps, X, noise, "lpboost", nu=5)
    assert reweighted.soft_margin <= ZERO_TOL and len(w) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reweight(stumps, X, CLEAR, "lpboost", nu=30)


def test_the_command_says_it_once(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", X=X, y=(RARE == "yes").astype(int))
    data, out = str(tmp_path / "data.npz"), str(tmp_path / "model.npz")
    done = invoke("fit", "--data", data, "--out", out, "--nu", "0.4", "--epsilon", "0.1")
    assert done.exit_code == 0 and len(re.findall(r"warning: nu = 0\.4 .* 4 ", done.stderr)) == 1
    assert done.stderr.count("warning") == 1 and "warning" not in done.stdout


@pytest.mark.thorough
@pytest.mark.untyped
def test_the_place_of_a_warning_is_where_the_user_called() -> None:
    # Without the checker of types, whose frames are called in between.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        MarginBoostClassifier(epsilon=0.05, nu=0.9).fit(X, RARE)
    assert caught and all(message.filename == __file__ for message in caught)


def test_classes_whose_share_rounds_to_0_are_named_in_the_warning() -> None:
    labels = np.repeat([0, 1, 2], [2, 2, 16])
    weights = np.where(labels == 2, 1.0, 1e-50)
    (message,) = warnings_of(X[:20], labels, weights, nu=0.5, max_iter=2, epsilon=0.5)
    assert "times the share 1.25e-51 of the smaller class" in message


def test_equal_rows_with_different_labels_are_named_and_no_other_base_is_advised() -> None:
    rows, labels = np.vstack([np.arange(6.0)[:, np.newaxis], [[2.0], [4.0]]]), np.array(list("aaabbbba"))
    for features in (rows, scipy.sparse.csr_matrix(rows)):
        (text,) = warnings_of(features, labels, nu=0.5)
        assert "rows 2 and 6 are equal and have the labels 'a' and 'b': no hypotheses tell them apart" in text
        # Two pairs of eight rows: at nu of at most 4 rows, no f has a soft margin above 0.
        assert "Such pairs have 50 % of the weights" in text and "another base" not in text
        assert "Raise nu above 0.5, to 1 at most, or add features that tell these rows apart, or correct" in text
    (text,) = warnings_of(rows, labels, nu=4)
    assert "Raise nu above 4, to 8 at most, or add features" in text
    (text,) = warnings_of(np.zeros((8, 1)), labels, nu=0.5)  # all rows are equal: no nu is left
    assert "Add features that tell these rows apart" in text and "aise nu" not in text


def test_the_share_that_nu_must_exceed_is_rounded_up() -> None:
    rows, labels = np.repeat(np.arange(12.0), 2)[:23, np.newaxis], np.append(np.tile([0, 1], 11), 1)
    labels[:12:2] = 1  # five of eleven pairs contradict each other: 10 / 23 = 0.43478
    (text,) = warnings_of(rows, labels, nu=0.4)
    assert "43.5 % of the weights. Raise nu above 0.435, to 0.434 at most" not in text and "aise nu" not in text
    labels[22:] = 0  # and 12 / 23 = 0.5217 is the limit
    (text,) = warnings_of(rows, labels, nu=0.4)
    assert "Raise nu above 0.435, to 0.521 at most" in text


def test_rows_that_no_member_tells_apart_are_named() -> None:
    rows = np.array([[0.0], [1.0], [2.0], [3.0]] * 5)
    labels = np.array(["no", "no", "yes", "yes"] * 5)
    labels[[4, 9]] = "yes"  # rows 4 and 9 have the features of 0 and 1, and so their votes
    stump = RandomForestClassifier(1, max_depth=1, bootstrap=False, random_state=0).fit(rows, rows[:, 0] > 1.5)
    with pytest.warns(MarginWarning) as caught:
        reweight(stump.estimators_, rows, labels == "yes", "lpboost", nu=4, sample_weight=np.arange(20) > 0)
    # The vote is "no" on ten rows, of which row 0 does not count and two are "yes": 4 of 19 rows contradict each other.
    assert "rows 1 and 4 get the same votes of all members, but have the labels False and True" in str(
        caught[0].message
    )
    text = str(caught[0].message)
    assert "21.1 % of the weights. Raise nu above 4, to 14 at most, or use an ensemble whose members tell" in text


def test_contradictory_votes_of_several_classes_have_the_labels_of_the_rows() -> None:
    labels = np.array(["a", "b", "c"] * 20)
    trees = RandomForestClassifier(3, max_depth=1, random_state=0).fit(np.arange(60.0)[:, np.newaxis] % 7, labels)
    with pytest.warns(MarginWarning, match=r"rows \d+ and \d+ get the same votes .* the labels '[abc]' and '[abc]'"):
        reweight_one_vs_rest(trees, np.arange(60.0)[:, np.newaxis] % 7, labels, "lpboost", nu=5)


def test_few_contradictions_leave_the_other_advice() -> None:
    rows = np.vstack([SQUARE, [[2.0, 2.0], [2.0, 2.0]]])
    (text,) = warnings_of(rows, np.append(EXCLUSIVE, [0, 1]), nu=0.9)
    assert "rows 20 and 21 are equal" in text and "better hypotheses" in text and "correct their labels" in text


def test_contradictions_count_with_their_weights_and_by_class() -> None:
    rows, labels = np.array([[0.0], [1.0], [1.0], [2.0]]), np.array([0, 0, 1, 2])
    c = np.array([2.0, 3.0, 1.0, 4.0])
    examples = merge_examples(rows, labels, c)
    pair = find_contradiction(rows, labels, c, examples, 1)
    assert pair is not None and pair.rows == (1, 2) and pair.share == pytest.approx(0.2)
    assert find_contradiction(rows, labels, c, examples, 2) is None
    weights = np.array([2.0, 0.0, 1.0, 4.0])
    assert find_contradiction(rows, labels, weights, merge_examples(rows, labels, weights), 1) is None


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, scipy.sparse.csr_array, pd.DataFrame])
@pytest.mark.parametrize("labels", [[0, 1, 0, 1], ["no", "yes"] * 2, np.array(["no", "yes"] * 2, object)])
def test_rows_that_contradict_each_other_are_named_in_any_layout(layout: Any, labels: Any) -> None:
    rows = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    (text,) = warnings_of(layout(rows), labels)
    assert "Such pairs have 100 % of the weights" in text and "nu = 0.5 no weights have" in text
    assert re.search(r"rows (0 and 1|2 and 3) are equal and have the labels ", text)
    (text,) = warnings_of(layout(rows), labels, sample_weight=[0.0, 1.0, 1.0, 1.0], nu=0.5)
    assert "rows 2 and 3 are equal" in text


def churn() -> tuple[np.ndarray, np.ndarray]:
    """Return customers of whom 5 % leave, for reasons that tell little."""
    rng = np.random.default_rng(0)
    features = np.column_stack([rng.integers(1, 72, 1000), rng.gamma(2.0, 30.0, 1000).round(), rng.normal(size=1000)])
    risk = features[:, 1] / 60.0 - features[:, 0] / 24.0 + rng.logistic(size=1000)
    return features, np.where(risk > np.quantile(risk, 0.95), "left", "stayed")


def test_a_class_that_is_hardly_predicted_is_a_finding_with_its_recall_and_no_warning() -> None:
    features, labels = churn()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model: Any = MarginBoostClassifier().fit(features, labels)
    recall = np.mean(model.predict(features)[labels == "left"] == "left")
    (finding,) = model.diagnosis_.findings
    assert 0.0 < recall < SMALL_RECALL and finding.category is None and finding.reason == RECALL_REASON
    assert (
        str(model.diagnosis_)
        == finding.details
        == (
            f"{recall:.1%} of the training examples of class 'left' are predicted correctly, which may be best for the "
            'accuracy. Give both classes the same weight with class_weight="balanced", choose nu for a ranking with '
            'nu="auto" and scoring="roc_auc", or rank by the logistic loss with formulation="logitboost_cg".'
        )
    )
    assert escape(finding.details) in model.diagnosis_._repr_html_()  # pyright: ignore[reportPrivateUsage]
    balanced: Any = MarginBoostClassifier(class_weight="balanced").fit(features, labels)
    assert np.mean(balanced.predict(features)[labels == "left"] == "left") > 0.5
    assert not balanced.diagnosis_.findings
    with pytest.warns(ConvergenceWarning):
        first_round = MarginBoostClassifier(max_iter=1).fit(features, labels)
    assert "predicted correctly" not in str(first_round.diagnosis_)


def test_a_class_of_several_that_a_large_nu_gives_up_has_its_recall_in_the_diagnosis() -> None:
    features, labels = churn()
    several = np.where((labels == "stayed") & (features[:, 2] > 0.0), "grew", labels)
    with pytest.warns(MarginWarning, match="^nu is so large"):
        model: Any = MarginBoostClassifier(nu=0.3).fit(features, several)
    nu, finding = model.diagnosis_.findings
    assert nu.category is MarginWarning and set(model.predict(features)) == {"grew", "stayed"}
    assert finding.details == (
        "0.0% of the training examples of class 'left' are predicted correctly, which may be best for the accuracy."
    )


@pytest.mark.thorough
def test_recalls_count_weights_and_the_advice_names_no_setting_of_the_model_itself() -> None:
    features, labels = churn()
    weights = np.random.default_rng(3).integers(1, 3, len(labels))
    weighted: Any = MarginBoostClassifier().fit(features, labels, sample_weight=weights)
    copied: Any = MarginBoostClassifier().fit(features.repeat(weights, axis=0), labels.repeat(weights))
    assert str(weighted.diagnosis_) == str(copied.diagnosis_)
    right, c = (weighted.predict(features) == "left")[labels == "left"], weights[labels == "left"]
    assert f"{np.average(right, weights=c):.1%} of" in str(weighted.diagnosis_)
    assert f"{np.mean(right):.1%} of" not in str(weighted.diagnosis_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        by_area = MarginBoostClassifier(nu="auto", scoring="roc_auc").fit(features, labels)
        by_loss = MarginBoostClassifier("logitboost_cg", max_iter=2).fit(features, labels)
    assert "predicted correctly" in str(by_area.diagnosis_) and "nu=" not in str(by_area.diagnosis_)
    assert "scoring" not in str(by_loss.diagnosis_) and "logitboost_cg" not in str(by_loss.diagnosis_)


def test_a_finding_names_three_classes_and_counts_the_others() -> None:
    recalls = {f"{k}": k / 100 for k in range(5)}
    (finding,) = _recall_findings(recalls | {"common": 0.9}, ["wait"])
    assert finding.details == (
        "0.0% of the training examples of class 0, 1.0% of class 1, 2.0% of class 2 and few of 2 more are predicted "
        "correctly, which may be best for the accuracy. Wait."
    )
    assert not _recall_findings({"common": 0.9, "rare": SMALL_RECALL}, ["wait"])
