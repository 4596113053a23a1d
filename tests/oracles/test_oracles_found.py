"""Faults that were found in the options of oracles and learners."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import typechecker

from boostopt import get_formulation
from boostopt.errors import OptionError, ProblemError, unknown_name
from boostopt.oracles import KernelColumns
from boostopt.oracles.rbf.network_fitting import RBFSettings

X, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]]), np.array([1, -1, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((None, 10, 1e-6), r"^K\b.* 1;.* None\."),
        (("a", 10, 1e-6), r"^K\b.* 1;.* 'a'\."),
        ((2.0, 10, 1e-6), r"^K\b.* 1;.* 2\.0\."),
        ((True, 10, 1e-6), r"^K\b.* 1;.* True\."),
        ((2, "ten", 1e-6), r"^iterations\b.* 0;.* 'ten'\."),
        ((2, 10, "small"), r"^lambda_\s.*\bpositive\b.*'small'\."),
        ((0, 10, 1e-6), r"^K\b.* 1;.* 0\."),
    ],
    ids=["none", "text", "float", "bool", "steps", "penalty", "zero"],
)
def test_options_of_networks_are_numbers(options: tuple[Any, Any, Any], message: str) -> None:
    with typechecker.unchecked():
        with pytest.raises(OptionError, match=message):
            RBFSettings(*options)
        RBFSettings(np.int64(2), 0, np.float64(1e-6))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("kernel", ["linear", "polynomial", "rbf"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gamma": -1.0}, r"^gamma\b.*\bNone\b.* -1\.0\."),
        ({"gamma": "scale"}, r"^gamma\b.*\bNone\b.*'scale'\."),
        ({"degree": 0}, r"\bdegree\b.* 1000;.* 0\."),
        ({"coef0": np.inf}, r"^coef0\b.*\bfinite\b.*\binf\."),
    ],
    ids=["negative", "text", "zero", "inf"],
)
def test_options_of_kernels_are_looked_at_whatever_the_kernel(kernel: str, options: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        KernelColumns(X, y, kernel, **options)
    assert KernelColumns(X, y, kernel, gamma=np.float32(0.5), degree=np.int64(2)).N == 3


@pytest.mark.parametrize("name", [3, None, len, 1.5])
def test_names_that_are_no_texts_are_unknown(name: object) -> None:
    message = str(unknown_name("kind of values", name, ["predict"]))
    assert re.search(rf"\bvalues {re.escape(repr(name))}\..*\bpredict\.", message)


@pytest.mark.parametrize("text", ["1", b"1", np.str_("1")])
def test_text_is_no_parameter(text: object) -> None:
    plain = text.item() if isinstance(text, np.generic) else text
    with pytest.raises(ProblemError, match=rf"^C\b.*\breal\b.*{re.escape(repr(plain))}"):
        get_formulation("svm").bind(np.ones((2, 1)), C=text)
