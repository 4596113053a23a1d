"""scikit-learn's own checks of the classifier, in several configurations."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

UNTRIED = {"check_array_api_input", "check_sample_weights_pandas_series", "check_classifier_data_not_an_array"}
"""Checks that scikit-learn leaves out where pandas or SCIPY_ARRAY_API is not there."""

CHECK = """
import json, sys
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator
from boostopt.estimators import MarginBoostClassifier
results = check_estimator(MarginBoostClassifier({}), on_skip=None, on_fail=None)
said = [(r["check_name"], r["status"], repr(r["exception"]), bool(r["expected_to_fail"])) for r in results]
print(json.dumps(said))
"""

CONFIGURATIONS = (
    "",
    "base=DecisionTreeClassifier(max_depth=2)",
    "base='rbf'",
    "base='feature'",
    "base='kernel'",
    "formulation='lpboost', class_weight='balanced'",
    "nu='auto'",
)


@pytest.mark.thorough
@pytest.mark.parametrize("arguments", CONFIGURATIONS)
def test_scikit_learns_checks_pass_without_exceptions(arguments: str) -> None:
    # In a process of its own: types that are checked at run time would make hundreds of fits ten times as slow.
    one = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", CHECK.format(arguments)], env=one, capture_output=True, text=True, check=True
    )
    results = json.loads(done.stdout.splitlines()[-1])
    failures = {name: exception for name, status, exception, _ in results if status != "passed"}
    assert len(results) > 50
    assert set(failures) <= UNTRIED, failures
    assert not any(expected for *_, expected in results)
