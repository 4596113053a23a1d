"""Files of programs with described functions: what is saved is accepted, means the program, and no forgery is true."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from described_forgeries import forge
from support.described_files import MARGINS, PROGRAMS, UNIFORM, N, certified, content, problem_of_file, text

from boostopt import ProblemError, boost, verify
from boostopt.authoring import (
    COUNT,
    PER_EXAMPLE,
    POSITIVE_OR_INFINITE,
    BoundedEdges,
    CappedSimplex,
    CvxpyEdges,
    CvxpyRegularizer,
    Hinge,
    parameter,
    prototype,
)
from boostopt.oracles import DecisionStumps
from boostopt.verification import save, subject
from boostopt.verification.problem_kernel import problem_composition
from boostopt.verification.problem_kernel.problem_composition import composed_problem, parse_described_part

GAP = 1e-7
"""The width of the interval in a file, relative to its size, from Clarabel's answers."""


def saved(name: str, folder: Path) -> Path:
    """Write the file of a program."""
    path = folder / "certificate.json"
    path.write_text(text(name))
    return path


@pytest.mark.every(2)
@pytest.mark.fast_cases("entropy")
@pytest.mark.thorough_cases(
    "fair edges", "sorted norm", "nuclear norm", "largest eigenvalue", "both", "transport", "cone and equation"
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_files_of_described_programs_are_accepted(name: str, tmp_path: Path) -> None:
    program, certificate = certified(name)
    path, U = saved(name, tmp_path), program.margins.to_array()
    examples = program.examples
    verification = verify(path, U, c=examples.c, d0=examples.d0, formulation=program.formulation)
    assert verification and verification.verdict == "proved", verification.reason
    assert verify(path, program) == verification
    assert subject(path) == "program" and verification.quantity == "value of the program"
    assert verification.formulation == program.formulation.name
    assert verification.claimed[0] <= verification.lower <= verification.upper <= verification.claimed[1]
    assert verification.upper - verification.lower <= GAP
    assert verification.lower <= certificate.upper and certificate.lower <= verification.upper


@pytest.mark.every(2)
@pytest.mark.thorough_cases("sorted norm", "nuclear norm", "largest eigenvalue", "both", "transport")
@pytest.mark.parametrize("name", PROGRAMS)
def test_statements_mean_the_program(name: str) -> None:
    program, certificate = certified(name)
    problem = problem_of_file(content(name), program.margins.to_array())
    problem.solve("CLARABEL")
    assert certificate.lower - 1e-6 <= problem.value <= certificate.upper + 1e-6


def test_caps_are_exact_fractions() -> None:
    statement = content("squares")["F"]
    positions = statement["problem"]["variables"][statement["argument"]]["positions"]
    assert {statement["problem"]["upper"][k] for k in positions} == {"1/3"}


@pytest.mark.thorough_cases("transport", "both")
@pytest.mark.parametrize("name", ["squares", "squared edges", "fair edges", "transport", "both"])
def test_optima_of_piecewise_quadratic_programs_are_fractions(name: str, tmp_path: Path) -> None:
    program, certificate = certified(name)
    lower, upper = verify(saved(name, tmp_path), program).fractions
    assert lower is not None and lower == upper
    assert certificate.lower <= float(lower) <= certificate.upper


@pytest.mark.parametrize("name", ["squares", "fair edges"])
def test_files_of_another_program_are_rejected(name: str, tmp_path: Path) -> None:
    program, _ = certified(name)
    path = saved(name, tmp_path)
    matrices = -MARGINS, np.vstack([MARGINS, MARGINS]), MARGINS[:, :4]
    assert not any(verify(path, U, formulation=program.formulation) for U in matrices)
    page, vector = program.formulation, np.arange(1.0, N + 1)
    assert "other multiplicities" in verify(path, MARGINS, c=vector, formulation=page).reason
    assert "other reference" in verify(path, MARGINS, d0=vector / vector.sum(), formulation=page).reason
    neighbour = PROGRAMS["largest eigenvalue" if name == "squares" else "smooth edges"]()
    assert "states another" in verify(path, neighbour).reason
    assert "unknown" in verify(path, MARGINS).reason


def test_constants_of_the_description_are_compared(tmp_path: Path) -> None:
    def make(target: float) -> Any:
        return prototype(
            "mine",
            lambda p, examples: CvxpyRegularizer(
                CappedSimplex(examples.c, p.nu), lambda d: cp.sum_squares(d - target), examples.c / examples.total
            ),
            nu=parameter("the number of examples", COUNT),
        )

    program = make(0.125).bind(MARGINS, nu=3)
    program.solve().save(tmp_path / "mine.json")
    assert verify(tmp_path / "mine.json", MARGINS, formulation=make(0.125))
    assert "another F" in verify(tmp_path / "mine.json", MARGINS, formulation=make(0.25)).reason


def test_solutions_save_their_certificate_with_metadata(tmp_path: Path) -> None:
    program, _ = certified("smooth edges")
    solution = program.solve("cvxpy:clarabel")
    save(solution, tmp_path / "solution.json", {"origin": "a test"})
    document = json.loads((tmp_path / "solution.json").read_text())
    assert document["made"]["origin"] == "a test" and document["made"]["backend"] == "cvxpy:clarabel"
    assert verify(tmp_path / "solution.json", program)


def test_parameters_that_are_infinite_or_arrays_travel(tmp_path: Path) -> None:
    def regularizer(p: Any, examples: Any) -> CvxpyRegularizer:
        price = 0.0 if np.isinf(p.eta) else 1 / p.eta
        return CvxpyRegularizer(
            CappedSimplex(examples.c, p.nu), lambda d: price * cp.sum(d) + p.costs @ cp.square(d), UNIFORM
        )

    parameters: dict[str, Any] = {
        "nu": parameter("the number of examples", COUNT),
        "eta": parameter("the price", POSITIVE_OR_INFINITE),
        "costs": parameter("the cost of each example", PER_EXAMPLE),
    }
    page = prototype("with parameters", regularizer, **parameters)
    program = page.bind(MARGINS, nu=3, eta=np.inf, costs=np.arange(1.0, N + 1))
    program.solve("cvxpy:clarabel").save(tmp_path / "certificate.json")
    assert verify(tmp_path / "certificate.json", MARGINS, formulation=page)
    document = json.loads((tmp_path / "certificate.json").read_text())
    assert document["formulation"]["parameters"] == {"nu": 3.0, "eta": "inf", "costs": "array"}
    document["arrays"]["parameter costs"][0] = 2.0
    (tmp_path / "certificate.json").write_text(json.dumps(document))
    assert "another F" in verify(tmp_path / "certificate.json", MARGINS, formulation=page).reason


def test_runs_save_the_certificate_of_their_hypotheses(tmp_path: Path) -> None:
    page = certified("squares")[0].formulation
    rng = np.random.default_rng(0)
    oracle = DecisionStumps(rng.normal(size=(N, 3)), np.where(rng.random(N) > 0.5, 1, -1))
    run = boost(page, oracle, nu=3, epsilon=0.01)
    run.certificate.save(tmp_path / "run.json", run.program)
    assert verify(tmp_path / "run.json", run.program)


def of_infeasible_edges() -> Any:
    """Return a program whose edges cannot be as small as demanded."""
    return prototype(
        "infeasible",
        lambda p, examples: CvxpyRegularizer(
            CappedSimplex(examples.c, p.nu), lambda d: cp.sum_squares(d), examples.c / examples.total
        ),
        lambda p: BoundedEdges(-0.9),
        nu=parameter("the number of examples", COUNT),
    ).bind(np.ones((N, 2)), nu=3)


def of_edges_below(bound: float, margins: Any, f: Callable[[Any], Any]) -> Any:
    """Return a program with a bound of the edges."""
    return prototype(
        "bounded edges",
        lambda p, examples: CvxpyRegularizer(CappedSimplex(examples.c, p.nu), f, examples.c / examples.total),
        lambda p: BoundedEdges(bound),
        nu=parameter("the number of examples", COUNT),
    ).bind(margins, nu=3)


def test_infeasible_programs_travel(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    for program in (of_infeasible_edges(), of_edges_below(-0.7, MARGINS, lambda d: cp.norm1(d - UNIFORM))):
        certificate = program.solve("cvxpy:clarabel").certificate
        assert certificate.infeasible
        certificate.save(path, program)
        verification = verify(path, program)
        assert verification and verification.outcome == "infeasible", verification.reason
        assert verification.lower == verification.upper == np.inf
        neighbour = of_edges_below(0.5, program.margins.to_array(), lambda d: cp.norm1(d - UNIFORM))
        assert not verify(path, neighbour)


@pytest.mark.parametrize("change", ["inequalities", "equalities", "objective"])
def test_lies_about_infeasibility_are_rejected(change: str, tmp_path: Path) -> None:
    path, program = tmp_path / "file.json", of_infeasible_edges()
    program.solve("cvxpy:clarabel").certificate.save(path, program)
    document = json.loads(path.read_text())
    multipliers = document["proof"]["multipliers"]
    if change == "objective":
        multipliers[change] = "1"
    else:
        multipliers[change] = [f"{-int(value, 16):x}" for value in multipliers[change]]
    path.write_text(json.dumps(document))
    assert not verify(path, program)


def test_feasible_programs_are_not_claimed_to_be_infeasible(tmp_path: Path) -> None:
    path, program = tmp_path / "file.json", of_infeasible_edges()
    program.solve("cvxpy:clarabel").certificate.save(path, program)
    document = json.loads(path.read_text())
    feasible = of_edges_below(1.0, program.margins.to_array(), lambda d: cp.sum_squares(d))
    feasible.solve("cvxpy:clarabel").certificate.save(path, feasible)
    lie = json.loads(path.read_text()) | {"proof": document["proof"], "claim": document["claim"]}
    path.write_text(json.dumps(lie))
    assert "do not prove this" in verify(path, feasible).reason


def test_intervals_with_one_end_travel(tmp_path: Path) -> None:
    path, program = tmp_path / "file.json", of_edges_below(0.5, MARGINS, lambda d: cp.sum_squares(d))
    certificate_of_answer = program.solve("cvxpy:clarabel").certificate
    for ends in ({"upper": np.inf}, {"lower": -np.inf}):
        certificate = dataclasses.replace(certificate_of_answer, **ends)
        certificate.save(path, program)
        verification = verify(path, program)
        assert verification and verification.outcome == "solved", verification.reason
        assert verification.lower - 1e-6 <= certificate_of_answer.lower or verification.lower == -np.inf
        assert (verification.lower, verification.upper)["lower" not in ends] in (-np.inf, np.inf)
        document = json.loads(path.read_text())
        assert document["claim"]["status"] == "open"
        document["claim"] |= {"status": "bounded", "lower": -9.0, "upper": 9.0}
        path.write_text(json.dumps(document))
        assert not verify(path, program)
    with pytest.raises(ProblemError, match=r"\bstates a finite end\b.*\bgot\b.*\bkeep\b"):
        dataclasses.replace(certificate_of_answer, lower=-np.inf, upper=np.inf).save(path, program)


def of_hinge() -> Any:
    """Return a program whose F no file states as a problem."""
    return prototype(
        "hinge",
        lambda p, examples: Hinge(examples.c, 0.1),
        lambda p: CvxpyEdges(lambda e: cp.sum_squares(e)),
        nu=parameter("the number of examples", COUNT),
    ).bind(MARGINS, nu=3)


def of_root() -> Any:
    """Return a program whose description has an irrational coefficient."""
    return prototype(
        "root",
        lambda p, examples: CvxpyRegularizer(
            CappedSimplex(examples.c, p.nu), lambda d: cp.sqrt(cp.Constant(2.0)) * cp.sum_squares(d), UNIFORM
        ),
        nu=parameter("the number of examples", COUNT),
    ).bind(MARGINS, nu=3)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (of_hinge, r"\bstates F as a problem\b.*\bgot Hinge\b.*\bdescription\b"),
        (of_root, r"\bcoefficients that are fractions\b"),
    ],
)
def test_programs_that_no_file_states_are_refused_in_words(make: Callable[[], Any], words: str, tmp_path: Path) -> None:
    program = make()
    certificate = program.solve("cvxpy:clarabel").certificate
    with pytest.raises(ProblemError, match=words):
        certificate.save(tmp_path / "certificate.json", program)
    assert not list(tmp_path.iterdir())


