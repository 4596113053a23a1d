"""Refuse runs in which a default backend is missing, tell the suites and their parts apart, take Ctrl-C.

Name the fast cases that take long.
"""

from __future__ import annotations

import gc
import resource
import signal
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from support.speeds import CPU_SECONDS, PART, PARTS, SEEDS, THOROUGH

MARK_OF_FILE = "\npytestmark = pytest.mark.thorough\n"
"""Line of a file whose tests are all thorough."""

MIN_OBJECTS = 10_000
"""Objects between two collections of garbage, which is little: the default of 700 costs a hundredth of the suite."""


def pytest_configure(config: pytest.Config) -> None:
    """Let warnings of small margins pass: what is fitted roughly, or to noise, is no better than chance.

    Tests of the warning ask for it. In pyproject.toml its name would load boostopt before types are checked.
    """
    config.addinivalue_line("filterwarnings", "ignore::boostopt.errors.MarginWarning")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector off the modules and cases of all tests, which live until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.set_threshold(MIN_OBJECTS)
        gc.freeze()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Let the fast suite import no file whose tests are all thorough: some load a cluster or a browser."""
    if THOROUGH or collection_path.suffix != ".py" or config.option.markexpr != "not thorough":
        return None
    return MARK_OF_FILE in collection_path.read_text(encoding="utf-8") or None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Let every second worker read the folders backwards: each then compiles the half that the others read compiled."""
    report = yield
    worker = getattr(collector.config, "workerinput", {}).get("workerid", "gw0")
    if isinstance(collector, pytest.Directory) and int(worker[2:]) % 2:
        report.result.reverse()
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark further seeds and cases of a test as thorough; leave the tests of the part that is asked for."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: item.path)  # the order of all workers
    cases = Counter[str]()
    named_cases: dict[tuple[str, str], tuple[set[str], set[str]]] = {}
    for item in items:
        parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        seed = parameters.get("seed", 0)
        if isinstance(seed, int) and seed >= SEEDS:
            item.add_marker(pytest.mark.thorough)
        test, _, case = item.nodeid.removesuffix("]").partition("[")
        named = dict[str, tuple[str, ...]]()
        for name in ("thorough_cases", "fast_cases"):
            if mark := item.get_closest_marker(name):
                named[name] = mark.args
                named_cases.setdefault((test, name), (set(mark.args), set()))[1].add(case)
        if period := item.get_closest_marker("every"):
            n, *first = period.args
            if (cases[test] - sum(first)) % n and case not in named.get("fast_cases", ()):
                item.add_marker(pytest.mark.thorough)
            cases[test] += 1
        if case in named.get("thorough_cases", ()):
            item.add_marker(pytest.mark.thorough)
    if not any("::" in argument for argument in config.args):  # all cases of each test were collected
        for (test, name), (marked, cases_of_test) in named_cases.items():
            if missing := marked - cases_of_test:
                raise pytest.UsageError(f"{test} has no cases {sorted(missing)}: correct its mark {name}")
    selected, deselected = list[pytest.Item](), list[pytest.Item]()
    is_fast = not THOROUGH and config.option.markexpr == "not thorough"
    for item in items:
        is_selected = zlib.crc32(item.nodeid.encode()) % PARTS == PART % PARTS
        is_left_out = is_fast and item.get_closest_marker("thorough")  # here, so that no other plugin sorts them
        (selected if is_selected and not is_left_out else deselected).append(item)
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        items[:] = selected


def cpu_seconds() -> float:
    """Return the processor time of this process and of the processes that it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Measure the processor time of a test without its fixtures."""
    begin = cpu_seconds()
    try:
        return (yield)
    finally:
        item.user_properties.append(("cpu", cpu_seconds() - begin))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the fast cases that took more than CPU_SECONDS; the first that uses a library also pays for its import."""
    if THOROUGH:
        return
    seconds = defaultdict[str, float](float)
    for report in terminalreporter.getreports("passed"):
        if report.when == "call":
            seconds[report.nodeid] += sum(value for name, value in report.user_properties if name == "cpu")
    slow = sorted(((cpu, case) for case, cpu in seconds.items() if cpu > CPU_SECONDS), reverse=True)
    if slow:
        title = f"{len(slow)} fast cases took more than {CPU_SECONDS} CPU s: mark them thorough, or make them smaller"
        terminalreporter.section(title)
        for cpu, case in slow:
            terminalreporter.line(f"{cpu:.2f} {case}")


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_is_not_ignored() -> None:
    """A shell starts what runs in its background with Ctrl-C ignored, and the tests of it would see nothing of it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def default_backends_are_installed() -> None:
    from support.problems import DEFAULT_BACKENDS

    import boostopt

    missing = set(DEFAULT_BACKENDS) - set(boostopt.list_backends())
    assert not missing, f"a default backend is not installed: {missing}"
