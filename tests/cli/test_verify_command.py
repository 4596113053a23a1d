"""`boostopt verify`: exit statuses, streams, and the ways from a solve to a verified file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_runner import refused, run
from support.certificate_files import program

from boostopt import ProblemError, get_formulation, load_dataset
from boostopt.boosting_certificates.certificate import Certificate
from boostopt.verification.trusted_kernel import certificate_schema as reading


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with instances and certificates of them."""
    for case in ("cap", "reference", "infeasible"):
        bound_program = program(case)
        np.savez(
            tmp_path / f"{case}.npz",
            U=bound_program.margins.to_array(),
            c=bound_program.examples.c,
            d0=bound_program.examples.d0,
        )
        bound_program.solve(tol=1e-9).save(tmp_path / f"{case}.json")
    return tmp_path


@pytest.mark.parametrize("exact", [[], ["--exact"]], ids=["floats", "exact"])
@pytest.mark.parametrize("case", ["cap", "reference", "infeasible"])
def test_saved_certificates_are_accepted(folder: Path, case: str, exact: list[str]) -> None:
    result = run("verify", folder / f"{case}.json", "--data", folder / f"{case}.npz", *exact)
    assert result.exit_code == 0
    assert "accepted" in result.stdout and result.stderr == ""
    assert ("exact arithmetic" in result.stdout) == bool(exact)


def test_the_text_of_a_file_is_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts, parse = list[bytes](), reading.parse_json
    monkeypatch.setattr(reading, "parse_json", lambda raw: (texts.append(raw), parse(raw))[1])
    for case, data, status in (("cap", "cap", 0), ("cap", "reference", 1)):
        assert run("verify", folder / f"{case}.json", "--data", folder / f"{data}.npz").exit_code == status
        assert len(texts) == 1
        texts.clear()


def test_json_says_what_was_recomputed(folder: Path) -> None:
    result = run("verify", folder / "cap.json", "--data", folder / "cap.npz", "--json")
    document = json.loads(result.stdout)
    assert set(document) == {
        *("accepted", "reason", "formulation", "parameters", "outcome", "lower", "upper", "fractions", "claimed"),
        *("verdict", "what"),
    }
    assert document["accepted"] and document["verdict"] == "bounded" and document["formulation"] == "lpboost"
    assert document["claimed"][0] <= document["lower"] <= document["upper"] <= document["claimed"][1]


def test_other_data_are_rejected(folder: Path) -> None:
    result = run("verify", folder / "cap.json", "--data", "breast_cancer")
    assert result.exit_code == 1
    assert re.search(r"\b16\b.*\b4\b.*\(569, 100\)", " ".join(result.stdout.split()))


@pytest.mark.parametrize(("array", "reason"), [("c", "multiplicities c"), ("d0", "reference weights d0")])
def test_weights_of_the_data_are_those_of_the_file(folder: Path, array: str, reason: str) -> None:
    bound_program = program("reference")
    arrays = {"U": bound_program.margins.to_array(), "c": bound_program.examples.c, "d0": bound_program.examples.d0}
    arrays.pop(array)
    np.savez(folder / "without.npz", **arrays)  # pyright: ignore[reportArgumentType]
    result = run("verify", folder / "reference.json", "--data", folder / "without.npz")
    assert result.exit_code == 1
    assert f"has other {reason}" in " ".join(result.stdout.split())


def test_a_claim_of_more_is_rejected(folder: Path) -> None:
    document = json.loads((folder / "cap.json").read_text())
    document["claim"]["lower"] = document["claim"]["upper"]
    (folder / "more.json").write_text(json.dumps(document))
    result = run("verify", folder / "more.json", "--data", folder / "cap.npz", "--json")
    assert result.exit_code == 1
    assert re.search(rf"\bleast {re.escape(str(document['claim']['lower']))};", json.loads(result.stdout)["reason"])


