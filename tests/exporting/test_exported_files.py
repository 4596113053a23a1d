"""The files themselves: every digit is there, what they say is true, what cannot be written is refused."""

from __future__ import annotations

import hashlib
import re
import shlex
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse
from slow_readers import opened, read_cbf
from test_programs_exported import random_program

import boostopt.exporting.formats.npz_format
from boostopt import DataError, OptionError, Program, get_formulation, list_formulations, load_dataset
from boostopt.authoring import COUNT, CappedSimplex, CappedSimplexIndicator, CvxpyRegularizer, parameter, prototype
from boostopt.exporting import export
from boostopt.exporting.conic_form import conic_program
from boostopt.exporting.export import FORMATS
from boostopt.exporting.file_header import certify_command_line
from boostopt.exporting.formats.mps_format import write_mps
from boostopt.programs.program_identity import program_digest

AWKWARD = np.array([0.1, 1 / 3, 0.1 + 0.2, -2 / 3, 1.0 - 2**-53, 2.0**-20 / 3, 1e-8, -1.0])
"""Entries of U that 15 digits do not hold."""

TINY = np.array([0.0, 5e-324, 2.0**-60, -1e-300, 1e-17 / 3, 2.5e-10, -1e-9, 1.0])
"""Entries that HiGHS leaves out when it reads a file, down to the smallest number there is."""


def awkward(third: np.ndarray = -AWKWARD) -> Program:
    U = np.array([AWKWARD, AWKWARD[::-1], third]).T
    return get_formulation("lpboost").bind(U, nu=np.pi, c=np.sqrt(np.arange(1.0, 9.0)))


def comments(path: Path, sign: str) -> str:
    lines = [line for line in path.read_text("ascii").splitlines() if line.startswith(sign)]
    return " ".join(line.removeprefix(sign).strip() for line in lines)


# Numbers


def test_every_digit_of_a_linear_program_is_in_the_file(tmp_path: Path) -> None:
    program = awkward()
    export(program, tmp_path / "model.mps")
    lp = opened(tmp_path / "model.mps").getLp()
    matrix = lp.a_matrix_
    A = scipy.sparse.csc_array((matrix.value_, matrix.index_, matrix.start_), shape=(lp.num_row_, lp.num_col_))
    # Rows e - U'd = 0, then the sum of d and e <= gamma.
    np.testing.assert_array_equal(-A[:3, :8].toarray().T, program.margins.to_array())
    np.testing.assert_array_equal(A[:3, 8:11].toarray(), np.eye(3))
    np.testing.assert_array_equal(lp.col_upper_[:8], program.examples.c / np.pi)
    np.testing.assert_array_equal(lp.col_lower_[:8], np.zeros(8))
    assert lp.col_names_ == [*(f"d_{n}" for n in range(1, 9)), "e_1", "e_2", "e_3", "x_1"]
    assert lp.row_names_ == ["w_1", "w_2", "w_3", "r_1", "r_2", "r_3", "r_4"]
    assert list(lp.row_lower_)[3] == list(lp.row_upper_)[3] == 1.0


def test_a_writer_of_15_digits_would_not_do(tmp_path: Path) -> None:
    """HiGHS's own writer: what it writes of this program reads as another one."""
    export(awkward(), tmp_path / "model.mps")
    highs = opened(tmp_path / "model.mps")
    highs.writeModel(str(tmp_path / "again.mps"))
    first, second = (np.array(model.getLp().a_matrix_.value_) for model in (highs, opened(tmp_path / "again.mps")))
    assert np.abs(first - second).max() > 0


def test_every_digit_of_a_conic_program_is_in_the_file(tmp_path: Path) -> None:
    program = awkward(TINY)
    export(program, tmp_path / "model.cbf", "dual")
    file = read_cbf(tmp_path / "model.cbf")
    np.testing.assert_array_equal(file.A[:8, :3], program.margins.to_array())
    np.testing.assert_array_equal(file.A[:8, 3:11], -np.eye(8))
    assert file.version == 3


