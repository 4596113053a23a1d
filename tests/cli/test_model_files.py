"""Model files: what is loaded predicts to the last bit; what is damaged or hostile is a DataError and runs nothing."""

from __future__ import annotations

import copy
import json
import math
import pickle
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_runner import examples
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import boostopt._utils.files
import boostopt.estimators.model_files
from boostopt import DataError, OptionError
from boostopt.estimators import MarginBoostClassifier
from boostopt.estimators.model_file_schema import MACHINE_PARAMETERS

BASES: dict[str, dict[str, Any]] = {
    "stump": {},
    "feature": {},
    "linear": {"base": "kernel"},
    "kernel": {"base": "kernel", "base_options": {"kernel": "rbf", "gamma": 0.5}},
    "rbf": {"base": "rbf", "base_options": {"K": 3, "iterations": 1}},
}


def fitted(**parameters: Any) -> Any:
    X, y = examples()
    with np.errstate(all="raise"):
        return MarginBoostClassifier(**{"epsilon": 0.3, **parameters}).fit(X, y)


def load(path: object) -> Any:
    return MarginBoostClassifier.load(path)  # pyright: ignore[reportArgumentType] what is refused too


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "m.npz"
    fitted(base="rbf", base_options={"K": 3, "iterations": 1}).save(path)
    return path


@pytest.fixture(scope="module")
def saved_stumps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "stumps.npz"
    fitted().save(path)
    return path


