"""Solution files of other solvers, written by these for the reference LPBoost program exported as MPS, and shortened.

The file of MOSEK was written by MOSEK with the numbers of HiGHS, since a solve needs a license.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.problems import REFERENCE_NU, reference_lpboost
from typer.testing import CliRunner

import boostopt.cli
from boostopt import DataError
from boostopt.data.answer_files import load_answer
from boostopt.data.solution_file_layouts import LAYOUTS
from boostopt.data.source_examples import MAX_ENTRIES_PER_NONZERO
from boostopt.exporting import export

CBC_ALL = """\
Optimal - objective value 0.00377358
      0 w_1                    0              0.32075472
      1 w_2                    0              0.37735849
      2 w_3                    0              0.30188679
      0 d_1          0.056603774           5.5511151e-17
      1 d_2                  0.4             -0.12264151
      2 d_3          0.098113208          -1.9428903e-16
      3 d_4          0.045283019           5.5511151e-17
      4 d_5                  0.4             -0.38679245
      5 d_6                    0             0.023584906
"""

CBC_DUAL = """\
Optimal - objective value -0.00377358
      0 d_1                    0             0.056603774
      1 d_2                    0                     0.4
      2 d_3                    0             0.098113208
      3 d_4                    0             0.045283019
      4 d_5                    0                     0.4
      5 d_6                    0                      -0
      0 w_1           0.32075472                       0
      1 w_2           0.37735849                       0
      2 w_3           0.30188679                       0
"""

GLPK = """\
Problem:    lpboost
Rows:       7
Columns:    10
Non-zeros:  33
Status:     OPTIMAL
Objective:  objective = 0.003773584906 (MINimum)

   No.   Row name   St   Activity     Lower bound   Upper bound    Marginal
------ ------------ -- ------------- ------------- ------------- -------------
     1 w_1          NS             0             0             =      0.320755
     2 w_2          NS             0             0             =      0.377358
     3 w_3          NS             0             0             =      0.301887
     4 r_1          NS             1             1             =      0.207547
     7 r_4          NU             0                           0     -0.301887

   No. Column name  St   Activity     Lower bound   Upper bound    Marginal
------ ------------ -- ------------- ------------- ------------- -------------
     1 d_1          B      0.0566038             0           0.4
     2 d_2          NU           0.4             0           0.4     -0.122642
     3 d_3          B      0.0981132             0           0.4
     4 d_4          B       0.045283             0           0.4
     5 d_5          NU           0.4             0           0.4     -0.386792
     6 d_6          NL             0             0           0.4     0.0235849


Karush-Kuhn-Tucker optimality conditions:

KKT.PE: max.abs.err = 6.94e-18 on row 7
"""

GLPK_DUAL = """\
Status:     OPTIMAL
Objective:  objective = -0.003773584906 (MINimum)

   No.   Row name   St   Activity     Lower bound   Upper bound    Marginal
------ ------------ -- ------------- ------------- ------------- -------------
     1 d_1          NS             0             0             =     0.0566038
     2 d_2          NS             0             0             =           0.4
     3 d_3          NS             0             0             =     0.0981132
     4 d_4          NS             0             0             =      0.045283
     5 d_5          NS             0             0             =           0.4
     6 d_6          NS             0             0             =         < eps

   No. Column name  St   Activity     Lower bound   Upper bound    Marginal
------ ------------ -- ------------- ------------- ------------- -------------
     1 w_1          B       0.320755             0
     2 w_2          B       0.377358             0
     3 w_3          B       0.301887             0

End of output
"""

HIGHS_SPARSE = """\
Model status
Optimal

# Primal solution values
Feasible
Objective 0.0037735849057
# Columns -9 sparse
d_1 0.0566037735849 0
d_2 0.4 1
d_3 0.0981132075472 2
d_4 0.0452830188679 3
d_5 0.4 4
"""

MOSEK = """\
NAME    : lpboost
PROBLEM STATUS    : UNKNOWN
SOLUTION STATUS    : UNKNOWN
OBJECTIVE NAME    : objective
PRIMAL OBJECTIVE    : 0.0037735849056604
DUAL OBJECTIVE    : 0.0037735849056604