def test_an_exponential_cone_is_the_other_way_round(tmp_path: Path) -> None:
    """Min (d ln(d / d0) + ...) / eta: x_0 >= x_1 exp(x_2 / x_1) with x_0 = d0 and x_1 = d."""
    d0 = np.array([0.25, 0.75])
    program = get_formulation("erlpboost").bind(np.array([[1.0], [-1.0]]), nu=1, eta=4.0, d0=d0)
    export(program, tmp_path / "model.cbf")
    file = read_cbf(tmp_path / "model.cbf")
    start = sum(size for kind, size in file.cones if kind != "EXP")
    assert [kind for kind, _ in file.cones][-2:] == ["EXP", "EXP"]
    for n in range(2):
        rows = slice(start + 3 * n, start + 3 * n + 3)
        np.testing.assert_array_equal(file.b[rows], [d0[n], 0.0, 0.0])
        np.testing.assert_array_equal(file.A[rows, n], [0.0, 1.0, 0.0])


def test_a_quadratic_objective_has_its_half(tmp_path: Path) -> None:
    program = get_formulation("svm").bind(np.array([[1.0, 0.5], [-1.0, 1.0]]), C=2.0)
    export(program, tmp_path / "model.mps")
    highs = opened(tmp_path / "model.mps")
    model = highs.getModel()
    hessian: Any = model.hessian_
    assert hessian.dim_ == model.lp_.num_col_
    d = np.array([0.5, 1.0])
    e = np.array([[1.0, 0.5], [-1.0, 1.0]]).T @ d
    value = program.regularizer.value(d) + program.edge_function.value(e)
    x = np.zeros(hessian.dim_)
    x[:4] = [*d, *e]
    model_value = 0.5 * sum(v * x[i] * x[i] for i, v in zip(hessian.index_, hessian.value_, strict=True))
    model_value += float(np.dot(model.lp_.col_cost_, x)) + model.lp_.offset_
    assert model_value == pytest.approx(value, abs=1e-15)


def test_a_constant_of_the_objective_is_counted(tmp_path: Path) -> None:
    """F = 3 on the simplex: the optimum is 3 more than the largest edge."""
    constant_page = prototype(
        "above",
        lambda p, examples: CvxpyRegularizer(
            domain=CappedSimplex(examples.c, p.nu),
            f=lambda d: 0.0 * cp.sum(d) + 3.0,
            inside=examples.c / examples.total,
        ),
        nu=parameter("the number of examples that share the weight", COUNT),
    )
    program = constant_page.bind(np.array([[1.0], [1.0]]), nu=1)
    export(program, tmp_path / "model.mps")
    highs = opened(tmp_path / "model.mps")
    highs.run()
    assert highs.getInfo().objective_function_value == pytest.approx(4.0, abs=1e-12)
    assert "constant 3.0." in comments(tmp_path / "model.mps", "*")
    export(program, tmp_path / "model.cbf")
    assert read_cbf(tmp_path / "model.cbf").constant == 3.0


def test_bounds_that_cross_are_left_for_the_solver(tmp_path: Path) -> None:
    """d_n >= 3/4 and d_n <= -3/4 as bounds might be a file that is refused; a solver is to say that there is no d."""
    program = get_formulation("lpboost").bind(np.array([[1.0, 0.5], [-1.0, 0.25], [0.5, -1.0]]), nu=2)
    conic = conic_program(program, "primal", quadratic=True)
    entries = np.diff(scipy.sparse.csr_array(conic.A).indptr)
    with (tmp_path / "model.mps").open("wb") as file:
        write_mps(replace(conic, b=np.where(entries == 1, -0.75, conic.b)), "crossed", [], file)
    highs = opened(tmp_path / "model.mps")
    highs.run()
    assert highs.modelStatusToString(highs.getModelStatus()) == "Infeasible"


# What a file says of itself