def contents(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return description and arrays."""
    with np.load(path) as file:
        arrays = dict(file)
    return json.loads(arrays.pop("meta").tobytes()), arrays


def write(path: Path, about: Any, arrays: dict[str, Any]) -> Path:
    """Write a model file of anything."""
    text = about if isinstance(about, str) else json.dumps(about)
    np.savez(path, meta=np.frombuffer(text.encode(), dtype=np.uint8), **arrays)
    return path


def test_reordered_weights_and_hypotheses_are_refused_although_each_field_is_valid(
    saved_stumps: Path, tmp_path: Path
) -> None:
    about, arrays = contents(saved_stumps)
    part = about["parts"][0]
    weights = {**arrays, part["w"]["array"]: arrays[part["w"]["array"]][::-1]}
    hypotheses = {**about, "parts": [{**part, "hypotheses": part["hypotheses"][::-1]}]}
    for name, description, content in (("w.npz", about, weights), ("h.npz", hypotheses, arrays)):
        with pytest.raises(DataError, match=rf"{name}; .*its digest is that of other content"):
            load(write(tmp_path / name, description, content))
    copy_of_model = load(write(tmp_path / "copy.npz", about, dict(reversed(arrays.items()))))
    X, _ = examples()
    np.testing.assert_array_equal(copy_of_model.decision_function(X), load(saved_stumps).decision_function(X))
    del about["digest"]  # version 0.1.0 wrote none
    np.testing.assert_array_equal(load(write(tmp_path / "old.npz", about, arrays)).predict(X), copy_of_model.predict(X))


@pytest.mark.every(2)
@pytest.mark.filterwarnings("ignore:boosting ended|no further hypothesis|the limit")
@pytest.mark.parametrize("base", BASES)
def test_a_loaded_model_predicts_to_the_last_bit(tmp_path: Path, base: str) -> None:
    model = fitted(**{"base": base, **BASES[base]})
    model.save(tmp_path / "m.npz")
    loaded = load(tmp_path / "m.npz")
    X = np.random.default_rng(1).normal(size=(300, 4)) * 3
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.predict(X).dtype == model.predict(X).dtype
    assert loaded.get_params() == model.get_params()
    assert (loaded.n_iter_, loaded.n_features_in_, loaded.oracle_) == (model.n_iter_, 4, model.oracle_)


def test_the_certificate_comes_with_it_as_it_was_recorded(tmp_path: Path) -> None:
    model = fitted()
    model.save(tmp_path / "m.npz")
    certificate, loaded = model.certificate_, load(tmp_path / "m.npz").certificate_
    assert (loaded.lower, loaded.upper, loaded.oracle) == (certificate.lower, certificate.upper, certificate.oracle)
    assert loaded.recorded and loaded.has_upper_bound
    np.testing.assert_array_equal(loaded.d, certificate.d)


@pytest.mark.parametrize("kind", ["words", "objects", "bool", "int8", "float64"])
def test_classes_stay_what_they_are(tmp_path: Path, kind: str) -> None:
    X, y = examples()
    labels: dict[str, Any] = {
        "words": np.where(y > 0, "ja, \N{SNOWMAN}", "nein"),
        "objects": np.where(y > 0, "b", "a").astype(object),
        "bool": y > 0,
        "int8": y.astype(np.int8),
        "float64": np.where(y > 0, 2.0, -1.0),
    }
    model: Any = MarginBoostClassifier(epsilon=0.5).fit(X, labels[kind])
    model.save(tmp_path / "m.npz")
    loaded = load(tmp_path / "m.npz")
    assert loaded.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_more_classes_names_and_importances_come_with_it(tmp_path: Path) -> None:
    iris: Any = load_iris(as_frame=True)
    X, y = iris.data, iris.target
    weights = {0: 1.0, 1: np.float64(2.0), 2: 1}
    model: Any = MarginBoostClassifier(epsilon=0.3, class_weight=weights, nu=np.int64(10)).fit(X, y)
    model.save(tmp_path / "m.npz")
    loaded = load(tmp_path / "m.npz")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(loaded.feature_importances_, model.feature_importances_)
    assert loaded.feature_names_in_.tolist() == list(X.columns)
    assert loaded.class_weight == weights and loaded.nu == 10
    assert [one.lower for one in loaded.certificate_] == [one.lower for one in model.certificate_]


def test_a_loaded_classifier_has_no_runs_and_can_be_fitted_anew(tmp_path: Path) -> None:
    X, y = examples()
    model = fitted()
    model.save(tmp_path / "m.npz")
    loaded = load(tmp_path / "m.npz")
    with pytest.raises(AttributeError, match=r"\brun_\s.*\bfile\b"):
        loaded.run_  # noqa: B018
    with pytest.raises(OptionError, match=r"\bstages\b.*\bfile\b"):
        next(loaded.staged_predict(X))
    with pytest.raises(OptionError, match=r"\bwarm_start\b.*\bfile\b"):
        loaded.set_params(warm_start=True).fit(X, y)
    loaded.set_params(warm_start=False).fit(X, -y)
    np.testing.assert_array_equal(loaded.decision_function(X), fitted().fit(X, -y).decision_function(X))
    assert loaded.run_.rounds == loaded.n_iter_
    loaded.save(tmp_path / "again.npz")
    again = load(tmp_path / "again.npz")
    np.testing.assert_array_equal(again.decision_function(X), loaded.decision_function(X))


def test_a_saved_model_is_saved_again_as_it_was(saved: Path, tmp_path: Path) -> None:
    load(saved).save(tmp_path / "again.npz")
    (about, arrays), (second_document, second_arrays) = contents(saved), contents(tmp_path / "again.npz")
    assert second_document == about
    assert all(np.array_equal(second_arrays[name], arrays[name]) for name in {**arrays, **second_arrays})


def test_parameters_of_the_machine_are_left_behind(tmp_path: Path) -> None:
    def check_row(*row: Any) -> None:
        assert row

    fitted(checkpoint=tmp_path / "c.npz", verbose=check_row, n_jobs=2, warm_start=True).save(tmp_path / "m.npz")
    loaded = load(tmp_path / "m.npz")
    assert (loaded.checkpoint, loaded.verbose, loaded.n_jobs, loaded.warm_start) == (None, False, None, False)


def test_hypotheses_and_labels_that_are_no_plain_numbers_are_refused(tmp_path: Path) -> None:
    X, y = examples()
    tree = fitted(base=DecisionTreeClassifier(max_depth=1))
    with pytest.raises(OptionError, match=r"\bnumbers\b.*\bDecisionTreeClassifier\b.*\bpickle\b"):
        tree.save(tmp_path / "m.npz")
    half = np.where(y > 0, 1, 0).astype(np.float16)
    with pytest.raises(OptionError, match=r"\blabels\b.*\bfloat16\b"):
        MarginBoostClassifier(epsilon=0.5).fit(X, half).save(tmp_path / "m.npz")
    with pytest.raises(DataError, match=r"\bm\.npz\b.*\bNo such\b"):
        fitted().save(tmp_path / "no" / "m.npz")
    assert not list(tmp_path.iterdir())


# Damaged and hostile files


def set_in(about: Any, place: tuple[Any, ...], value: Any) -> Any:
    """Return a description with one value set."""
    inner = about
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    return about


PART = ("parts", 0)
HYPOTHESIS = (*PART, "hypotheses", 0)
DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    "place, value",
    [
        (("kind",), "boostopt run"),
        (("format",), 2),
        (("classes",), [1, 2]),
        (("classes", "type"), "O"),
        (("classes", "type"), "U999999999"),
        (("classes", "values"), [1]),
        (("classes", "values"), [2, 1]),
        (("classes", "values"), [1, 1]),
        (("classes", "values"), [[1], [2]]),
        (("classes", "values"), [1, "2"]),
        (("classes",), {"type": "int64", "values": [1.2, 2.7]}),
        (("classes",), {"type": "bool", "values": [0, 5]}),
        (("classes",), {"type": "float64", "values": [1.0, float("inf")]}),
        (("classes",), {"type": "float32", "values": [1.0, 1.00000000001]}),
        (("classes",), {"type": "text", "values": ["a", "b" * (1 << 24)]}),
        (("features",), 3),
        (("features",), 0),
        (("features",), True),
        (("features",), "4"),
        (("features",), 10**400),
        (("feature_names",), ["a", "b"]),
        (("feature_names",), ["a", "b", "c", 4]),
        (("rounds",), -1),
        (("rounds",), "many"),
        (("parameters",), {"formulation": "/tmp/evil.py"}),
        (("parameters",), {"formulation": "evil.py"}),
        (("parameters",), {"nonsense": 1}),
        (("parameters",), {"base": [1]}),
        (("parameters",), {"class_weight": {"array": "a0"}}),
        (("parameters",), {"class_weight": {"mapping": [[[], 1]]}}),
        (("parts",), []),
        (("parts",), None),
        ((*PART, "majority"), 0),
        ((*PART, "oracle"), 5),
        ((*PART, "w"), [1.0]),
        ((*PART, "w"), {"array": "no"}),
        ((*PART, "hypotheses"), []),
        ((*HYPOTHESIS, "kind"), "os.system"),
        ((*HYPOTHESIS, "kind"), "given"),
        ((*HYPOTHESIS, "kind"), "stump"),
        ((*HYPOTHESIS, "values"), "__import__"),
        ((*HYPOTHESIS, "centres"), {"array": "meta"}),
        ((*PART, "certificate", "lower"), float("nan")),
        ((*PART, "certificate", "lower"), float("inf")),
        ((*PART, "certificate", "lower"), "0"),
        ((*PART, "certificate"), {"lower": 0.0, "upper": 0.5, "d": None}),
        ((*PART, "certificate", "d"), {"array": "meta"}),
    ],
)
def test_a_description_that_says_something_else_is_refused(
    saved: Path, tmp_path: Path, place: tuple[Any, ...], value: Any
) -> None:
    about, arrays = contents(saved)
    load(write(tmp_path / "same.npz", about, arrays))
    with pytest.raises(DataError, match="expected a "):
        load(write(tmp_path / "m.npz", set_in(about, place, value), arrays))


CERTIFICATE = (*PART, "certificate")

LIES: dict[str, tuple[tuple[Any, ...], Any, str]] = {
    "a negative eta": (("parameters", "eta"), -1, r"\beta\b.*\[1e-100, 1e\+100\].* -1\b"),
    "a zero eta": (("parameters", "eta"), 0.0, r"\beta\b.*\[1e-100, 1e\+100\].* 0\.0\b"),
    "an unknown backend": (("parameters", "backend"), "evil", r"\bbackend\b.*\bname\b.*'evil'"),
    "a backend of no name": (("parameters", "backend"), 1, r"\bbackend\b.*\bname\b.* 1\b"),
    "an unknown base": (("parameters", "base"), "stumps", r"\bbase\b.*\bname\b.*'stumps'"),
    "unknown final weights": (("parameters", "final_weights"), "best", r"\bfinal_weights\b.*'best'.*\bscaled\b"),
    "a negative seed": (("parameters", "random_state"), -1, r"\brandom_state\b.* -1\b"),
    "a seed of 33 bits": (("parameters", "random_state"), 2**32, r"\brandom_state\b.* 4294967296\b"),
    "another formulation of the parameters": (
        ("parameters", "formulation"),
        "svm",
        r"\bformulation\b.*\berlpboost; got svm\b",
    ),
    "another formulation of the part": ((*PART, "formulation"), "svm", r"\bformulation\b.*\bsvm; got erlpboost\b"),
    "another number of rounds": (("rounds",), 1234, r"\brounds\b.*\bparts\b.* 1234\b"),
    "versions that are a number": (("versions",), -1e308, r"\bversions\b.* -1e\+308\b"),
    "a version that is a number": (("versions", "numpy"), 2, r"\bversions\b.*\btext\b.* 2\b"),
    "a key more": (("sigmoid",), None, r"\bsigmoid\b.*\bknow\b"),
    "a key more of the part": ((*PART, "weights"), None, r"\bweights\b.*\bknow\b"),
    "a key more of a hypothesis": ((*HYPOTHESIS, "scale"), 1.0, r"\bstump\b.*\bscale\b"),
    "half of a character": ((*PART, "reason"), "\ud800", r"\breason\b.*\btext\b"),
    "an infinite upper bound with a proof": ((*CERTIFICATE, "upper"), math.inf, r"\bupper\b.*\bd\b.* inf\b"),
    "a soft margin above 1": ((*CERTIFICATE, "upper"), 1.5, r"\bsoft margin\b.* 1\.5\b"),
    "a soft margin below -1": ((*CERTIFICATE, "lower"), -1.5, r"\bsoft margin\b.*\[-1\.5\b"),
    "no proof of the upper bound": ((*CERTIFICATE, "d"), None, r"\bupper\b.*\bd\b"),
    "a distribution that is none": ((*CERTIFICATE, "d"), {"array": "half"}, r"\bdistribution\b.*\bsum 0\.5\b"),
    "a distribution with a negative weight": ((*CERTIFICATE, "d"), {"array": "negative"}, r"\bdistribution\b.* -1\b"),
}
"""Values that no fit stores: the place, the value, and what the message must name."""


@pytest.mark.parametrize("name", LIES)
def test_values_that_no_fit_stores_are_refused_with_their_field(saved_stumps: Path, name: str, tmp_path: Path) -> None:
    about, arrays = contents(saved_stumps)
    d = arrays[about["parts"][0]["certificate"]["d"]["array"]]
    arrays |= {"half": 0.5 * d, "negative": np.append(d, -1.0)}
    place, value, facts = LIES[name]
    with pytest.raises(DataError, match=rf"\bwhole\b.*\bf\.npz\b.*{facts}") as refused:
        load(write(tmp_path / "f.npz", set_in(about, place, value), arrays))
    assert "\n" not in str(refused.value)


def test_backends_and_bases_that_are_not_of_boostopt_are_not_in_the_file(tmp_path: Path) -> None:
    model = fitted()
    model.save(tmp_path / "m.npz")
    assert (load(tmp_path / "m.npz").base, load(tmp_path / "m.npz").backend) == ("stump", "auto")
    model.set_params(backend="solver of a plug-in", base="oracle of a plug-in").save(tmp_path / "m.npz")
    assert (load(tmp_path / "m.npz").base, load(tmp_path / "m.npz").backend) == (None, None)


@pytest.mark.parametrize("bad", [np.nan, np.inf, "shape", "type", "zero"])
def test_weights_that_are_none_are_refused(saved: Path, tmp_path: Path, bad: Any) -> None:
    about, arrays = contents(saved)
    name = about["parts"][0]["w"]["array"]
    w = arrays[name].copy()
    changed = {"shape": w[:-1], "type": w.astype(np.float32), "zero": 0 * w}.get(bad) if isinstance(bad, str) else w
    assert changed is not None
    if not isinstance(bad, str):
        w[0] = bad
    with pytest.raises(DataError, match=r"\bwhole\b.*\bm\.npz\b"):
        load(write(tmp_path / "m.npz", about, {**arrays, name: changed}))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "1", DEEP, '{"kind": []}', "\x00", '{"format": 1e999}'])
def test_a_description_that_is_none_is_refused(saved: Path, tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match="expected a "):
        load(write(tmp_path / "m.npz", text, contents(saved)[1]))


class Evil:
    """Runs when it is unpickled."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return (exec, ("import pathlib; pathlib.Path('ran').touch()",))


def test_a_file_with_another_number_of_parts_than_classes_is_refused(saved: Path, tmp_path: Path) -> None:
    about, arrays = contents(saved)
    about["classes"] = {"type": "text", "values": ["a", "b", "c"]}
    with pytest.raises(DataError, match=r"\bpart\b.*\bclass\b"):
        load(write(tmp_path / "m.npz", about, arrays))


def test_networks_of_complex_numbers_are_refused(saved: Path, tmp_path: Path) -> None:
    about, arrays = contents(saved)
    for name in ("centres", "widths", "output_weights"):
        array_name = about["parts"][0]["hypotheses"][0][name]["array"]
        with pytest.raises(DataError, match=r"\breal\b.*\bcomplex128\b"):
            load(write(tmp_path / "m.npz", about, {**arrays, array_name: arrays[array_name] + 1j}))


def test_a_degree_that_would_take_forever_is_refused(tmp_path: Path) -> None:
    fitted(base="kernel", base_options={"kernel": "polynomial"}).save(tmp_path / "m.npz")
    about, arrays = contents(tmp_path / "m.npz")
    kernels = [h for h in about["parts"][0]["hypotheses"] if h["kind"] == "kernel"]
    kernels[0]["degree"] = 10**15
    with pytest.raises(DataError, match=r"\bdegree\b.* 1000\b.* 1000000000000000\b"):
        load(write(tmp_path / "m.npz", about, arrays))


@pytest.mark.parametrize("path", ["a\0b", "a\ud800b", "x" * 5000, "."])
def test_invalid_paths_of_files_are_refused(path: str) -> None:
    with pytest.raises(DataError, match=r"\bmodel\b.*\bno\b.*\bfile\b"):
        load(path)


def test_a_description_that_is_too_long_is_refused(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load(saved)
    monkeypatch.setattr(boostopt.estimators.model_files, "MAX_DESCRIPTION_BYTES", 100)
    with pytest.raises(DataError, match=r"\bdescription\b.*\bbytes\b.*\b100\b"):
        load(saved)
    with pytest.raises(OptionError, match=r"\bdescription\b.* 100 bytes\b.* \d"):
        model.save(tmp_path / "m.npz")


def test_a_file_that_takes_more_memory_than_there_is_is_refused(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: Any) -> Any:
        raise MemoryError

    for name in ("_model_from_json", "read_npz"):
        monkeypatch.setattr(boostopt.estimators.model_files, name, full)
        with pytest.raises(DataError, match="MemoryError"):
            load(saved)


def test_nothing_is_unpickled(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.npz").write_bytes(pickle.dumps(Evil()))
    np.savez("o.npz", allow_pickle=True, meta=np.array([Evil()], dtype=object))
    about, arrays = contents(saved)
    name = about["parts"][0]["w"]["array"]
    hidden = {"meta": np.frombuffer(json.dumps(about).encode(), dtype=np.uint8), **arrays}
    np.savez("w.npz", allow_pickle=True, **{**hidden, name: np.array([Evil()], dtype=object)})
    for path in ("p.npz", "o.npz", "w.npz"):
        with pytest.raises(DataError, match="expected a "):
            load(path)
    assert not Path("ran").exists()


def test_an_archive_that_would_fill_the_memory_is_refused(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "m.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("meta.npy", bytes(1 << 24))
    assert (tmp_path / "m.npz").stat().st_size < 1 << 16
    monkeypatch.setattr(boostopt._utils.files, "MAX_UNPACKED_BYTES", 1 << 20)
    load(saved)
    with pytest.raises(DataError, match=r" 1,048,576 bytes\b.* 16,777,216\b"):
        load(tmp_path / "m.npz")


def test_an_interval_that_is_none_is_refused(tmp_path: Path) -> None:
    fitted().save(tmp_path / "m.npz")
    about, arrays = contents(tmp_path / "m.npz")
    certificate = about["parts"][0]["certificate"]
    for changed in ({"lower": certificate["upper"] + 0.1}, {"d": None}, {"upper": "0.5"}):
        about["parts"][0]["certificate"] = certificate | changed
        with pytest.raises(DataError, match=r"\bwhole\b.*\bother\.npz\b"):
            load(write(tmp_path / "other.npz", about, arrays))


def test_bytes_that_are_cut_off_or_changed_are_refused_or_harmless(saved: Path, tmp_path: Path) -> None:
    whole, path, rng = saved.read_bytes(), tmp_path / "m.npz", np.random.default_rng(0)
    X, _ = examples()
    f = load(saved).decision_function(X)
    refusals = 0
    for trial in range(90):
        content = bytearray(whole)
        if trial % 3 == 0:
            del content[int(rng.integers(len(content))) :]
        else:
            content[int(rng.integers(len(content)))] ^= int(rng.integers(1, 256))
        path.write_bytes(bytes(content))
        try:
            loaded = load(path)
        except DataError:
            refusals += 1
        else:
            np.testing.assert_array_equal(loaded.decision_function(X), f)
    assert refusals > 60


FORGERIES: dict[str, Any] = {
    "true": True,
    "false": False,
    "null": None,
    "a text of 1": "1",
    "a text": "x",
    "a list": [[1]],
    "no list": [],
    "an object": {"a": 1},
    "a mapping": {"mapping": [[True, True]]},
    "an infinity": math.inf,
    "nan": math.nan,
    "minus 0": -0.0,
    "minus 1": -1,
    "a fraction": 1.5,
    "a huge integer": 2**70,
    "an integer above all floats": 10**400,
}
"""Values that replace each value of a description."""

NULLS = {
    "feature_names",
    "zero_based",
    "nu",
    "sigmoids",
    "spreads",
    "certificate",
    *MarginBoostClassifier().get_params(),
}
"""Fields that may have no value: the parameters as `fit` takes them."""

TYPED_AT_FIT = {"formulation", "base", "backend", "final_weights", "oracle", "reason"}
"""Fields of any text; a fit names an unknown one."""


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield the place of each value in a description, with the value; of a list, the first entry only."""
    entries = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for step, inner in entries:
        yield (*place, step), inner
        yield from places(inner, (*place, step))


def is_harmless(place: tuple[Any, ...], original: Any, forgery: Any) -> bool:
    """Return whether a value may stand at a place: it has the type of the original, or the field takes the type."""
    field, is_number = place[-1], type(forgery) in (int, float)
    if place[0] == "versions" or field in MACHINE_PARAMETERS:  # these are not read
        return True
    if forgery is None:
        return field in NULLS or place[-2:] == (0, 0)
    if "class_weight" in place[:-1] and len(place) == 5:  # a label, or its weight
        return place[-1] == 0 or (is_number and 0 < forgery < math.inf)
    if isinstance(forgery, bool):
        return isinstance(original, bool) or field == "zero_based"
    if isinstance(forgery, str):
        return field in TYPED_AT_FIT
    if is_number:
        is_open = field in ("upper", "threshold")
        is_number_here = original in (None, "margin") or type(original) in (int, float)
        return is_number_here and (is_open or abs(forgery) < math.inf)
    return forgery == [] and field == "mapping"


@pytest.mark.thorough
@pytest.mark.parametrize("name", FORGERIES)
def test_each_value_of_a_description_is_refused_if_another_type_replaces_it(name: str, tmp_path: Path) -> None:
    """Values that are taken have the type of the field, and predictions are numbers in [-1, 1]."""
    X, _ = examples()
    fitted(class_weight={-1: 1.0, 1: 2}, probability=True, n_jobs=1).save(tmp_path / "m.npz")
    about, arrays = contents(tmp_path / "m.npz")
    forgery, refused = FORGERIES[name], 0
    for place, original in places(about):
        path = write(tmp_path / "f.npz", set_in(copy.deepcopy(about), place, forgery), arrays)
        try:
            model = load(path)
        except DataError as error:
            refused += 1
            assert "expected a " in str(error)
            continue
        assert (type(forgery), forgery) == (type(original), original) or is_harmless(place, original, forgery), place
        f = model.decision_function(X)
        assert (np.abs(f) <= 1.0).all()
    assert refused > 20


PARAMETERS_OF_OTHER_TYPES: dict[str, tuple[str, Any]] = {
    "true as nu": ("nu", True),
    "true as epsilon": ("epsilon", True),
    "true as max_iter": ("max_iter", True),
    "true as n_iter_no_change": ("n_iter_no_change", True),
    "true as random_state": ("random_state", True),
    "true as eta": ("eta", True),
    "1 as reflexive": ("reflexive", 1),
    "true as a class weight": ("class_weight", {"mapping": [[1, True]]}),
    "a number as class weights": ("class_weight", 2.0),
    "a number as base": ("base", 1),
    "an unknown score": ("scoring", "f1"),
    "a share above 1": ("nu", 1.5),
}


@pytest.mark.parametrize("name", PARAMETERS_OF_OTHER_TYPES)
def test_parameters_that_a_fit_refuses_are_refused_in_files(name: str, tmp_path: Path) -> None:
    fitted().save(tmp_path / "m.npz")
    about, arrays = contents(tmp_path / "m.npz")
    parameter, value = PARAMETERS_OF_OTHER_TYPES[name]
    about["parameters"][parameter] = value
    with pytest.raises(DataError, match=rf"\b{parameter}\b"):
        load(write(tmp_path / "f.npz", about, arrays))