CONSTRAINTS
INDEX    NAME    AT ACTIVITY    LOWER LIMIT    UPPER LIMIT    DUAL LOWER    DUAL UPPER
0    w_1    LL 0    0    0    0.32075471698113    0
1    w_2    LL 0    0    0    0.37735849056604    0
2    w_3    LL 0    0    0    0.30188679245283    0
3    r_1    LL 1    1    1    0.20754716981132    0

VARIABLES
INDEX    NAME    AT ACTIVITY    LOWER LIMIT    UPPER LIMIT    DUAL LOWER    DUAL UPPER
0    d_1    BS 0.056603773584906    0    0.4    0    -0
1    d_2    BS 0.4    0    0.4    0    0.12264150943396
2    d_3    BS 0.09811320754717    0    0.4    0    -0
3    d_4    BS 0.045283018867925    0    0.4    0    -0
4    d_5    BS 0.4    0    0.4    0    0.38679245283019
5    d_6    BS 0    0    0.4    0.023584905660377    0
"""

CPLEX = """\
<?xml version = "1.0" encoding="UTF-8" standalone="yes"?>
<CPLEXSolution version="1.2">
 <header
   problemName="primal.mps"
   objectiveValue="0.0037735849056603488"
   solutionTypeValue="1"
   solutionTypeString="basic"
   solutionStatusValue="1"
   solutionStatusString="optimal"
   primalFeasible="1"
   dualFeasible="1"
   writeLevel="1"/>
 <linearConstraints>
  <constraint name="w_1" index="0" status="LL" slack="0" dual="0.32075471698113206"/>
  <constraint name="w_2" index="1" status="LL" slack="0" dual="0.37735849056603771"/>
  <constraint name="w_3" index="2" status="LL" slack="0" dual="0.30188679245283029"/>
  <constraint name="r_1" index="3" status="LL" slack="0" dual="0.20754716981132076"/>
 </linearConstraints>
 <variables>
  <variable name="d_1" index="0" status="BS" value="0.056603773584905648" reducedCost="0"/>
  <variable name="d_2" index="1" status="UL" value="0.40000000000000002" reducedCost="-0.12264150943396215"/>
  <variable name="d_3" index="2" status="BS" value="0.09811320754716979" reducedCost="0"/>
  <variable name="d_4" index="3" status="BS" value="0.045283018867924518" reducedCost="0"/>
  <variable name="d_5" index="4" status="UL" value="0.40000000000000002" reducedCost="-0.38679245283018882"/>
  <variable name="d_6" index="5" status="LL" value="0" reducedCost="0.023584905660377242"/>
 </variables>