@pytest.mark.parametrize("ending, sign", [(".mps", "*"), (".cbf", "#")])
def test_exported_file_states_its_program(tmp_path: Path, ending: str, sign: str) -> None:
    program = awkward()
    U = program.margins.to_array()
    # The digest as anybody can compute it.
    digest = hashlib.sha256(repr(U.shape).encode() + np.ascontiguousarray(U).tobytes()).hexdigest()
    objectives = {"primal": r"min F\(d\) \+ G\(U'd\)\.", "dual": r"max -F\*\(-Uw\) - G\*\(w\), .*\bnegative\."}
    for side in objectives:
        export(program, tmp_path / f"model{ending}", side)
        header = comments(tmp_path / f"model{ending}", sign)
        assert f"lpboost: N = 8, t = 3, nu = {np.pi!r}, epsilon = 0.01, two_sided = false " in header
        assert digest in header
        assert [name for name, objective in objectives.items() if re.search(objective, header)] == [side]
        assert f"boostopt certify lpboost ANSWER --data INSTANCE.npz --set nu={np.pi!r}" in header


@pytest.mark.thorough
def test_no_line_is_longer_than_readers_take(tmp_path: Path) -> None:
    for name in list_formulations():
        for side in ("primal", "dual"):
            export(get_formulation(name).example_program(), tmp_path / "model.cbf", side)
            lines = (tmp_path / "model.cbf").read_text("ascii").splitlines()
            assert max(map(len, lines)) <= 200


def test_files_of_the_same_program_are_the_same(tmp_path: Path) -> None:
    for ending in (".mps", ".cbf", ".npz"):
        contents: list[bytes] = []
        for _ in range(2):
            export(awkward(), tmp_path / f"model{ending}")
            contents.append((tmp_path / f"model{ending}").read_bytes())
        assert contents[0] == contents[1]


# Instances


@pytest.mark.every(2)
@pytest.mark.parametrize("name", list_formulations())
def test_a_program_is_bound_again_from_its_instance(tmp_path: Path, name: str) -> None:
    for program in (get_formulation(name).example_program(), random_program(name)):
        path = tmp_path / "instance.npz"
        export(program, path)
        dataset = load_dataset(str(path))
        with np.load(path) as archive:
            arrays = dict(archive)
        per_example = {name: arrays[name] for name in dataset.unread}
        command = certify_command_line(program, name)
        if command is None:
            assert per_example  # an array does not fit a command line
            settings: dict[str, Any] = {"b": program.parameters.b}
        else:
            words = shlex.split(command)
            pairs = [words[i + 1].split("=") for i, word in enumerate(words) if word == "--set"]
            settings = {key: {"true": True, "false": False}.get(value, value) for key, value in pairs}
            settings = {key: float(value) if isinstance(value, str) else value for key, value in settings.items()}
        again = get_formulation(name).bind(dataset.U, c=dataset.c, d0=dataset.d0, **settings, **per_example)
        assert program_digest(again) == program_digest(program)


@pytest.mark.parametrize("dtype", [np.int8, np.float64])
@pytest.mark.parametrize("sparse", [False, True])
def test_margins_come_back_from_any_storage(tmp_path: Path, dtype: Any, sparse: bool) -> None:
    U = np.random.default_rng(0).choice([-1, 0, 1], (30, 7)).astype(dtype)
    program = get_formulation("lpboost").bind(scipy.sparse.csr_array(U) if sparse else U, nu=3)
    export(program, tmp_path / "instance.npz")
    table = load_dataset(str(tmp_path / "instance.npz"))
    np.testing.assert_array_equal(table.U, U)
    assert table.U.dtype == dtype
    assert get_formulation("lpboost").bind(table.U, nu=3).margins.digest() == program.margins.digest()


def test_a_reference_distribution_of_many_examples_comes_back_to_the_last_bit(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    U, c = rng.choice([-1, 1], (50_000, 1)), rng.uniform(0.1, 3, 50_000)
    for d0 in (None, rng.dirichlet(np.ones(50_000))):
        program = get_formulation("erlpboost").bind(U, nu=100, eta=10.0, c=c, d0=d0)
        export(program, tmp_path / "instance.npz")
        table = load_dataset(str(tmp_path / "instance.npz"))
        assert (table.d0 is None) == (d0 is None)
        again = get_formulation("erlpboost").bind(table.U, nu=100, eta=10.0, c=table.c, d0=table.d0)
        assert program_digest(again) == program_digest(program)


def test_a_sparse_matrix_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boostopt.exporting.formats.npz_format, "MAX_DENSE_BYTES", 8 * 30 * 7 - 1)
    U = scipy.sparse.random_array((30, 7), density=0.2, rng=np.random.default_rng(0))
    program = get_formulation("lpboost").bind(U, nu=3)
    with pytest.raises(DataError, match=r"\b1679 bytes\b.*\(30, 7\), 1680 bytes\b.*\.mps, \.cbf\b"):
        export(program, tmp_path / "instance.npz")
    assert list(tmp_path.iterdir()) == []


