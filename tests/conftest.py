"""Refuse runs in which a default backend is missing, and tell the fast suite from the thorough one."""

from __future__ import annotations

import pytest
from speeds import SEEDS


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark further seeds of a test as thorough."""
    for item in items:
        parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        seed = parameters.get("seed", 0)
        if isinstance(seed, int) and seed >= SEEDS:
            item.add_marker(pytest.mark.thorough)


@pytest.fixture(scope="session", autouse=True)
def default_backends_are_installed() -> None:
    from problems import DEFAULT_BACKENDS

    import boostopt

    missing = set(DEFAULT_BACKENDS) - set(boostopt.list_backends())
    assert not missing, f"a default backend is not installed: {missing}"
