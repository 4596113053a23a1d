"""Data sets by name or from a file, for boosting, fitting and predicting."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from boostopt._utils.array_types import Array, Float, Int8
from boostopt._utils.files import read_npz
from boostopt._utils.formatting import format_count
from boostopt._utils.validation import check_names as listed_names
from boostopt.data.class_labels import check_count, infer_label_type, to_signs
from boostopt.data.labelled_tables import DEFAULT_LABEL, load_named_csv
from boostopt.data.parquet import PARQUET_SUFFIX, load_named_parquet, parquet_files
from boostopt.data.source_examples import contents_of_npz, validate_weights
from boostopt.data.source_forms import CSV_FORM, check_indices, load_named_columns, load_unnamed, source_and_form
from boostopt.errors import DataError, OptionError
from boostopt.oracles.stumps.boosted_stumps import boosted_stump_matrix
from boostopt.oracles.stumps.random_stump_matrix import stump_matrix

HYPOTHESES = ("boosted", "random")
"""The ways in which `Dataset.margin_matrix` chooses decision stumps."""


@dataclass(frozen=True)
class Dataset:
    """Examples of two classes, or a margin matrix that the source holds.

    Attributes
    ----------
    name
        The name or path of the source.
    X
        Features, shape (N, features); None if U is given.
    y
        Labels -1 and 1, shape (N,); None if U is given.
    U
        Margin matrix, shape (N, t), if the file holds one.
    c, d0
        Multiplicities and reference distribution, shape (N,), if the file holds them.
    unread
        Names of the other arrays of an npz file.
    features
        Names of the features, () if the source has none. The features of svmlight text are named by their indices.
    classes
        The classes that -1 and 1 stand for, as the source writes them; () if U is given.
    zero_based
        Whether the index of the first feature is 0 or 1 in svmlight text; None for other sources.
    """

    name: str
    X: Float[Array, "N features"] | None = None
    y: Int8[Array, " N"] | None = None
    U: Any = None
    c: Any = None
    d0: Any = None
    unread: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    zero_based: bool | None = None

    def __repr__(self) -> str:
        contents = (
            f"U of shape {np.shape(self.U)}"
            if self.X is None or self.y is None
            else f"{format_count(len(self.y), 'example')}, {format_count(self.X.shape[1], 'feature')}"
        )
        return f"Dataset({self.name!r}, {contents})"

    def margin_matrix(self, t: int, random_state: int, hypotheses: str = "random") -> Any:
        """Return U: the given one, or the margins of at most t decision stumps that depend on a seed.

        Parameters
        ----------
        t
            Number of columns wanted, at least 1.
        random_state
            The seed.
        hypotheses
            "random": stumps drawn at random, each with its negation (`stump_matrix`); "boosted": stumps that AdaBoost
            chooses (`boosted_stump_matrix`).

        Raises
        ------
        DataError
            There are neither X and y nor U.
        OptionError
            `hypotheses` is another word.
        """
        if hypotheses not in HYPOTHESES:
            raise OptionError(f"hypotheses must be one of {', '.join(HYPOTHESES)}; got {hypotheses!r}. Choose one.")
        if self.U is not None:
            return self.U
        if self.X is None or self.y is None:
            raise DataError(f"{self.name} holds neither X and y nor U.")
        if hypotheses == "boosted":
            return boosted_stump_matrix(self.X, self.y, t, random_state, self.c)
        return stump_matrix(self.X, self.y, t, random_state)

    def with_features(self, names: Sequence[str]) -> Dataset:
        """Return the data set with the named features only, in this order; itself if it lacks one of them."""
        if self.X is None or not names or tuple(names) == self.features or not set(names) <= set(self.features):
            return self
        columns = [self.features.index(name) for name in names]
        return replace(self, X=np.ascontiguousarray(self.X[:, columns]), features=tuple(names))


def load_dataset(
    source: str,
    label: str = DEFAULT_LABEL,
    positive: str | None = None,
    weights: str | None = None,
    drop: Sequence[str] = (),
    zero_based: bool | None = None,
    missing_values: Sequence[str] | None = None,
) -> Dataset:
    """Load a data set of two classes.

    Parameters
    ----------
    source
        The name of a set that comes with scikit-learn ("breast_cancer"; nothing is downloaded), or a path: ".npz"
        with arrays X and y, or U, and optionally c and d0; ".csv" with a header line; ".tsv" or ".tab" with tabs
        instead of commas; ".parquet", a folder of such files, or a pattern of their names ("part-*.parquet"). Any other
        file is read as svmlight text. All text may be compressed (".gz", ".bz2", ".xz").
    label
        The column of a CSV or parquet file that holds the class.
    positive
        The class that becomes 1; all others become -1. By default there must be two classes, and the larger one, by
        number or else alphabetically, becomes 1. You can give the classes of scikit-learn's sets by name.
    weights
        The column of a CSV or parquet file that holds the multiplicities c, which act as sample weights. The column is
        then not a feature.
    drop
        One or several columns of a CSV or parquet file that are not features: each entry is a name, or several names
        separated by commas.
    zero_based
        Whether the index of the first feature in svmlight text is 0 or 1. By default it is 0 if this index occurs, and
        1 otherwise. A second file of the same data should get the `zero_based` of the first.
    missing_values
        The spellings of a missing label, in addition to a blank one. The defaults are the spellings
        of `pandas.read_csv`, such as NA, null and None, and ?, in any case. With [] a class may have such a name.

    Raises
    ------
    DataError
        The source is unknown, unreadable, empty or truncated; the column of the labels, of the weights, or one to drop
        is missing; a feature is not a finite number; a label is missing; two labels spell one number; there are not
        exactly two classes; columns are named for a file without column names; indices do not begin as `zero_based`
        says, or there are none; or the numbers would take too much memory.
    OptionError
        A file is parquet, and pyarrow is not installed.

    Warns
    -----
    UserWarning
        A column of a CSV file without a name, which is the index of a data frame, is taken as a feature.
    """
    source, form = source_and_form(source)
    missing = None if missing_values is None else listed_names("missing_values", missing_values)
    contents = load_named_columns(source, form, label, weights, drop, missing)
    zero_based = check_indices(source, zero_based)
    if contents is None and form == ".npz":
        arrays = read_npz(Path(source))
        if "U" in arrays:
            return _dataset_of_margins(source, arrays)
        if not {"X", "y"} <= arrays.keys():
            raise DataError(f"{source} must hold arrays X and y, or U; it holds {', '.join(arrays) or 'none'}.")
        contents = contents_of_npz(source, arrays, ("c", "d0"))
    contents = contents or load_unnamed(source, form, zero_based)
    X, names, is_typed = contents.X, contents.classes, contents.has_typed_labels
    y, classes = to_signs(source, contents.labels, len(X), positive, names, is_typed, missing)
    return Dataset(
        source,
        X,
        y,
        c=contents.c,
        d0=contents.d0,
        unread=contents.unread,
        features=contents.features,
        classes=classes,
        zero_based=contents.zero_based,
    )


def _dataset_of_margins(source: str, arrays: Mapping[str, Any]) -> Dataset:
    """Return a margin matrix with the weights of its examples, if there are any."""
    U, c, d0 = arrays["U"], arrays.get("c"), arrays.get("d0")
    if U.ndim != 2 or 0 in U.shape:
        raise DataError(f"{source}: U must have shape (N, t) and not be empty; got {U.shape}. Save the margins.")
    validate_weights(source, len(U), {"c": c, "d0": d0})
    return Dataset(source, U=U, c=c, d0=d0, unread=tuple(sorted(set(arrays) - {"U", "c", "d0"})))


@dataclass(frozen=True)
class LabelledTable:
    """Examples as a source holds them: labels of any kind and number, features with their names.

    Attributes
    ----------
    name
        The name or path of the source.
    X
        Features, shape (N, features).
    labels
        Truth values, whole numbers, other numbers or texts, shape (N,); None if the source has none.
    features
        Names of the features, () if the source has none.
    c
        Sample weights, shape (N,), if the source holds them.
    unread
        Names of the other columns or arrays.
    zero_based
        As in `Dataset`.
    """

    name: str
    X: Float[Array, "N features"]
    labels: npt.NDArray[Any] | None
    features: tuple[str, ...] = ()
    c: Any = None
    unread: tuple[str, ...] = ()
    zero_based: bool | None = None


def load_table(
    source: str,
    label: str = DEFAULT_LABEL,
    weights: str | None = None,
    drop: Sequence[str] = (),
    zero_based: bool | None = None,
    missing_values: Sequence[str] | None = None,
) -> LabelledTable:
    """Load the training examples of a classifier: labels as they are, of two or more classes.

    Parameters
    ----------
    source, label, weights, zero_based, missing_values
        As in `load_dataset`; an npz file must hold X and y, and may hold weights as c.
    drop
        As in `load_dataset`.

    Raises
    ------
    DataError
        As `load_dataset`, except for the number of classes; or a column to drop is missing.

    Warns
    -----
    UserWarning
        As `load_dataset`.
    """
    source, form = source_and_form(source)
    missing = None if missing_values is None else listed_names("missing_values", missing_values)
    contents = load_named_columns(source, form, label, weights, drop, missing)
    zero_based = check_indices(source, zero_based)
    contents = contents or load_unnamed(source, form, zero_based)
    if contents.labels is None:
        raise DataError(f"{source} must hold arrays X and y; it holds no y. There is nothing to learn.")
    y = infer_label_type(source, contents.labels, len(contents.X), contents.has_typed_labels, missing)
    return LabelledTable(source, contents.X, y, contents.features, contents.c, contents.unread, contents.zero_based)


def load_features(
    source: str, names: Sequence[str], count: int, label: str = DEFAULT_LABEL, zero_based: bool | None = None
) -> LabelledTable:
    """Load the features for predictions of a classifier: those to which it was fitted; other columns are ignored.

    Parameters
    ----------
    source
        As in `load_dataset`.
    names
        Names of the features, by which the columns of a CSV or parquet file are found in any order. If there are none,
        (), the columns are taken in their order.
    count
        Number of features.
    label
        The column of a CSV or parquet file that holds the class, if there is one and it is not a feature.
    zero_based
        As in `load_dataset`; the value for the examples to which the classifier was fitted.

    Returns
    -------
    The features, and the labels as the source holds them, some or all of which may be missing.

    Raises
    ------
    DataError
        The source is unknown or unreadable, a column is missing, the number of features differs, a feature is not a
        number, or an index lies outside the features.

    Warns
    -----
    UserWarning
        `zero_based` is None, and the indices of svmlight text may begin with 0 or with 1.
    """
    source, form = source_and_form(source)
    if form == PARQUET_SUFFIX:
        contents = load_named_parquet(source, parquet_files(source), names, label)
    else:
        contents = (
            load_named_csv(source, names, label) if form == CSV_FORM else load_unnamed(source, form, zero_based, count)
        )
    X, labels = contents.X, contents.labels
    if X.shape[1] != count:
        raise DataError(
            f"{source} must have the {format_count(count, 'feature')} of the model; it has {X.shape[1]}. "
            f"Leave out columns that are no features, or name the column of the classes with label=... (here "
            f"{label!r})."
        )
    if labels is not None:
        check_count(source, labels, len(X))
    if zero_based is None and contents.zero_based is False and not X[:, -1].any():
        warnings.warn(
            f"{source}: the index of the first feature is taken to be 1, for the index 0 does not occur, and the model "
            "does not say how the indices of its features began. If it is 0, pass zero_based=True.",
            stacklevel=2,
        )
    return LabelledTable(source, X, labels, tuple(names), None, contents.unread, contents.zero_based)