</CPLEXSolution>
"""

SCIP = """\
objective value:    0.00377358490566038
d_1    0.0566037735849056 	(obj:0)
d_2    0.4 	(obj:0)
d_3    0.0981132075471698 	(obj:0)
d_4    0.0452830188679245 	(obj:0)
d_5    0.4 	(obj:0)
x_1    0.00377358490566038 	(obj:1)
"""

SCIP_DUAL = """\
objective value:    -0.00377358490566036
w_1    0.320754716981132 	(obj:0)
w_2    0.377358490566038 	(obj:0)
w_3    0.30188679245283 	(obj:0)
x_1    -0.207547169811321 	(obj:1)
x_3    0.122641509433962 	(obj:0.4)
x_6    0.386792452830189 	(obj:0.4)
"""

GLPK_RAW = """\
c Problem:    lpboost
c Rows:       7
c Columns:    10
c Non-zeros:  33
c Status:     OPTIMAL
c Objective:  objective = 0.003773584906 (MINimum)
c
s bas 7 10 f f 0.00377358490566038
i 1 s 0 0.320754716981132
i 2 s 0 0.377358490566038
i 3 s 0 0.30188679245283
"""

HIGHS_OLD = """\
10 7 : Number of columns and rows for primal or dual solution or basis
T Primal solution
T Dual solution
T Basis
Columns
0.0566037735849057 0 1
0.4 -0.122641509433962 2
0.0981132075471698 0 1
"""

BOTH = {
    "CBC": CBC_ALL,
    "CBC, dual": CBC_DUAL,
    "glpsol -o": GLPK,
    "glpsol -o, dual": GLPK_DUAL,
    "MOSEK": MOSEK,
    "CPLEX": CPLEX,
}
"""Files with values and multipliers."""

CBC = "".join(line for line in CBC_ALL.splitlines(keepends=True) if not re.search(" w_| d_6", line))

VALUES = {"HiGHS, sparse": HIGHS_SPARSE, "SCIP": SCIP, "CBC": CBC}
"""Files with values alone, in which d_6 = 0 is left out."""


def write(folder: Path, text: str) -> str:
    path = folder / "answer.sol"
    path.write_text(text)
    return str(path)


def refused(facts: str, source: str) -> None:
    with pytest.raises(DataError, match=facts):
        load_answer(source)


@pytest.mark.parametrize("solver", BOTH)
def test_values_and_multipliers_are_read(tmp_path: Path, solver: str) -> None:
    answer = load_answer(write(tmp_path, BOTH[solver]))
    exact_d, exact_w = [0.3 / 5.3, 0.4, 0.52 / 5.3, 0.24 / 5.3, 0.4, 0.0], [1.7 / 5.3, 2 / 5.3, 1.6 / 5.3]
    np.testing.assert_allclose(answer.d, exact_d, atol=1e-6)
    np.testing.assert_allclose(answer.w, exact_w, atol=1e-6)
    assert reference_lpboost().certify(answer.d, answer.w).scaled_gap <= 2e-7


@pytest.mark.parametrize("solver", VALUES)
def test_values_that_are_left_out_are_0(tmp_path: Path, solver: str) -> None:
    answer = load_answer(write(tmp_path, VALUES[solver]))
    assert answer.w is None and answer.leaves_zeros_out
    np.testing.assert_allclose(answer.d, [0.3 / 5.3, 0.4, 0.52 / 5.3, 0.24 / 5.3, 0.4], atol=1e-8)
    full_answer = answer.fill(6, 3)
    assert full_answer.w is None and len(full_answer.d) == 6 and full_answer.d[5] == 0
    inner = write(tmp_path, re.sub(r"^.*\bd_3\b.*\n", "", VALUES[solver], flags=re.MULTILINE))
    assert load_answer(inner).d.tolist()[2] == 0.0
    assert len(answer.fill(3, 3).d) == 5  # which the program refuses


@pytest.mark.parametrize("text", [SCIP, HIGHS_SPARSE, CBC])
def test_an_index_that_would_fill_the_memory_is_refused(tmp_path: Path, text: str) -> None:
    refused(
        rf"\b{MAX_ENTRIES_PER_NONZERO}\b.*\b5\b.*\bd_{10**11}\b", write(tmp_path, text.replace("d_5", f"d_{10**11}"))
    )


def test_the_values_of_the_other_side_are_read(tmp_path: Path) -> None:
    answer = load_answer(write(tmp_path, SCIP_DUAL))
    assert answer.d is None and answer.w.tolist() == [0.320754716981132, 0.377358490566038, 0.30188679245283]


def test_a_mark_of_cbc_is_no_index(tmp_path: Path) -> None:
    text = (
        CBC_ALL.replace("Optimal", "Infeasible")
        .replace("      0 d_1", "**    0 d_1")
        .replace("      1 w_2", "**    1 w_2")
    )
    np.testing.assert_array_equal(load_answer(write(tmp_path, text)).d, load_answer(write(tmp_path, CBC_ALL)).d)


def test_zeros_that_cplex_leaves_out_are_0(tmp_path: Path) -> None:
    text = "\n".join(line for line in CPLEX.splitlines() if '"d_6"' not in line)
    assert not load_answer(write(tmp_path, text)).leaves_zeros_out
    assert load_answer(write(tmp_path, text.replace('writeLevel="1"', 'writeLevel="3"'))).fill(6, 3).d[5] == 0.0


@pytest.mark.parametrize(
    "text", ["glpsol 1 d_1 0.5\n** d_2 0.5\n", "0 d_1 0.5 7\n1 d_2 = 0.5 7\n", "value of d_2 0.5\nvalue of d_1 0.5\n"]
)
def test_a_name_anywhere_in_a_line_is_read_with_the_number_after_it(tmp_path: Path, text: str) -> None:
    assert load_answer(write(tmp_path, text)).d.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("text", [GLPK_RAW, HIGHS_OLD, GLPK_RAW.replace("s bas", "s ipt")])
def test_layouts_without_names_are_refused_by_the_layouts_that_are_read(tmp_path: Path, text: str) -> None:
    refused(f"without names.*{re.escape(LAYOUTS)}", write(tmp_path, text))


@pytest.mark.parametrize(
    "text, facts",
    [
        ("1 d_1 B 0.5\n", r"line 1: .*\bname .*'1 d_1 B 0\.5'.*" + re.escape(LAYOUTS)),
        ("d_1 0.5 d_2 0.5\n", r"line 1: .*\bname .*'d_1 0\.5 d_2 0\.5'"),
        ("0.5 d_1\n", r"line 1: .*\bname .*'0\.5 d_1'"),
        ("x 1\n", r"\bd, w\b.*\bx\. " + re.escape(LAYOUTS)),
        (CBC_ALL.replace("1 d_2       ", "1 d_2      x"), r"line 6: .*\bvalue and multiplier\b"),
        (CBC_ALL.replace("                  0.4", "                  y.4"), r"\bd_2 .*\bnumber\b.*'y\.4'"),
        (GLPK.replace("0.0566038", "         "), r"\bd_1 .*\bnumber\b.*''"),
        (MOSEK.replace("0.4    0    0.4    0    0.1", "NONE   0    0.4    0    0.1"), r"\bd_2 .*\bnumber\b.*'NONE'"),
        (CPLEX.replace("d_2", "d_3"), r"\bd_3 .*\btwice\b"),
        (CPLEX.replace('value="0.4', 'was="0.4', 1), r"\bd_2 .*\bmissing\b"),
    ],
    ids=[
        *("two numbers", "two names", "name at the end", "other names", "CBC, no value", "CBC, a word"),
        *("GLPK, blank", "MOSEK, a word", "CPLEX, twice", "CPLEX, missing"),
    ],
)
def test_invalid_solution_files_are_refused_with_a_reason(tmp_path: Path, text: str, facts: str) -> None:
    refused(facts, write(tmp_path, text))


def test_a_multiplier_of_mosek_is_the_difference_for_the_two_bounds(tmp_path: Path) -> None:
    text = MOSEK.replace("0.32075471698113    0\n", "0.42075471698113    0.1\n")
    assert text != MOSEK
    one_sided, two_sided = (load_answer(write(tmp_path, part)).w for part in (MOSEK, text))
    np.testing.assert_allclose(two_sided, one_sided, rtol=1e-12)


def test_a_file_of_mosek_without_multipliers_is_half_an_answer(tmp_path: Path) -> None:
    text = MOSEK.replace("    DUAL LOWER    DUAL UPPER", "")
    answer = load_answer(write(tmp_path, text))
    assert answer.w is None and len(answer.d) == 6


@pytest.mark.parametrize(
    "text", [*BOTH.values(), *VALUES.values()], ids=[*BOTH, *(f"{name} values" for name in VALUES)]
)
def test_damaged_files_are_refused_or_read(tmp_path: Path, text: str) -> None:
    rng = np.random.default_rng(0)
    pieces = ["nan", "-", "e9", "\n", " ", "_", "d_1", "1e999", "**", "Rows", "INDEX", ">"]
    outcomes = {"refused": 0, "read": 0}
    for _ in range(20):
        position = int(rng.integers(len(text)))
        cut = int(rng.integers(0, 20))
        damaged = text[:position] + pieces[int(rng.integers(len(pieces)))] + text[position + cut :]
        try:
            answer = load_answer(write(tmp_path, damaged))
        except DataError:
            outcomes["refused"] += 1
            continue
        outcomes["read"] += 1
        assert all(np.isfinite(values).all() for values in (answer.d, answer.w) if values is not None)
    assert min(outcomes.values()) > 0, outcomes


@pytest.mark.parametrize("text", [SCIP, HIGHS_SPARSE])
def test_certify_fills_what_is_left_out(tmp_path: Path, text: str) -> None:
    export(reference_lpboost(), tmp_path / "instance.npz")
    options = ("--data", tmp_path / "instance.npz", "--set", f"nu={REFERENCE_NU}", "--tol", "1e-6")
    arguments: list[Any] = ["certify", "lpboost", write(tmp_path, text), *options]
    assert CliRunner().invoke(boostopt.cli.app, list(map(str, arguments)), catch_exceptions=False).exit_code == 0
