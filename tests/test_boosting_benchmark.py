"""The lines of the boosting benchmark that stand beside printed seconds are the runs that took them."""

from __future__ import annotations

import pytest

from benchmarks import boosting
from benchmarks.dissertation_printed import ROWS

# Glocer 2009, tables 5.10, 5.11, 5.12 and 5.7, 5.8, 5.9, a9a: nu / N (0 for nu = 1), eta, seconds.
PRINTED = {
    "a9a-stumps-erlp": (0.3, 2408, 536.1),
    "a9a-stumps-binary": (0.2, 5219, 149.1),
    "a9a-raw-erlp": (0.2, 3219, 151.6),
    "a9a-raw-binary": (0.2, 5219, 114.0),
    "a9a-kernel-erlp": (0.0, 20571, 8312.2),
    "a9a-kernel-binary": (0.3, 4408, 3844.6),
}


def test_lines_with_a_printed_time_are_at_the_printed_parameters() -> None:
    parameters = {
        name: (case.share, case.options["eta"], case.printed_seconds)
        for name, case in boosting.CASES.items()
        if case.printed_seconds == case.printed_seconds
    }
    assert parameters == PRINTED
    assert all(boosting.CASES[name].epsilon == 0.001 for name in PRINTED)


@pytest.mark.thorough
@pytest.mark.skipif(bool(boosting.left_out()), reason="a9a is not beside the repository: ../shared/data/libsvm")
def test_the_rows_are_drawn_from_both_files() -> None:
    X, y = boosting.examples("a9a")
    assert X.shape == (ROWS["a9a"][0], 123) and len(y) == 29_305
    # The share of the smaller class is 0.2393 of the 48,842 rows, and within 0.004 of this in a draw of 29,305 rows.
    assert abs((y > 0).mean() - 0.2393) < 0.004
