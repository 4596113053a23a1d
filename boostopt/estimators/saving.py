"""Classifiers in files: one npz of plain arrays with a description in JSON; nothing is pickled, nothing is executed.

A model file holds what is predicted with: classes, features with their names, every hypothesis as plain numbers, the
weights to the last bit, and of the fit its parameters, reasons and certificates as they were recorded. It holds no
run: no margins of the training examples and no trace. What is read is checked, name by name, for being what it should.
"""

from __future__ import annotations

import json
import math
import os
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from boostopt.boosting.goal import ClassCertificate
from boostopt.boosting.saving import (
    MALFORMED,
    META,
    Writer,
    with_arrays,
)
from boostopt.errors import BoostoptError, DataError, OptionError
from boostopt.estimators.parts import OfFile, Part
from boostopt.files import read_npz, replace_file
from boostopt.oracles import Feature, Hypothesis, KernelColumn, RBFHypothesis, Stump
from boostopt.oracles.saving import from_state, to_state
from boostopt.shapes import Array, Float

KIND, FORMAT = "boostopt classifier", 1

LIMIT = 1 << 31
"""Bytes that the arrays of a model file may take."""

LARGEST_TEXT = 1 << 26
"""Bytes that the description in a model file, and the texts of its classes, may take: read, it may be thirty times."""

LABELS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
"""Types of labels that are numbers; others are texts."""

TEXT, OBJECT = "text", "object"
"""Types of labels that are texts, as an array of texts or of objects."""

UNREADABLE = (BoostoptError, *MALFORMED)
"""What is raised at a file that is no whole model."""

NOT_KEPT: Mapping[str, Any] = {"checkpoint": None, "verbose": False, "n_jobs": None, "warm_start": False}
"""Parameters of the machine on which a classifier was fitted, and what they are after it is loaded."""

WITHOUT_FUNCTION = (
    "{what} cannot be written as plain numbers, and a model file holds nothing else. Fit a base of boostopt's own, "
    '"stump", "feature", "kernel" or "rbf"; or pickle the classifier for yourself, and load no pickle of others.'
)


@dataclass(frozen=True, eq=False)
class Loaded:
    """What a model file holds.

    Attributes
    ----------
    parameters
        Those of the classifier by their names.
    attributes
        What a fit sets, by name.
    parts
        What tells the classes apart.
    """

    parameters: Mapping[str, Any]
    attributes: Mapping[str, Any]
    parts: tuple[OfFile, ...]