@pytest.mark.thorough_cases("no=1,yes=3")
@pytest.mark.parametrize("weight", ["balanced", "no=1,yes=3"])
def test_a_proof_with_class_weights_is_verified_with_the_same(weight: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [f"{x:.3f},{'yes' if x + noise > 0.7 else 'no'}" for x, noise in rng.normal(size=(60, 2)) * [1, 0.5]]
    data, proof = tmp_path / "data.csv", tmp_path / "proof.json"
    data.write_text("\n".join(["x,label", *rows]) + "\n")
    fit = ("fit", "--data", data, "--out", tmp_path / "m.npz", "--epsilon", "0.3", "--certificate", proof)
    assert run(*fit, "--class-weight", weight).exit_code == 0
    verify = ("verify", proof, "--data", data, "--classifier")
    assert run(*verify, "--class-weight", weight).exit_code == 0
    assert run(*verify).exit_code == 1 and run(*verify, "--class-weight", "no=1,yes=2").exit_code == 1
    refused(r"--class-weight\b.*--classifier\b", "verify", proof, "--data", data, "--class-weight", weight)


@pytest.mark.parametrize("command", ["fit", "boost", "certify"])
def test_columns_are_found_by_their_names(command: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)).round(3)
    table = pd.DataFrame(X, columns=["age", "bmi", "sex"]).assign(label=np.where(X[:, 0] + X[:, 1] > 0, 1, -1))
    data, proof, answer = tmp_path / "data.csv", tmp_path / "proof.json", tmp_path / "answer.npz"
    table.to_csv(data, index=False)
    if command == "fit":
        run("fit", "--data", data, "--out", tmp_path / "m.npz", "--epsilon", "0.3", "--certificate", proof)
    elif command == "boost":
        run("boost", "lpboost", "--data", data, "--nu", "0.3", "--epsilon", "0.3", "--certificate", proof)
    else:
        np.savez(answer, d=np.full(60, 1 / 60))
        run("certify", "lpboost", answer, "--data", data, "--nu", "0.3", "--tol", "0.9", "--save", proof)
    verify = ("verify", proof, *(["--classifier"] if command == "fit" else []), "--data")
    table.assign(id=range(60))[["id", "sex", "label", "age", "bmi"]].to_csv(tmp_path / "other.csv", index=False)
    assert run(*verify, tmp_path / "other.csv").exit_code == 0
    table.drop(columns="sex").assign(gender=0.0).to_csv(tmp_path / "lacking.csv", index=False)
    result = run(*verify, tmp_path / "lacking.csv")
    assert result.exit_code == 1
    words = " ".join(result.stdout.replace("│", " ").split())
    assert re.search(r"\b3 features\b.*\bsex\b.*\bgender\b", words)


def test_no_file_is_bad_input(folder: Path) -> None:
    refused(r"\bcertificate\b.*\bno file 'none\.json'", "verify", "none.json", "--data", folder / "cap.npz")
    refused(r"\bbreast_cancer\b.*\bno file .*none\.npz'", "verify", folder / "cap.json", "--data", folder / "none.npz")


def test_an_npz_file_is_no_certificate(folder: Path) -> None:
    data = folder / "cap.npz"
    refused(r"cap\.npz'.*\bnpz file\b.*`boostopt fit --certificate`", "verify", data, "--data", data)


def test_an_answer_from_elsewhere_travels(folder: Path) -> None:
    bound_program = program("cap")
    solution = bound_program.solve(tol=1e-9)
    np.savez(folder / "answer.npz", d=solution.d, w=solution.w)
    data = folder / "cap.npz"
    np.savez(data, U=bound_program.margins.to_array(), c=bound_program.examples.c)
    answer, saved_as = folder / "answer.npz", folder / "c.json"
    saved = run("certify", "lpboost", answer, "--data", data, "--set", "nu=3.5", "--save", saved_as)
    assert saved.exit_code == 0, saved.stderr
    assert run("verify", saved_as, "--data", data).exit_code == 0


