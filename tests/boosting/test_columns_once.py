"""A column is checked and hashed once, where it comes in."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from plain_stumps import PlainStumps

from boostopt import boost
from boostopt.boosting import Stabilization
from boostopt.boosting import column_pool as collected


@pytest.mark.thorough_cases("qp_reg_adaboost")
@pytest.mark.parametrize("name", ["lpboost", "qp_reg_adaboost"])
def test_no_column_is_checked_or_hashed_twice(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=80) > 0, 1, -1)
    counts, columns = Counter[tuple[str, int]](), list[Any]()

    def counting(action: str, f: Any, key_of: Any) -> Any:
        def count_call(*arguments: Any) -> Any:
            columns.append(key_of(arguments[0]))  # alive, so that no other one has its address
            counts[action, id(columns[-1])] += 1
            return f(*arguments)

        return count_call

    monkeypatch.setattr(
        collected, "checked_margins", counting("checked", collected.checked_margins, lambda column: column)
    )
    monkeypatch.setattr(
        collected, "fingerprint_of", counting("hashed", collected.fingerprint_of, lambda margins: margins)
    )
    parameters: dict[str, Any] = {"nu": 8} if name == "lpboost" else {"C": 0.2}
    run = boost(name, PlainStumps(X, y), columns_per_round=3, stabilization=Stabilization(inner=0.5), **parameters)
    assert run.rounds > 3 and {action for action, _ in counts} == {"checked", "hashed"}
    assert max(counts.values()) == 1
