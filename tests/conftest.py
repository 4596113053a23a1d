"""Refuse runs in which a default backend is missing."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session", autouse=True)
def default_backends_are_installed() -> None:
    from problems import DEFAULT_BACKENDS

    import boostopt

    missing = set(DEFAULT_BACKENDS) - set(boostopt.list_backends())
    assert not missing, f"a default backend is not installed: {missing}"