HOSTILE: dict[str, Callable[[dict[str, Any]], None]] = {
    "a maximum": lambda file: file["F"]["problem"].__setitem__("sense", "maximize"),
    "another format": lambda file: file.__setitem__("format", 2),
    "a further name": lambda file: file["F"].__setitem__("scale", 1.0),
    "an argument beyond": lambda file: file["F"].__setitem__("argument", 10**6),
    "an argument of another size": lambda file: file["G"].__setitem__("argument", 1),
    "no point": lambda file: file["proof"].__setitem__("point", None),
    "a further array": lambda file: file["arrays"].__setitem__("w", [1.0]),
    "negative multiplicities": lambda file: file["arrays"].__setitem__("c", [-1.0] * N),
    "a short reference": lambda file: file["arrays"].__setitem__("d0", [1.0]),
    "another digest": lambda file: file["data"].__setitem__("c", "0" * 64),
    "a number in place of data": lambda file: file["data"].__setitem__("N", -1),
}
"""Changes that no honest writer makes."""


@pytest.mark.parametrize("change", HOSTILE)
def test_hostile_files_of_described_programs_are_rejected_in_words(change: str, tmp_path: Path) -> None:
    document, (program, _) = content("fair edges"), certified("fair edges")
    HOSTILE[change](document)
    path = tmp_path / "hostile.json"
    path.write_text(json.dumps(document))
    verification = verify(path, program)
    assert not verification and verification.reason and verification.verdict == "none"


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", range(3))
def test_no_forgery_of_a_described_program_is_accepted_unless_true(seed: int) -> None:
    counts = forge(20, seed, ("fair edges", "squares"))
    assert sum(sum(kind.values()) for kind in counts.values()) == 20


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(4))
def test_none_of_many_forgeries_of_described_programs_is_accepted_unless_true(part: int) -> None:
    counts = forge(330, 100 + part)
    assert sum(kind["rejected"] for kind in counts.values()) > 160


