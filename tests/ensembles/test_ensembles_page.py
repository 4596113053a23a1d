"""The table of docs/ensembles.md is what its program measures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "ensembles.md").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_the_table_is_what_the_program_below_it_measures(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = re.findall(r"The table is made by\n\n```python\n(.*?)```", PAGE, re.DOTALL)
    exec(program, {})
    measured_rows = [[float(number) for number in line.split()] for line in capsys.readouterr().out.splitlines()]
    (table,) = re.findall(r"^\| ensemble \| values \|.*?\n\n", PAGE, re.DOTALL | re.MULTILINE)
    table_rows = [[float(cell) for cell in row.split("|")[3:8]] for row in table.strip().splitlines()[2:]]
    assert len(table_rows) == len(measured_rows) == 5
    for (initial, best, n_kept, few, fewer), (m_initial, m_best, gap, m_n_kept, m_few, m_fewer) in zip(
        table_rows, measured_rows, strict=True
    ):
        # Trees differ a little between versions of scikit-learn; digits that were rounded do anyway.
        assert (m_initial, m_best, m_few, m_fewer) == pytest.approx((initial, best, few, fewer), abs=1e-3)
        assert m_n_kept == pytest.approx(n_kept, abs=2)
        assert gap <= 1e-9 and m_few <= m_fewer + 1e-12