def test_a_certificate_is_saved_with_its_own_program(tmp_path: Path) -> None:
    certificate: Certificate = program("cap").solve(tol=1e-9).certificate
    certificate.save(tmp_path / "c.json", program("cap"))
    assert run("verify", tmp_path / "c.json", "--data", "breast_cancer").exit_code == 1
    with pytest.raises(ProblemError, match=r"\bcertificate\b.* 16\b.* 4\b"):
        certificate.save(tmp_path / "d.json", get_formulation("lpboost").bind(np.eye(3), nu=2))
    assert not (tmp_path / "d.json").exists()


@pytest.mark.parametrize("oracle", [[], ["--oracle", "feature"]], ids=["stumps", "features"])
def test_the_certificate_of_a_run_is_held_against_its_class(tmp_path: Path, oracle: list[str]) -> None:
    path, nu = tmp_path / "class.json", ["--nu", "0.2", "--epsilon", "0.1"]
    cli_result = run("boost", "erlpboost", "--data", "breast_cancer", *nu, *oracle, "--certificate", path)
    assert cli_result.exit_code == 0, cli_result.stderr
    result = run("verify", path, "--data", "breast_cancer", *oracle)
    assert result.exit_code == 0 and "both bounds" in result.stdout
    other_run = run("verify", path, "--data", "breast_cancer", "--oracle", "kernel")
    assert other_run.exit_code == 1 and "other examples" in " ".join(other_run.stdout.split())


def test_the_columns_of_a_matrix_are_a_class(folder: Path) -> None:
    data, path = folder / "cap.npz", folder / "class.json"
    np.savez(data, U=program("cap").margins.to_array())
    cli_result = run("boost", "erlpboost", "--data", data, "--set", "nu=3.5", "--epsilon", "0.1", "--certificate", path)
    assert cli_result.exit_code == 0, cli_result.stderr
    assert run("verify", path, "--data", data).exit_code == 0
    assert run("verify", path, "--data", data, "--reflexive").exit_code == 1
    assert run("verify", path, "--data", data, "--exact").exit_code == 2


@pytest.mark.thorough
def test_columns_that_are_no_features_are_left_out_by_every_command(tmp_path: Path) -> None:
    data, bare = tmp_path / "named.csv", tmp_path / "bare.csv"
    rows = [(f"P{k}", k % 7, (3 * k) % 5, "yes" if k % 3 else "no") for k in range(30)]
    data.write_text("id,a,b,label\n" + "\n".join(",".join(map(str, row)) for row in rows))
    bare.write_text("a,b,label\n" + "\n".join(",".join(map(str, row[1:])) for row in rows))
    shared = ["lpboost", "--data", data, "--nu", "0.2"]
    refused(r"named\.csv, line 2: .*'id'.*--drop\b", "compare", *shared)
    refused(r"\bCSV\b.*'wine'.*--drop\b", "compare", "lpboost", "--data", "wine", "--nu", "5", "--drop", "id")
    assert run("compare", *shared, "--drop", "id", "--backends", "interior").exit_code == 0
    assert run("boost", *shared, "--drop", "id", "--certificate", tmp_path / "c.json").exit_code == 0
    assert run("verify", tmp_path / "c.json", "--data", data, "--drop", "id").exit_code == 0
    assert run("verify", tmp_path / "c.json", "--data", bare).exit_code == 0
    assert run("path", *shared, "--drop", "id", "--epsilon", "0.2").exit_code == 0
    assert run("export", *shared, "--drop", "id", "--out", tmp_path / "m.mps").exit_code == 0