def test_composed_problems_have_the_rows_of_both_parts_and_of_the_edges() -> None:
    document = content("fair edges")
    U = certified("fair edges")[0].margins.to_array()
    F, G = parse_described_part(document["F"], N, "F"), parse_described_part(document["G"], 5, "G")
    problem = composed_problem(F, G, U)
    assert problem.n == F.problem.n + G.problem.n
    assert problem.n_unknowns == F.problem.n_unknowns + G.problem.n_unknowns
    assert len(problem.inequalities) == len(F.problem.inequalities) + len(G.problem.inequalities)
    links = problem.equalities.rows[-5:]
    for j, row in enumerate(links):
        e = F.problem.n + G.positions[j]
        assert row == {e: 1, **{F.positions[i]: -Fraction(U[i, j]) for i in range(N) if U[i, j]}}
    starts = [node.start for node in problem.nodes]
    assert starts == sorted(starts) and all(start >= problem.n for start in starts)
    assert all(k < node.start for node in problem.nodes for row in node.arguments.rows for k in row)


def test_the_reach_of_edges_contains_all_edges() -> None:
    document = content("squares")
    F, G = parse_described_part(document["F"], N, "F"), parse_described_part(document["G"], 5, "G")
    problem = composed_problem(F, G, MARGINS)
    rng = np.random.default_rng(0)
    for _ in range(20):
        d = CappedSimplex(np.ones(N), 3.0).repair(rng.dirichlet(np.ones(N)), UNIFORM)
        for j, edge in enumerate((MARGINS.T @ d).tolist()):
            e = F.problem.n + G.positions[j]
            low, high = problem.lower[e], problem.upper[e]
            assert low is not None and high is not None and low <= Fraction(edge) <= high


def test_the_checker_of_described_programs_loads_no_cvxpy() -> None:
    code = f"import sys; import {problem_composition.__name__}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"cvxpy", "scipy", "clarabel", "highspy"} & {name.split(".")[0] for name in run.stdout.split()}