def save(model: Any, parts: Sequence[Part], path: str | PathLike[str]) -> None:
    """Write a fitted classifier.

    Raises
    ------
    OptionError
        It has hypotheses or labels that are more than plain numbers and texts, or too many of them.
    DataError
        The file cannot be written.
    """
    names = getattr(model, "feature_names_in_", None)
    writer = Writer()
    about = {
        "kind": KIND,
        "format": FORMAT,
        "versions": {name: version(name) for name in ("boostopt", "numpy", "scikit-learn")},
        "classes": _labels(model.classes_),
        "features": int(model.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "rounds": int(model.n_iter_),
        "parameters": {name: _plain(value) for name, value in model.get_params(deep=False).items()},
        "parts": writer.plain([_described(part) for part in parts]),
    }
    said = json.dumps(about).encode()
    if len(said) > LARGEST_TEXT:
        raise OptionError(
            f"expected a model whose description has at most {LARGEST_TEXT:,} bytes; got {len(said):,}. Fit fewer "
            "hypotheses, or pickle the classifier for yourself."
        )
    writer.arrays[META] = np.frombuffer(said, dtype=np.uint8)
    replace_file(Path(path), lambda file: np.savez_compressed(file, allow_pickle=False, **writer.arrays))


def load(path: str | PathLike[str], parameters: Sequence[str]) -> Loaded:
    """Return what a model file holds.

    Parameters
    ----------
    path
        The file.
    parameters
        Names of the parameters that the classifier takes.

    Raises
    ------
    DataError
        The file is not there, is no model file, was made by another version, or is damaged.
    """
    source = Path(path)
    if not os.path.isfile(source):  # False also of what is no path: too long, or with a letter that none has
        raise DataError(f"expected a model file; there is no file {str(source)!r}. Check the path.")
    try:
        _check_size(source)
        arrays = read_npz(source)
        said = arrays[META]
        _hold(said.nbytes <= LARGEST_TEXT, f"its description has {said.nbytes:,} bytes, the limit is {LARGEST_TEXT:,}")
        about = json.loads(said.tobytes().decode())
        kind, form = about["kind"], about["format"]
    except UNREADABLE as failure:
        raise DataError(
            f"expected a model file of boostopt in {source}; it has no description of one, or is damaged "
            f"({_in_words(failure)}). Check the path, or fit the model anew."
        ) from failure
    if kind != KIND or form != FORMAT:
        raise DataError(
            f"expected a {KIND} of format {FORMAT} in {source}; got {str(kind)[:60]!r} of format {str(form)[:20]}. "
            "Pass what `boostopt fit` or MarginBoostClassifier.save wrote, with the version of boostopt that wrote it."
        )
    try:
        return _restored(with_arrays(about, arrays), parameters)
    except UNREADABLE as failure:
        raise DataError(
            f"expected a whole model in {source}; part of it cannot be read ({_in_words(failure)}). Fit it anew."
        ) from failure


def _check_size(source: Path) -> None:
    """Raise DataError for arrays that would fill the memory: a few bytes may be packed zeros without end."""
    if not zipfile.is_zipfile(source):
        return
    try:
        with zipfile.ZipFile(source) as archive:
            size = sum(member.file_size for member in archive.infolist())
    except Exception as failure:  # zipfile raises nearly anything on a damaged file
        raise DataError(f"it is no archive: {failure}") from failure
    if size > LIMIT:
        raise DataError(f"its arrays would take {size:,} bytes, and a model at most {LIMIT:,}")


def _in_words(failure: BaseException) -> str:
    """Return what went wrong, without the last full stop."""
    words = str(failure) if isinstance(failure, ValueError) else f"{type(failure).__name__}: {failure}"
    return words[:400].rstrip(".")


def _described(part: Part) -> dict[str, Any]:
    """Return what tells a class from the rest as names, numbers and arrays."""
    certificate = part.certificate
    return {
        "formulation": part.formulation,
        "oracle": part.oracle,
        "majority": int(part.majority),
        "rounds": int(part.rounds),
        "reason": part.reason,
        "w": part.w,
        "hypotheses": [_state(hypothesis) for hypothesis in part.hypotheses],
        "certificate": None
        if certificate is None
        else {"lower": float(certificate.lower), "upper": float(certificate.upper), "d": certificate.d},
    }


def _state(hypothesis: Hypothesis) -> dict[str, Any]:
    """Return a hypothesis as plain numbers."""
    if not isinstance(hypothesis, Stump | Feature | KernelColumn | RBFHypothesis):
        raise OptionError(WITHOUT_FUNCTION.format(what=f"the hypothesis {str(hypothesis)[:80]!r}"))
    return to_state(hypothesis)


def _labels(classes: npt.NDArray[Any]) -> dict[str, Any]:
    """Return labels with their type."""
    values, kind = classes.tolist(), classes.dtype.name
    if all(isinstance(value, str) for value in values):
        return {"type": TEXT if classes.dtype.kind == "U" else OBJECT, "values": [str(value) for value in values]}
    if kind not in LABELS:
        raise OptionError(WITHOUT_FUNCTION.format(what=f"labels of the type {kind}, {str(values)[:80]},"))
    return {"type": kind, "values": values}


def _plain(value: Any) -> Any:
    """Return a parameter as JSON has it; None where it is more than that, such as an estimator or a generator."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        pairs = [[_plain(key), _plain(inner)] for key, inner in value.items()]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        return {"mapping": pairs}
    name = getattr(value, "name", None)  # of a formulation, or of a backend
    return name if isinstance(name, str) else None


def _parameter(name: str, value: Any) -> Any:
    """Return a parameter that was saved, unless it says what would be run in a further fit, or where it would write."""
    if name in NOT_KEPT:
        return NOT_KEPT[name]
    if isinstance(value, dict):
        _hold(set(value) == {"mapping"}, f"{name} is no mapping")
        value = {key: number for key, number in value["mapping"]}
        _hold(all(isinstance(inner, bool | int | float | str | None) for pair in value.items() for inner in pair), name)
        return value
    _hold(value is None or isinstance(value, bool | int | float | str), f"{name} is no plain value")
    # The path of a page would be run by a further fit.
    _hold(name != "formulation" or (isinstance(value, str) and value.isidentifier()), "formulation is no name")
    return value


def _hold(condition: Any, otherwise: str) -> None:
    """Raise ValueError where something does not hold; an assertion may be switched off."""
    if not condition:
        raise ValueError(otherwise)


def _restored(about: Mapping[str, Any], parameters: Sequence[str]) -> Loaded:
    """Return what a description says, checked."""
    wanted = len(about["classes"]["values"])
    _hold(len(about["parts"]) == (1 if wanted == 2 else wanted), "not one part for each class")
    classes, features, names = _classes(about["classes"]), about["features"], about["feature_names"]
    _hold(type(features) is int and features >= 1, "no number of features")
    _hold(type(about["rounds"]) is int and about["rounds"] >= 0, "no number of rounds")
    given = about["parameters"]
    _hold(isinstance(given, dict) and set(given) <= set(parameters), "parameters that the classifier does not have")
    parts = tuple(_part(part, features) for part in about["parts"])
    attributes: dict[str, Any] = {"classes_": classes, "n_features_in_": features, "n_iter_": about["rounds"]}
    if names is not None:
        _hold(len(names) == features and all(isinstance(name, str) for name in names), "names of other features")
        attributes["feature_names_in_"] = np.array(names, dtype=object)
    return Loaded({name: _parameter(name, value) for name, value in given.items()}, attributes, parts)


def _classes(saved: Mapping[str, Any]) -> npt.NDArray[Any]:
    """Return labels, ascending and different."""
    values, kind = saved["values"], saved["type"]
    _hold(isinstance(values, list) and len(values) >= 2, "fewer than two classes")
    if kind in (TEXT, OBJECT):
        _hold(all(isinstance(value, str) for value in values), "classes that are no texts")
        # An array of texts has room for the longest in each place, four bytes a letter.
        _hold(4 * len(values) * max(map(len, values)) <= LARGEST_TEXT, "classes with names that are too long")
    else:
        _hold(kind in LABELS, "classes of an unknown type")
        _hold(all(isinstance(value, bool | int | float) and math.isfinite(value) for value in values), "infinite")
    classes = np.array(values, dtype={TEXT: np.str_, OBJECT: object}.get(kind, kind))
    _hold(classes.tolist() == values, f"classes that are not of the type {kind}")
    _hold((classes[1:] > classes[:-1]).all(), "classes that are not in order")
    return classes


def _part(saved: Mapping[str, Any], features: int) -> OfFile:
    """Return what tells a class from the rest, checked."""
    hypotheses = [from_state(state) for state in saved["hypotheses"]]
    w = _numbers(saved["w"], len(hypotheses))
    _hold(np.abs(w).sum() > 0 and np.isfinite(np.abs(w).sum()), "weights that sum to nothing")
    for hypothesis in hypotheses:
        _hold(_features(hypothesis) == features, f"a hypothesis of other than {features} features: {hypothesis}")
    texts = {name: saved[name] for name in ("formulation", "oracle", "reason")}
    _hold(all(isinstance(text, str) for text in texts.values()), "what should be texts")
    _hold(saved["majority"] in (-1, 1) and type(saved["rounds"]) is int, "what should be whole numbers")
    certificate = None if saved["certificate"] is None else _certificate(saved["certificate"], texts["oracle"])
    return OfFile(
        **texts,
        hypotheses=hypotheses,
        w=w,
        majority=int(saved["majority"]),
        rounds=saved["rounds"],
        certificate=certificate,
    )


def _features(hypothesis: Hypothesis) -> int:
    """Return how many features a hypothesis takes."""
    if isinstance(hypothesis, RBFHypothesis):
        return hypothesis.network.centres.shape[1]
    if isinstance(hypothesis, Stump | Feature | KernelColumn):
        return hypothesis.features
    raise ValueError(f"a hypothesis that no model file holds: {hypothesis}")


def _certificate(saved: Mapping[str, Any], oracle: str) -> ClassCertificate:
    """Return a certificate as it was recorded; to prove it anew takes the training examples."""
    lower, upper, d = saved["lower"], saved["upper"], saved["d"]
    _hold(
        isinstance(lower, float) and isinstance(upper, float) and -math.inf < lower <= upper and lower < math.inf,
        "bounds that are no interval",
    )
    if d is None:
        _hold(upper == math.inf, "an upper bound that nothing proves")
        return ClassCertificate(lower, upper, None, oracle, recorded=True)
    return ClassCertificate(lower, upper, _numbers(d, len(d)), oracle, recorded=True)


def _numbers(saved: Any, count: int) -> Float[Array, " n"]:
    """Return so many finite numbers."""
    _hold(isinstance(saved, np.ndarray) and saved.dtype == np.float64, "numbers that are no array of them")
    _hold(saved.shape == (count,) and np.isfinite(saved).all(), "numbers of another count, or not finite")
    return saved