# What cannot be written


@pytest.mark.parametrize("name", ["model.lp", "model", "model.mps.gz", ".mps"])
def test_an_ending_that_says_no_format_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with pytest.raises(OptionError, match=rf"\.cbf \(.*\.mps \(.*\.npz \(.*{re.escape(repr(str(path)))}"):
        export(awkward(), path)


def test_endings_may_be_in_capitals(tmp_path: Path) -> None:
    export(awkward(), tmp_path / "MODEL.MPS")
    assert (tmp_path / "MODEL.MPS").read_text().startswith("* Written by boostopt.\n")


def test_cones_do_not_fit_mps(tmp_path: Path) -> None:
    expected = (
        "MPS holds linear and quadratic programs; erlpboost needs exponential cones. Write a path that ends in .cbf."
    )
    with pytest.raises(OptionError, match=f"^{re.escape(expected)}$"):
        export(random_program("erlpboost"), tmp_path / "model.mps")
    with pytest.raises(OptionError, match=r"\bnorm_ball\b.*\bsecond_order\b.*\.cbf\b"):
        export(get_formulation("norm_ball").example_program(), tmp_path / "model.mps")
    assert list(tmp_path.iterdir()) == []


def test_a_side_that_there_is_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"\bside 'dull'.*'dual'.*: dual, primal\."):
        export(awkward(), tmp_path / "model.mps", "dull")


def custom_program(f: Any) -> Program:
    page = prototype(
        "own",
        lambda p, examples: CvxpyRegularizer(
            domain=CappedSimplex(examples.c, p.nu), f=f, inside=examples.c / examples.total
        ),
        nu=parameter("the number of examples that share the weight", COUNT),
    )
    return page.bind(np.array([[1.0, 0.5], [-1.0, 0.25], [0.5, -1.0]]), nu=2)


def test_a_dual_that_is_not_known_is_refused(tmp_path: Path) -> None:
    for ending in (".mps", ".cbf"):
        with pytest.raises(OptionError, match=r"\bconjugates\b.*\bown\b.*\bprimal\b"):
            export(custom_program(cp.sum_squares), tmp_path / f"model{ending}", "dual")


def test_semidefinite_cones_are_refused(tmp_path: Path) -> None:
    class Spectral(CappedSimplexIndicator):
        cones = frozenset({"linear", "semidefinite"})

        def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
            return cp.sigma_max(cp.diag(d)), super().cvxpy_value(d)[1]

    page = prototype("own", lambda p, examples: Spectral(CappedSimplex(examples.c, 2.0)))
    program = page.bind(np.array([[1.0, 0.5], [-1.0, 0.25], [0.5, -1.0]]))
    with pytest.raises(OptionError, match=r"\bown\b.*\bsemidefinite\b.*\binstance\b"):
        export(program, tmp_path / "model.cbf")


@pytest.mark.parametrize("ending", FORMATS)
def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "none" / f"model{ending}"
    with pytest.raises(DataError, match=f"^{re.escape(str(path))} .*No such file"):
        export(awkward(), path)


@pytest.mark.parametrize("ending", FORMATS)
def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    path = tmp_path / f"model{ending}"
    path.write_text("before")

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    formats = {ending: replace(FORMATS[ending], prepare=lambda program, side: interrupted)}
    monkeypatch.setattr(import_module("boostopt.exporting.export"), "FORMATS", formats)
    with pytest.raises(KeyboardInterrupt):
        export(awkward(), path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
