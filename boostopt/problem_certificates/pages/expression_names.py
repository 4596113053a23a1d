"""Names of variables, parameters and data: those of the user, and generic ones for what has none."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array
from boostopt._utils.cvxpy_tools import cp
from boostopt.problem_certificates.pages.tex_formulas import (
    IDENTITY,
    ONES,
    ONES_MATRIX,
    Formula,
    name_formula,
    number_formula,
    product,
)

AUTOMATIC_NAME = re.compile(r"(var|param)\d+")
"""A name that CVXPY gives."""

FAMILY_SIZE = 4
"""The number from which on data of one shape have one letter and an index."""

Pools = tuple[Sequence[str], Sequence[str]]
"""Letters for numbers and vectors, and for matrices."""

VARIABLE_LETTERS: Pools = ("x y z u v w s t".split(), "X Y W V U T".split())
PARAMETER_LETTERS: Pools = (r"\alpha \beta \gamma \theta \kappa \tau".split(), "P Q R S".split())
DATA_LETTERS: Pools = ("a b c d g h q r p m".split(), "A B C D G H F P Q R S M".split())
"""Generic letters for numbers and vectors, and for matrices."""


class ExpressionNames:
    """The names in one problem, in the order of their first use.

    Parameters
    ----------
    expressions
        The objective and the arguments of the constraints.
    names
        Names of data, parameters and variables by name; what is nothing of these is passed over.
    """

    def __init__(self, expressions: Iterable[Any], names: Mapping[str, Any]) -> None:
        leaves = list(itertools.chain.from_iterable(map(_leaves, expressions)))
        self._user_names = _user_names(names)
        self._taken_letters = {_base(str(name)) for name in self._user_names.values()}
        self.variables: dict[int, Formula] = self._assign_names(_distinct(leaves, cp.Variable), VARIABLE_LETTERS)
        self.parameters: dict[int, Formula] = self._assign_names(_distinct(leaves, cp.Parameter), PARAMETER_LETTERS)
        self.data: dict[Any, tuple[Formula, tuple[int, ...], Array | None]] = {}
        self._transposes: dict[Any, Any] = {}
        self._name_data([leaf for leaf in leaves if isinstance(leaf, cp.Constant) and not _is_plain(leaf)])

    def _name_data(self, leaves: list[Any]) -> None:
        """Name all data: by the user, as the transpose of other data, or by generic letters."""
        unnamed: dict[Any, Any] = {}
        for leaf in leaves:
            key, transposed_key = _data_key(leaf.value), _data_key(leaf.value.T)
            name = self._user_names.get(key) or getattr(leaf, "_name", None)
            if name:
                self._add_data(key, leaf.value, name_formula(name))
            elif transposed_key in self._user_names:
                self._add_data(transposed_key, leaf.value.T, name_formula(self._user_names[transposed_key]))
                self._transposes[key] = transposed_key
            elif transposed_key != key and transposed_key in unnamed:
                self._transposes[key] = transposed_key
            elif key not in self.data:
                unnamed[key] = leaf.value
        families: dict[tuple[int, ...], list[Any]] = {}
        for key, value in unnamed.items():
            families.setdefault(tuple(value.shape), []).append(key)
        for shape, keys in families.items():
            letters = self._letters(DATA_LETTERS[len(shape) > 1])
            if len(keys) < FAMILY_SIZE:
                formulas = [Formula(next(letters)) for _ in keys]
            else:
                letter = next(letters)
                formulas = [Formula(f"{letter}_{{{k}}}") for k in range(1, len(keys) + 1)]
            for key, formula in zip(keys, formulas, strict=True):
                self._add_data(key, unnamed[key], formula)

    def constant(self, leaf: Any) -> Formula:
        """Return a constant: a number, ones, the identity, multiples of these, or its name."""
        value = _plain_value(leaf)
        if value is None:
            key = _data_key(leaf.value)
            if key in self._transposes:
                return self.data[self._transposes[key]][0].transpose
            return self.data[key][0]
        number, kind = value
        if kind is None or number == 0:
            return number_formula(number)
        return product(number_formula(number), kind) if number != 1 else kind

    def multiplier_letter(self, letter: str) -> str:
        """Return a letter for multipliers, with a hat if a name of the problem begins with it."""
        return rf"\hat{{{letter}}}" if letter in self._taken_letters else letter

    def _assign_names(self, leaves: list[Any], pools: Pools) -> dict[int, Formula]:
        """Return the name of each variable or parameter by its id; equal names have numbers."""
        user_names = [self._user_name(leaf) for leaf in leaves]
        self._taken_letters |= {_base(name) for name in user_names if name is not None}
        result, counts = dict[int, Formula](), dict[str, int]()
        for leaf, name in zip(leaves, user_names, strict=True):
            if name is None:
                result[leaf.id] = Formula(next(self._letters(pools[leaf.ndim > 1])))
                continue
            counts[name] = counts.get(name, 0) + 1
            formula = name_formula(name)
            result[leaf.id] = formula if counts[name] == 1 else Formula(f"{formula.text}^{{({counts[name]})}}")
        return result

    def _user_name(self, leaf: Any) -> str | None:
        """Return the name that the user gave a variable or a parameter; None for a name of CVXPY's."""
        name = str(leaf.name())
        return self._user_names.get(leaf.id) if AUTOMATIC_NAME.fullmatch(name) else name

    def _letters(self, pool: Sequence[str]) -> Iterator[str]:
        """Yield letters that are not used, then the same with numbers."""
        for letter in itertools.chain(pool, (f"{pool[0]}_{{{k}}}" for k in itertools.count(1))):
            if letter not in self._taken_letters:
                self._taken_letters.add(letter)
                yield letter

    def _add_data(self, key: Any, value: Any, formula: Formula) -> None:
        """Give data a name; large sparse data have no numbers in the table of symbols."""
        self.data[key] = (formula, tuple(value.shape), None if scipy.sparse.issparse(value) else np.asarray(value))


