"""Public names of packages: a wrong place is named with the right one."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

import boostopt


@pytest.mark.parametrize(
    ("package", "name", "place"),
    [
        ("boostopt", "MarginBoostClassifier", "boostopt.estimators"),
        ("boostopt", "DecisionStumps", "boostopt.oracles"),
        ("boostopt.estimators", "CappedSimplex", "boostopt.authoring"),
        ("boostopt.estimators", "boost", "boostopt"),
    ],
)
def test_a_name_of_another_package_is_found_there(package: str, name: str, place: str) -> None:
    module = import_module(package)
    with pytest.raises(AttributeError, match=re.escape(f"Use {place}.{name}")):
        getattr(module, name)
    assert not hasattr(module, name)
    with pytest.raises(ImportError, match=re.escape(f"Write: from {place} import {name}")):
        exec(f"from {package} import {name}")
    assert name in import_module(place).__all__


def test_unknown_names_and_modules_have_no_hint() -> None:
    with pytest.raises(AttributeError, match=r"has no attribute 'nonsense'$"):
        _ = vars(boostopt)["__getattr__"]("nonsense")
    with pytest.raises(ImportError, match=r"cannot import name 'nonsense' from 'boostopt' \("):
        exec("from boostopt import nonsense")


@pytest.mark.thorough
def test_submodules_are_imported_as_ever() -> None:
    exec("from boostopt.verification import verify, verification_result")
