"""Refuse runs in which a default backend is missing, tell the suites and their parts apart, take Ctrl-C."""

from __future__ import annotations

import signal
import zlib
from collections import Counter

import pytest
from speeds import PART, PARTS, SEEDS


def pytest_configure(config: pytest.Config) -> None:
    """Let warnings of small margins pass: what is fitted roughly, or to noise, is no better than chance.

    Tests of the warning ask for it. In pyproject.toml its name would load boostopt before types are checked.
    """
    config.addinivalue_line("filterwarnings", "ignore::boostopt.errors.MarginWarning")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark further seeds and cases of a test as thorough; leave the tests of the part that is asked for."""
    cases = Counter[str]()
    for item in items:
        parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        seed = parameters.get("seed", 0)
        if isinstance(seed, int) and seed >= SEEDS:
            item.add_marker(pytest.mark.thorough)
        if every := item.get_closest_marker("every"):
            test = item.nodeid.partition("[")[0]
            if cases[test] % every.args[0]:
                item.add_marker(pytest.mark.thorough)
            cases[test] += 1
    of_part, others = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        (of_part if zlib.crc32(item.nodeid.encode()) % PARTS == PART % PARTS else others).append(item)
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = of_part


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_is_not_ignored() -> None:
    """A shell starts what runs in its background with Ctrl-C ignored, and the tests of it would see nothing of it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def default_backends_are_installed() -> None:
    from problems import DEFAULT_BACKENDS

    import boostopt

    missing = set(DEFAULT_BACKENDS) - set(boostopt.list_backends())
    assert not missing, f"a default backend is not installed: {missing}"