def _leaves(expression: Any) -> Iterator[Any]:
    """Yield the variables, parameters and constants of an expression from the left to the right."""
    if isinstance(expression, cp.Variable | cp.Parameter | cp.Constant):
        yield expression
        return
    if type(expression).__name__ == "perspective":
        yield from _leaves(expression.f)
    for argument in expression.args:
        yield from _leaves(argument)


def _distinct(leaves: list[Any], kind: type[Any]) -> list[Any]:
    """Return the leaves of a kind, each once."""
    return list({leaf.id: leaf for leaf in leaves if isinstance(leaf, kind)}.values())


def _user_names(names: Mapping[str, Any]) -> dict[Any, str]:
    """Return the names of a user by the id of a variable or parameter, or by the key of data."""
    result = dict[Any, str]()
    for name, value in names.items():
        if name.startswith("_"):
            continue
        if isinstance(value, cp.Variable | cp.Parameter):
            result.setdefault(value.id, name)
        elif isinstance(value, np.ndarray | cp.Constant) or scipy.sparse.issparse(value):
            if isinstance(value, np.ndarray) and (value.dtype.kind not in "biuf" or not value.size):
                continue
            constant = value if isinstance(value, cp.Constant) else cp.Constant(value)
            result.setdefault(_data_key(constant.value), name)
    return result


def _data_key(value: Any) -> Any:
    """Return a key that is equal for equal data."""
    if scipy.sparse.issparse(value):
        csr = scipy.sparse.csr_array(value)
        return tuple(value.shape), csr.data.tobytes(), csr.indices.tobytes(), csr.indptr.tobytes()
    values = np.asarray(value)
    values = values if np.iscomplexobj(values) else values.astype(float)
    return tuple(values.shape), values.tobytes()


def _is_plain(leaf: Any) -> bool:
    """Return whether a constant needs no name."""
    return _plain_value(leaf) is not None


def _plain_value(leaf: Any) -> tuple[float, Formula | None] | None:
    """Return a number and what it multiplies: None, ones or the identity; None for other constants."""
    value = leaf.value
    if scipy.sparse.issparse(value):
        value = value.toarray() if value.shape[0] * value.shape[1] <= 10_000 else None
    if value is None or np.iscomplexobj(value):
        return None
    values = np.asarray(value, dtype=float)
    if values.size == 0:
        return 0.0, None
    first = float(values.ravel()[0])
    if values.size == 1 or not values.any():
        return first, None
    if (values == first).all():
        is_matrix = values.ndim > 1 and min(values.shape) > 1
        return first, ONES_MATRIX if is_matrix else ONES
    if values.ndim == 2 and values.shape[0] == values.shape[1] and (values == first * np.eye(len(values))).all():
        return first, IDENTITY
    return None


def _base(name: str) -> str:
    """Return a name as TeX without its index."""
    return name_formula(name).text.split("_{")[0]
