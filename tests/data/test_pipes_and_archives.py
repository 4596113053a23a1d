"""Files that are no regular ones are called what they are, and compressed ones are read whatever their ending."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from boostopt import DataError, Run, load_dataset
from boostopt.cli.cluster_data import ClusterTable
from boostopt.cli.commands.verify import ProofOptions, verify_command
from boostopt.cli.option_groups import FileOptions, HypothesisClassOptions, StumpOptions
from boostopt.data.answer_files import load_answer
from boostopt.data.datasets import load_features, load_table
from boostopt.estimators import MarginBoostClassifier

READERS: dict[str, Callable[[str], object]] = {
    "a data set": load_dataset,
    "a table": load_table,
    "features": lambda source: load_features(source, (), 1),
    "an answer": load_answer,
    "a model": MarginBoostClassifier.load,
    "a run": Run.load,
    "rows on a cluster": lambda source: ClusterTable.read(source, "label", None, (), np.asarray),
    "a certificate": lambda source: verify_command(
        source,
        "iris",
        files=FileOptions(),
        draw=StumpOptions(),
        hypotheses=HypothesisClassOptions(),
        proof=ProofOptions(),
    ),
}


CLUSTER = "rows on a cluster"
ALL = [pytest.param(name, marks=pytest.mark.thorough) if name == CLUSTER else name for name in READERS]
"""The readers; that of a cluster needs Dask, which takes long to import."""


@pytest.mark.parametrize("reader", ALL)
@pytest.mark.parametrize("suffix", ["", ".csv", ".npz"])
def test_a_pipe_is_called_a_pipe(tmp_path: Path, reader: str, suffix: str) -> None:
    """The error once said that the pipe does not exist."""
    pipe = tmp_path / f"pipe{suffix}"
    os.mkfifo(pipe)
    with pytest.raises(DataError, match=rf"{re.escape(repr(str(pipe)))} is a pipe,"):
        READERS[reader](str(pipe))


@pytest.mark.parametrize("reader", ALL)
def test_a_device_is_called_a_device(reader: str) -> None:
    with pytest.raises(DataError, match="'/dev/zero' is a device,"):
        READERS[reader]("/dev/zero")


@pytest.mark.parametrize("name", ["data", "data.svm", "data.csv", "data.tsv"])
@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_a_compressed_file_needs_no_ending(tmp_path: Path, compress: Callable[[bytes], bytes], name: str) -> None:
    sign = {"data.csv": b",", "data.tsv": b"\t"}.get(name)
    text = b"1 1:1\n-1 1:2\n" if sign is None else b"a,label\n1,1\n2,-1\n".replace(b",", sign)
    path = tmp_path / name
    path.write_bytes(compress(text))
    data = load_dataset(str(path))
    assert data.X is not None and data.X.tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize(
    "content, facts",
    [("npz", r"\barchive\b.* \.npz\."), ("PAR1", r"\bparquet file\b.* \.parquet\.")],
    ids=["npz", "parquet"],
)
def test_a_file_of_another_format_is_called_what_it_is(tmp_path: Path, content: str, facts: str) -> None:
    path = tmp_path / "data"
    if content == "npz":
        np.savez(tmp_path / "data.npz", X=[[1.0]], y=[1])
        (tmp_path / "data.npz").rename(path)
    else:
        path.write_bytes(content.encode() * 10)
    with pytest.raises(DataError, match=facts):
        load_dataset(str(path))
