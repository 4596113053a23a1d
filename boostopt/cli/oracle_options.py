"""Hypothesis classes by their names on the command line: oracles over a data set, and the options of each class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from boostopt._utils.user_modules import is_python_file_path
from boostopt.data.datasets import Dataset
from boostopt.errors import OptionError, reason_of, require_not_none, unknown_name
from boostopt.oracles import GivenMargins, Oracle

TREE_CLASS = "tree"
"""The name of the class of decision trees, which scikit-learn fits."""

TREE_OPTIONS = ("max_depth", "min_samples_leaf", "max_leaf_nodes", "values")
"""The options of decision trees; the first three are parameters of scikit-learn's tree."""

DEFAULT_TREE_DEPTH = 3
"""The default of `max_depth`."""


def make_oracle(
    dataset: Dataset, name: str | None, options: dict[str, Any], reflexive: bool | None, random_state: int
) -> tuple[Oracle, Any]:
    """Return the oracle of a data set, and the reference distribution of examples with positive multiplicity.

    Raises
    ------
    OptionError
        There is no such class, file or option, or the data are a margin matrix, whose columns are the class.
    """
    d0 = dataset.d0
    if d0 is not None and dataset.c is not None:
        d0 = d0[dataset.c > 0]
    if dataset.U is not None:
        if name is not None or options:
            raise OptionError(
                f"{dataset.name} holds U, whose columns are the class of hypotheses; got an oracle or its options. "
                "Leave out --oracle and --option, or pass data with X and y."
            )
        return GivenMargins(dataset.U, c=dataset.c, reflexive=bool(reflexive)), d0
    from boostopt.estimators.training.hypothesis_classes import HYPOTHESIS_CLASSES, make_oracle

    if name is not None and name not in (*HYPOTHESIS_CLASSES, TREE_CLASS) and not is_python_file_path(name):
        raise unknown_name("oracle", name, (*HYPOTHESIS_CLASSES, TREE_CLASS))
    validate_oracle_options(name or "stump", options, "--oracle")
    base = _make_tree(options) if name == TREE_CLASS else name or "stump"
    oracle_options = (
        {key: value for key, value in options.items() if key not in TREE_OPTIONS[:3]} if name == TREE_CLASS else options
    )
    y = require_not_none(dataset.y, "a data set with classes")
    c = np.ones(len(y)) if dataset.c is None else np.asarray(dataset.c, dtype=np.float64)
    return make_oracle(base, oracle_options, reflexive is not False, random_state, dataset.X, y, c), d0


def _make_tree(options: dict[str, Any]) -> Any:
    """Return an unfitted decision tree."""
    from sklearn.tree import DecisionTreeClassifier

    parameters = {name: options[name] for name in TREE_OPTIONS[:3] if name in options}
    settings: dict[str, Any] = {"max_depth": DEFAULT_TREE_DEPTH, **parameters}
    tree = DecisionTreeClassifier(**settings)
    try:
        tree.fit([[0.0], [1.0]], [0, 1])  # scikit-learn checks the parameters of a tree in `fit` only
    except ValueError as failure:
        reason = reason_of(str(failure).splitlines()[0])
        raise OptionError(f"--option of a tree: {reason}. Correct the option, or leave it out.") from None
    return tree


def validate_oracle_options(kind: str, options: Iterable[str], flag: str) -> None:
    """Raise OptionError for an option that a class of hypotheses does not have, and name the classes that have it."""
    from boostopt.estimators.training.hypothesis_classes import HYPOTHESIS_CLASSES

    if is_python_file_path(kind):  # the class of the user checks its arguments
        return
    for name in options:
        if name not in _option_names(kind):
            owners = [owner for owner in (*HYPOTHESIS_CLASSES, TREE_CLASS) if name in _option_names(owner)]
            hint = f" It is an option of {' and '.join(owners)}: pass {flag} {owners[0]}." if owners else ""
            raise OptionError(f"{unknown_name(f'option of {kind}', name, _option_names(kind))}{hint}")


def _option_names(kind: str) -> list[str]:
    """Return the names of the options of a class of hypotheses."""
    from boostopt import oracles
    from boostopt.estimators.training.hypothesis_classes import HYPOTHESIS_CLASSES, oracle_option_names

    return list(TREE_OPTIONS) if kind == TREE_CLASS else oracle_option_names(getattr(oracles, HYPOTHESIS_CLASSES[kind]))