@pytest.mark.thorough
def test_the_proof_of_a_fit_is_verified_over_its_data(folder: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [
        f"{a:.1f},{b:.1f},{'yes' if a + b > 0 else 'no'},{1 + k % 3}"
        for k, (a, b) in enumerate(rng.normal(size=(40, 2)))
    ]
    data, proof = folder / "train.csv", folder / "proof.json"
    data.write_text("\n".join(["a,b,healed,times", *rows]), encoding="utf-8")
    how = ("--data", data, "--label", "healed", "--weights", "times")
    fitted = run("fit", *how, "--out", folder / "model.npz", "--epsilon", "0.2", "--certificate", proof)
    # A long path is broken over the lines of the table.
    assert fitted.exit_code == 0 and "proof.json" in fitted.stdout.translate({ord(c): None for c in "│ \n"})
    assert run("verify", proof, *how, "--classifier").exit_code == 0
    for other_options in (
        how,
        (*how[:4], "--drop", "times", "--classifier"),
        (*how, "--classifier", "--oracle", "feature"),
    ):
        rejected = run("verify", proof, *other_options)
        assert rejected.exit_code == 1 and "other examples" in " ".join(rejected.stdout.split())


def test_proofs_of_several_classes_are_for_python(folder: Path) -> None:
    proof = folder / "proof.json"
    facts = r"--certificate\b.* 3 classes\b.*\bsave_certificate\b"
    refused(facts, "fit", "--data", "iris", "--out", folder / "m.npz", "--certificate", proof)
    assert not proof.exists() and not (folder / "m.npz").exists()


def test_a_classifier_is_fitted_to_examples(folder: Path) -> None:
    data = folder / "margins.npz"
    np.savez(data, U=program("cap").margins.to_array())
    run("boost", "lpboost", "--data", data, "--nu", "3", "--certificate", folder / "class.json")
    refused(r"margins\.npz\b.* U\b.*--classifier\b", "verify", folder / "class.json", "--data", data, "--classifier")


def test_a_proof_of_random_stumps_is_found_without_being_told(tmp_path: Path) -> None:
    """Proofs of older versions are of random stumps, the only stumps of these versions."""
    program_of_proof = get_formulation("lpboost").bind(load_dataset("breast_cancer").margin_matrix(6, 2), nu=50)
    program_of_proof.solve("highs").save(tmp_path / "proof.json")
    verify_arguments = ("verify", tmp_path / "proof.json", "--data", "breast_cancer", "--columns", 6)
    assert run(*verify_arguments, "--random-state", 2).exit_code == 0
    assert run(*verify_arguments, "--random-state", 3).exit_code == 1


OWN_PAGE = """
import numpy as np
from boostopt.authoring import COUNT, POSITIVE, CappedSimplex, formula, parameter, prototype

page = prototype(
    "by_order",
    lambda p, x: formula("a*z*d", CappedSimplex(x.c, p.nu), z=np.linspace(-1, 1, x.N), a=p.a),
    nu=parameter("the count", COUNT),
    a=parameter("the price", POSITIVE),
)
"""


@pytest.mark.parametrize("weights", [(1.0, 2.0), (0.25, 0.5), (0.001, 0.002)], ids=str)
def test_the_proof_of_a_fit_is_about_the_rows_as_the_page_has_them(folder: Path, weights: tuple[float, float]) -> None:
    """A page that may depend on the order has the rows in their order; a tiny share of weights is scaled."""
    page, data, proof = folder / "by_order.py", folder / "rows.npz", folder / "proof.json"
    page.write_text(OWN_PAGE, encoding="utf-8")
    X = np.repeat(np.random.default_rng(3).integers(0, 4, size=(12, 2)), 2, axis=0).astype(float)
    np.savez(data, X=X, y=np.repeat(np.arange(12) % 5 > 1, 2), c=np.tile(weights, 12))
    fit = ("--formulation", page, "--set", "a=0.5", "--nu", "0.3", "--epsilon", "0.3", "--certificate", proof)
    assert run("fit", "--data", data, "--out", folder / "m.npz", *fit).exit_code in (0, 1)
    result = run("verify", proof, "--data", data, "--classifier", "--formulation", page)
    assert result.exit_code == 0, result.stdout
    np.savez(data, X=X[::-1], y=np.repeat(np.arange(12) % 5 > 1, 2)[::-1], c=np.tile(weights, 12)[::-1])
    assert run("verify", proof, "--data", data, "--classifier", "--formulation", page).exit_code == 1


def test_files_of_programs_need_data(folder: Path) -> None:
    refused(r"--data\b", "verify", folder / "cap.json")
