"""`--cluster`: what the commands say of rows on a cluster is what they say of those in memory; bad input has words."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_runner import document, refused, run
from test_commands_page import commands_of_page

pytest.importorskip("distributed")
import pandas as pd
from distributed import Client, LocalCluster, get_client

import boostopt.cli
from boostopt import Run
from boostopt.cli import cluster_tables as clusters
from boostopt.errors import ProblemError

pytestmark = pytest.mark.thorough

# Dask types what it returns as all that it may be, asynchronous ones included.
cluster_of: Any = LocalCluster
client_of: Any = Client
current: Any = get_client

N = 400
HOW: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": None}
COARSE = ("--nu", "0.3", "--epsilon", "0.2")
APART = ("--label", "kind", "--drop", "id,three")


def table() -> Any:
    """Features of two kinds, two classes and three, whole weights, and what is no feature."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N, 3)).round(2)
    z = X[:, 0] + X[:, 1] + rng.normal(size=N)
    return pd.DataFrame(X, columns=["a", "b", "c"]).assign(
        flag=rng.integers(0, 2, N).astype(bool),
        kind=np.where(z > 0, "yes", "no"),
        three=np.digitize(z, [-1.0, 1.0]),
        copies=rng.integers(0, 3, N),
        id=[f"r{n}" for n in range(N)],
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table as one file, and as twelve in a folder."""
    folder = tmp_path_factory.mktemp("rows")
    table().to_parquet(folder / "rows.parquet")
    (folder / "parts").mkdir()
    for k in range(12):
        table()[N * k // 12 : N * (k + 1) // 12].to_parquet(folder / "parts" / f"part-{k}.parquet")
    return folder


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with cluster_of(n_workers=2, processes=True, **HOW) as cluster:
        yield cluster.scheduler_address


def check_documents_agree(first: dict[str, Any], second: dict[str, Any], *excluded_fields: str) -> None:
    """Assert that two records are equal except for times and the fields of rows."""
    for field in first.keys() - {"seconds", "trace", "bytes", "model", "parameters", *excluded_fields}:
        assert first[field] == second[field], field
    # Where two examples stand for all, the last bit of their entropy may differ, and eta with it.
    assert first.get("parameters", {}) == pytest.approx(second.get("parameters", {}), rel=1e-15)


def read_predictions(folder: Path) -> Any:
    """Return the rows of the parts of a folder, in their order."""
    parts = [pd.read_parquet(folder / f"part.{k}.parquet") for k in range(len(list(folder.iterdir())))]
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize("source", ["rows.parquet", "parts", "parts/part-*.parquet"])
def test_boost_is_that_of_the_rows_in_memory(source: str, folder: Path, address: str) -> None:
    how = ("boost", "erlpboost", "--data", folder / source, *APART, "--weights", "copies", *COARSE)
    file_document, content = document(*how, "--cluster", address), document(*how, "--oracle", "binned")
    check_documents_agree(file_document, content, "collected", "digest")
    assert file_document["class"]["bounded"] and file_document["reached"] and file_document["weights"]
    for name in ("hypotheses", "soft_margin", "upper"):
        assert file_document["trace"][name] == content["trace"][name]
    assert file_document["collected"] is None and file_document["digest"] is None
    text = run(*how, "--cluster", address, "--oracle", "binned", "--option", "bins=255").stdout
    lower = f"{file_document['class']['lower']:.10g}"
    assert lower in text and len(re.findall(r"\[.+, .+\]", text)) == 1 and re.search(r"\+0\.\d+  [abc] ", text)


def test_a_run_goes_on_from_its_checkpoint_is_saved_and_proved_in_memory(
    folder: Path, address: str, tmp_path: Path
) -> None:
    files = ("--out", tmp_path / "run.npz", "--certificate", tmp_path / "proof.json")
    how = ("boost", "erlpboost", "--data", folder / "parts", *APART, "--weights", "copies", *COARSE)
    whole = document(*how, "--cluster", address)
    checkpoint_arguments = (*how, "--cluster", address, "--checkpoint", tmp_path / "check.npz")
    document(*checkpoint_arguments, "--max-rounds", "1", status=1)
    check_documents_agree(document(*checkpoint_arguments, *files), whole)
    loaded = Run.load(tmp_path / "run.npz")
    assert (loaded.class_certificate.lower, loaded.class_certificate.upper) == (
        whole["class"]["lower"],
        whole["class"]["upper"],
    )
    judged = ("--data", folder / "parts", *APART, "--weights", "copies", "--oracle", "binned")
    assert run("verify", tmp_path / "proof.json", *judged).exit_code == 0
    assert run("verify", tmp_path / "proof.json", *judged[:-2], "--oracle", "feature").exit_code == 1


def test_one_class_is_set_against_the_others(folder: Path, address: str) -> None:
    how = ("boost", "lpboost", "--data", folder / "parts", "--label", "three", "--drop", "id,kind", "--positive", "2")
    file_document = document(*how, *COARSE, "--cluster", address)
    check_documents_agree(file_document, document(*how, *COARSE, "--oracle", "binned"), "collected", "digest")


@pytest.mark.parametrize("label", ["kind", "three", "flag"])
def test_fit_writes_the_model_of_the_rows_in_memory_and_predict_goes_there(
    label: str, folder: Path, address: str, tmp_path: Path
) -> None:
    other_columns = ",".join({"kind", "three", "id", "copies"} - {label})
    how = (
        "fit",
        "--data",
        folder / "parts",
        "--label",
        label,
        "--drop",
        other_columns,
        "--nu",
        "0.5",
        "--epsilon",
        "0.4",
    )
    file_document = document(*how, "--cluster", address, "--out", tmp_path / "there.npz")
    content = document(*how, "--base", "binned", "--out", tmp_path / "here.npz")
    check_documents_agree(file_document, content)
    assert sum(file_document["classes"].values()) == N and file_document["feature_importances"]
    for name, *cluster_options in (("one", "--cluster", address), ("other",)):
        model = tmp_path / ("there.npz" if name == "one" else "here.npz")
        data = folder / ("parts" if name == "one" else "rows.parquet")
        result = run(
            "predict", model, "--data", data, "--label", label, "--scores", "--out", tmp_path / name, *cluster_options
        )
        assert result.exit_code == 0, result.stderr
        (left_out,) = re.findall(rf"^warning: {re.escape(str(data))} .*: (.*)\.$", result.stderr, re.MULTILINE)
        assert set(left_out.split(", ")) == set(other_columns.split(","))
    pd.testing.assert_frame_equal(
        read_predictions(tmp_path / "one"), pd.read_csv(tmp_path / "other"), check_dtype=False
    )


def test_weights_of_a_fit_are_multiplicities(folder: Path, address: str, tmp_path: Path) -> None:
    how = ("fit", "--data", folder / "parts", *APART, "--weights", "copies", "--nu", "0.5", "--epsilon", "0.4")
    file_document = document(*how, "--cluster", address, "--out", tmp_path / "there.npz")
    check_documents_agree(file_document, document(*how, "--base", "binned", "--out", tmp_path / "here.npz"))


def test_a_model_without_names_goes_by_the_order(folder: Path, address: str, tmp_path: Path) -> None:
    frame = table()
    np.savez(tmp_path / "rows.npz", X=frame[["a", "b", "c"]].to_numpy(), y=frame["three"].to_numpy())
    frame[["a", "b", "c", "three"]].to_parquet(tmp_path / "three.parquet")
    model = tmp_path / "model.npz"
    assert run("fit", "--data", tmp_path / "rows.npz", "--out", model, "--epsilon", "0.4").exit_code == 0
    how = ("predict", model, "--data", tmp_path / "three.parquet", "--label", "three")
    assert run(*how, "--cluster", address, "--out", tmp_path / "found").exit_code == 0
    assert read_predictions(tmp_path / "found")["prediction"].astype(str).tolist() == run(*how).stdout.split()[1:]
    refused(r"\bempty folder\b.*found'", *how, "--cluster", address, "--out", tmp_path / "found")
    refused(r"\bcluster\b.*\bparquet\b.*\bnone\b.*--out\b", *how, "--cluster", address)
    refused(r"\breplace\b.*model\.npz'", *how, "--cluster", address, "--out", model)
    wide = ("predict", model, "--data", tmp_path / "three.parquet", "--cluster", address, "--out", tmp_path / "no")
    refused(r"three\.parquet\b.* 3\b.* 4\b.*--label\b.*'label'", *wide)
    frame[["a", "b"]].assign(c=np.nan).to_parquet(tmp_path / "nan.parquet")
    wide = ("predict", model, "--data", tmp_path / "nan.parquet", "--cluster", address, "--out", tmp_path / "no")
    refused(r"\bfinite\b.* 2\b", *wide)
    assert not list((tmp_path / "no").glob("*"))


def test_commands_on_the_page_run(folder: Path, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows").mkdir()
    for path in (folder / "parts").iterdir():
        table = pd.read_parquet(path).drop(columns=["id", "three", "copies"])
        table.to_parquet(tmp_path / "rows" / path.name)
    commands = [words for words in commands_of_page() if "--cluster" in words]
    assert {words[0] for words in commands} == {"boost", "fit", "predict"}
    for words in commands:
        result = run(*words[:-1], address)
        assert result.exit_code == 0, (words, result.stderr)
    assert {path.name for path in tmp_path.iterdir()} == {"rows", "model.npz", "predicted"}


def test_a_cluster_of_this_machine_is_made_and_ends(folder: Path) -> None:
    how = ("boost", "erlpboost", "--data", folder / "parts", *APART, *COARSE)
    result = run(*how, "--cluster", "local")
    assert result.exit_code == 0
    assert "warning" not in result.stderr
    with clusters.cluster_connection("local"):
        client = current()
        assert all(client.run(lambda: signal.getsignal(signal.SIGINT) == signal.SIG_IGN).values())
    assert client.status == "closed"


# Bad input


def boosted(folder: Path, address: str, *more: object, data: str = "parts") -> tuple[object, ...]:
    return ("boost", "erlpboost", "--data", folder / data, *APART, *COARSE, "--cluster", address, *more)


@pytest.mark.parametrize(
    ("scheduler_address", "reason"),
    [
        ("127.0.0.1:9", r"\b1 s\."),
        ("nonsense", r"\bport\b"),
        ("http://127.0.0.1:80", "'http'"),
        ("tls://127.0.0.1:80", r"\bTLS\b"),
    ],
)
def test_commands_without_a_scheduler_are_refused(
    scheduler_address: str, reason: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "CONNECT_TIMEOUT", 1)
    refused(
        rf"\bDask scheduler\b.*\blocal\b.*'{re.escape(scheduler_address)}': .*{reason}",
        *boosted(folder, scheduler_address),
    )


def test_a_scheduler_must_have_workers_and_a_worker_is_none(folder: Path, address: str) -> None:
    with cluster_of(n_workers=0, processes=False, protocol="tcp", **HOW) as cluster:
        scheduler_address = cluster.scheduler_address
        refused(rf"\bworkers\b.* {re.escape(scheduler_address)} .*\bnone\b", *boosted(folder, scheduler_address))
    with client_of(address) as client:
        worker = next(iter(client.nthreads()))
    refused(rf"\bDask scheduler\b.*'{re.escape(worker)}'.*\bWorker\b", *boosted(folder, worker))


@pytest.mark.parametrize(
    ("more", "facts"),
    [
        (("--oracle", "tree"), r"\bcluster\b.*--oracle\b.*\bbinned\b.*'tree'.*--cluster\b"),
        (("--option", "depth=3"), r"\bbinned 'depth'"),
        (("--option", "codes=codes.npy"), r"\bcluster\b.*\bcodes='codes\.npy'"),
        (("--picture", "bounds.png"), r"--picture\b.*\bmemory\b.*'bounds\.png'.*--cluster\b"),
        (("--update", "total"), r"\bcluster\b.*\bERLPBoost\b.*--update total\b.*--cluster\b"),
        (("--backend", "interior"), r"\bcluster\b.*\bERLPBoost\b.*--backend interior\b.*--cluster\b"),
        (("--nu", "5000"), r"\bnu\b.*\[1, 400\].* 5000\."),
        (("--label", "knd"), r"\bparts\b.*'knd'.*'kind'"),
        (("--label", "id"), r"\bparts\b.*'id'.*--drop\b"),
        (("--weights", "mass"), r"\bparts\b.*'mass'.*--weights\b"),
        (("--weights", "a"), r"\bcluster\b.*\bc\b.* 0\b"),
    ],
)
def test_boost_refuses_what_a_cluster_does_not_support(
    more: tuple[str, ...], facts: str, folder: Path, address: str
) -> None:
    refused(facts, *boosted(folder, address, *more))


@pytest.mark.parametrize(
    ("more", "facts"),
    [
        (("--base", "stump"), r"\bcluster\b.*--base\b.*\bbinned\b.*'stump'"),
        (("--class-weight", "balanced"), r"--class-weight\b.*\bmemory\b.*--cluster\b"),
        (("--certificate", "proof.json"), r"--certificate\b.*\bmemory\b.*'proof\.json'.*--cluster\b"),
        (("--label", "a", "--drop", "kind"), r"parts\b.*\bcontinuous\b"),
        (("--formulation", "adaboost"), r"\bcluster\b.*\bERLPBoost\b.*--cluster\b"),
    ],
)
def test_fit_refuses_what_a_cluster_does_not_support(
    more: tuple[str, ...], facts: str, folder: Path, address: str, tmp_path: Path
) -> None:
    how = ("fit", "--data", folder / "parts", *APART, "--cluster", address, "--out", tmp_path / "model.npz")
    refused(facts, *how, *more)
    assert not (tmp_path / "model.npz").exists()


def test_invalid_data_are_refused_with_a_reason(folder: Path, address: str, tmp_path: Path) -> None:
    frame, path = table(), tmp_path / "rows.parquet"

    def check_refusal(facts: str, rows: Any, data: str = "rows.parquet") -> None:
        rows.to_parquet(path)
        refused(facts, *boosted(tmp_path, address, data=data))

    check_refusal(r"\bX\b.* inf at row 7, feature 1\b", frame.assign(b=frame["b"].where(frame.index != 7, np.inf)))
    blank = frame["kind"].where(frame.index != 7, None)
    check_refusal(r"rows\.parquet: .*\blabel\b.*\bnone\b.* 'kind'", frame.assign(kind=blank))
    check_refusal(r"rows\.parquet: .*\blabel\b.* 'kind'", frame.assign(kind=blank.fillna(" ")))
    check_refusal(r"rows\.parquet\b.*\bnumber\b.* 'b'.*--drop\b", frame.assign(b="text"))
    check_refusal(r"rows\.parquet\b.*\btwo classes\b.*\bone, yes\b", frame.assign(kind="yes"))
    check_refusal(r"rows\.parquet\b.*\btwo classes\b.* 3 \(.*--positive\b", frame.assign(kind=frame["three"]))
    check_refusal(r"rows\.parquet\b.*\bno rows\b", frame[:0])
    check_refusal(r"\bparquet\b.*\bno file .*none\.parquet'", frame, "none.parquet")
    check_refusal(r"\bpattern\b.*none\*\.parquet'", frame, "none*.parquet")
    frame[["a", "kind"]].to_parquet(tmp_path / "other.parquet")
    check_refusal(r"\*\.parquet: .*\bcolumns\b.*other\.parquet\b.*rows\.parquet\b.* 'b'", frame, "*.parquet")
    frame.to_csv(tmp_path / "rows.csv")
    check_refusal(r"\bcluster\b.*\bparquet\b.*rows\.csv'", frame, "rows.csv")
    path.write_bytes(b"PAR1 and no more")
    refused(r"rows\.parquet\b.*\breadable\b", *boosted(tmp_path, address, data="rows.parquet"))
    how = ("boost", "erlpboost", "--data", "nowhere://rows.parquet", *APART, *COARSE, "--cluster", address)
    refused(r"\bparquet\b.*'nowhere://rows\.parquet'.*\bProtocol\b", *how)


def test_an_index_that_is_a_feature_is_told_by_its_name(address: str, tmp_path: Path) -> None:
    table().assign(**{"Unnamed: 0": range(N)}).to_parquet(tmp_path / "rows.parquet")
    result = run(*boosted(tmp_path, address, data="rows.parquet"))
    assert result.exit_code == 0
    assert re.search(r"^warning: .*rows\.parquet: .*'Unnamed: 0'.*--drop\b", result.stderr, re.MULTILINE)


def test_a_file_that_the_workers_cannot_see(
    address: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not os.path.isdir("/proc/self/cwd"):
        pytest.skip("no path here is of another file in another process")
    (tmp_path / "mine.parquet").write_bytes((folder / "rows.parquet").read_bytes())
    monkeypatch.chdir(tmp_path)
    data = boosted(Path("/proc/self/cwd"), address, data="mine.parquet")
    refused(r"\bevery worker\b.*\bNo such file\b.*mine\.parquet'", *data)


def fail() -> None:
    raise RuntimeError("the disk\nis full.")


def test_failures_on_a_cluster_are_errors_in_words(address: str) -> None:
    expected = r"\bcluster\b.*\bRuntimeError: the disk is full\..*\bworkers\b"
    with pytest.raises(ProblemError, match=expected), clusters.cluster_connection(address):
        current().submit(fail).result()
    with client_of(address) as client:
        assert client.status == "running"  # the scheduler goes on


def test_a_scheduler_that_ends_is_an_error_in_words() -> None:
    with cluster_of(n_workers=1, processes=False, protocol="tcp", **HOW) as cluster:
        with pytest.raises(ProblemError, match=r"\bcluster\b.*\bFutureCancelledError\b"):
            with clusters.cluster_connection(cluster.scheduler_address):
                future = current().submit(max, 1, 2, workers=["nowhere"])
                cluster.close()
                future.result()


def test_dask_must_be_installed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(boostopt.cli, "cluster_tables")
    monkeypatch.delitem(sys.modules, "boostopt.cli.cluster_tables")
    monkeypatch.setitem(sys.modules, "distributed", None)
    refused(r"--cluster\b.*\bdistributed\b.* pip install 'boostopt\[dask\]'", *boosted(folder, "127.0.0.1:9"))
