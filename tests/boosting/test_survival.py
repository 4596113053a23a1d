"""Runs that are killed, interrupted or resumed: what was reached is never lost, and never claims what it is not."""

from __future__ import annotations

import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from noisy_stumps import examples
from plain_stumps import PlainStumps
from sklearn.tree import DecisionTreeClassifier

from boostopt import DataError, boost
from boostopt.boosting.run import checkpoint_writer, round_recorder
from boostopt.boosting.run import run_file as saving
from boostopt.boosting.run.run import Run
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.boosting.run.trace import TraceRow
from boostopt.oracles import DecisionStumps, Estimators, GivenMargins
from boostopt.oracles.base import Answer, Column, Hypothesis, Oracle, Query, StateDict

KILLS = 20
LONGEST = 115_000  # calls and returns after which a process is killed at most: a round makes some thousands
CHECKPOINT_ROUNDS = 3  # rounds from one checkpoint to the next
COMPARED = ("round", "hypotheses", "edge", "smallest_edge", "upper", "soft_margin", "value", "active", "backend")


def stumps(N: int = 150) -> DecisionStumps:
    return PlainStumps(*examples(N))


def few() -> DecisionStumps:
    return stumps(50)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# Killed processes


SERVER = """
import os, signal, sys, tempfile
sys.path.insert(0, sys.argv[1])
from test_survival import CHECKPOINT_ROUNDS, boost, stumps

def die_after(calls):
    def count(frame, event, argument):
        nonlocal calls
        calls -= 1
        if calls == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    sys.setprofile(count if calls else None)

with tempfile.TemporaryDirectory() as folder:  # a run and its resumption import modules on first use
    for _ in range(2):
        boost("lpboost", stumps(), nu=10, max_rounds=2, checkpoint=folder + "/run.npz")
for line in sys.stdin:
    calls, path = line.rstrip("\\n").split(" ", 1)
    child = os.fork()
    if child == 0:
        die_after(int(calls))
        boost("lpboost", stumps(), nu=10, epsilon=1e-4, checkpoint=path, checkpoint_rounds=CHECKPOINT_ROUNDS)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Boosts in a process of its own for every path that it reads: importing everything takes longer than boosting."""


@pytest.fixture
def server() -> Generator[subprocess.Popen[str]]:
    folder = str(Path(__file__).parent)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, folder], stdin=-1, stdout=-1, text=True, env=environment
    ) as process:
        yield process
        process.kill()


def attempt(server: subprocess.Popen[str], path: Path, calls: int = 0) -> int:
    """Boost in a process that is killed after so many calls and returns, 0 for never, and return how it ended."""
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(f"{calls} {path}\n")
    server.stdin.flush()
    return int(server.stdout.readline())


@pytest.mark.thorough
def test_a_run_killed_at_20_random_moments_is_the_run_that_was_not(
    server: subprocess.Popen[str], tmp_path: Path
) -> None:
    whole = boost("lpboost", stumps(), nu=10, epsilon=1e-4)
    folder = tmp_path / "killed"
    folder.mkdir()
    path, last_round = folder / "run.npz", [0]
    for calls in np.random.default_rng(20).integers(1, LONGEST, KILLS).tolist():
        assert attempt(server, path, calls) == -signal.SIGKILL
        # Whatever the moment, the checkpoint is readable.
        last_round.append(Run.load(path).rounds if path.exists() else 0)
    assert last_round == sorted(last_round) and 0 < last_round[-1] < whole.rounds
    assert len(set(last_round)) > 5, "most of the kills must fall between different checkpoints"
    assert attempt(server, path) == 0
    run = Run.load(path)
    assert names(folder) == ["run.npz"]
    assert run.hypotheses == whole.hypotheses
    assert run.rounds == whole.rounds
    assert run.certificate.overlaps(whole.certificate)
    ours, theirs = run.class_certificate, whole.class_certificate
    assert ours.lower <= theirs.upper and theirs.lower <= ours.upper
    assert np.array_equal(run.w, whole.w)


KILLED_WHILE_WRITING = """
import os, signal, sys, tempfile
sys.path.insert(0, sys.argv[1])
import numpy as np
from test_survival import boost, stumps

def half(file, **arrays):
    file.write(b"PK" + bytes(1000))
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)

np_savez = np.savez
calls = []
def savez(file, **arrays):
    calls.append(file)
    half(file) if len(calls) == 4 else np_savez(file, **arrays)
np.savez = savez
boost("lpboost", stumps(), nu=10, checkpoint=sys.argv[2], checkpoint_rounds=2)
"""


@pytest.mark.thorough
def test_killed_in_the_middle_of_writing(tmp_path: Path) -> None:
    path = tmp_path / "a run.npz"
    mine, foreign = tmp_path / "a run.npz.bak", tmp_path / ".b.npz.01234567.partial"
    mine.write_text("kept")
    foreign.write_text("kept")
    command = [sys.executable, "-c", KILLED_WHILE_WRITING, str(Path(__file__).parent), str(path)]
    assert subprocess.run(command, timeout=60).returncode == -signal.SIGKILL
    half = [name for name in names(tmp_path) if name.startswith(".a run.npz.") and name.endswith(".partial")]
    assert len(half) == 1
    assert Run.load(path).rounds == 6
    run = boost("lpboost", stumps(), nu=10, max_rounds=8, checkpoint=path)
    assert run.rounds == 8
    assert names(tmp_path) == [foreign.name, path.name, mine.name]


# Resumed runs


def random_columns() -> GivenMargins:
    return GivenMargins(np.random.default_rng(1).uniform(-1, 1, (40, 60)), choose="random", reflexive=True)


def trees() -> Estimators:
    return Estimators(DecisionTreeClassifier(max_depth=2, max_features=2), *examples(50), random_state=5)


CASES: list[tuple[str, Callable[[], Oracle], dict[str, Any], int]] = [
    ("lpboost", few, {"nu": 5, "backend": "highs", "epsilon": 1e-4}, 25),
    ("lpboost", random_columns, {"nu": 5}, 20),
    ("erlpboost", few, {"nu": 5, "backend": "interior"}, 20),
    ("erlpboost", trees, {"nu": 5}, 25),
    ("binary_erlpboost", few, {"nu": 5}, 20),
    ("softboost", few, {"nu": 5, "epsilon": 0.02}, 20),
    ("totalboost", few, {"epsilon": 0.05}, 20),
    ("corrective_erlpboost", few, {"nu": 5}, 100),
    ("corrective_erlpboost", few, {"nu": 5, "update": "line_search"}, 40),
    ("corrective_erlpboost", few, {"nu": 5, "update": "pairwise"}, 40),
    ("corrective_erlpboost", few, {"nu": 5, "update": "blended_pairwise"}, 40),
    ("corrective_erlpboost", few, {"nu": 5, "update": "program"}, 20),
    ("erlpboost", few, {"nu": 5, "epsilon": 1e-3, "update": "mlpboost"}, 40),
    ("erlpboost", trees, {"nu": 5, "update": "mlpboost", "backend": "highs", "corrective": "pairwise"}, 25),
    ("corrective_binary_erlpboost", few, {"nu": 5}, 100),
    ("log_loss", few, {"epsilon": 1e-3}, 25),
    ("adaboost", few, {}, 100),
    ("arc_gv", trees, {}, 40),
    ("coordinate_ascent", few, {}, 40),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "oracle", "options", "rounds"), CASES)
def test_a_resumed_run_is_the_run_in_one_go_to_the_last_bit(
    name: str, oracle: Callable[[], Oracle], options: dict[str, Any], rounds: int, tmp_path: Path
) -> None:
    options = {**options, "checkpoint_rounds": 5}
    whole = boost(name, oracle(), max_rounds=rounds, **options)
    first, second = 5, rounds // 2 // 5 * 5
    for limit in (first, second, rounds):
        run = boost(name, oracle(), max_rounds=limit, checkpoint=tmp_path / "parts.npz", **options)
        assert run.rounds == min(limit, whole.rounds)
    assert run.hypotheses == whole.hypotheses
    assert np.array_equal(run.w, whole.w) and np.array_equal(run.d, whole.d)
    for column in COMPARED:
        # Two answers of the oracle are asked for anew; their bound may be rounded otherwise.
        is_same = run.trace[column] == whole.trace[column]
        assert is_same.all() or np.allclose(run.trace[column], whole.trace[column], rtol=1e-14, atol=0), column
    assert (run.reason, run.rounds, run.d.tolist()) == (whole.reason, whole.rounds, whole.d.tolist())


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["lpboost", "erlpboost", "softboost"])
def test_stopped_between_two_checkpoints_the_intervals_overlap(name: str, tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    options: dict[str, Any] = {"nu": 5, "epsilon": 0.02}
    whole = boost(name, few(), **options)
    for limit in (3, 7, 23, None):
        run = boost(name, few(), max_rounds=limit, checkpoint=path, **options)
    assert run.reason.split(":")[0] == whole.reason.split(":")[0]
    ours, theirs = run.class_certificate, whole.class_certificate
    assert ours.lower <= theirs.upper and theirs.lower <= ours.upper
    assert ours.gap <= 0.02 and theirs.gap <= 0.02


@pytest.mark.thorough_cases("lpboost-few-options0")
@pytest.mark.parametrize(
    ("name", "oracle", "options"),
    [
        ("lpboost", few, {"nu": 5}),
        ("softboost", lambda: GivenMargins(np.array([[1, -1.0], [-1, 1]])), {"nu": 2}),
        ("adaboost", lambda: GivenMargins(np.ones((4, 1))), {"max_rounds": 50}),
        ("corrective_erlpboost", lambda: GivenMargins(np.array([[0.5], [1.0]])), {"nu": 1}),
    ],
)
def test_a_finished_run_stays_as_it_is(
    name: str, oracle: Callable[[], Oracle], options: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "run.npz"
    run = boost(name, oracle(), checkpoint=path, **options)
    again = boost(name, oracle(), checkpoint=path, **options)
    assert (again.rounds, again.reason, again.hypotheses) == (run.rounds, run.reason, run.hypotheses)
    assert np.array_equal(again.w, run.w)
    # A limit that was passed long ago is one.
    past: dict[str, Any] = {**options, "max_rounds": 1}
    assert boost(name, oracle(), checkpoint=path, **past).rounds == run.rounds


def test_a_larger_limit_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    first = boost("lpboost", few(), nu=5, max_rounds=4, checkpoint=path)
    more = boost("lpboost", few(), nu=5, columns_per_round=3, max_rounds=8, checkpoint=path)
    assert more.hypotheses[:4] == first.hypotheses and len(more.hypotheses) == 4 + 3 * 4


@dataclass(frozen=True)
class Half(Hypothesis):
    """A hypothesis of the user's own: the sign of a feature, halved."""

    kind: ClassVar[str] = "half"

    j: int

    def __call__(self, X: Any) -> np.ndarray:
        return 0.5 * np.sign(X[:, self.j])

    def __str__(self) -> str:
        return f"half of feature {self.j}"

    def state(self) -> StateDict:
        return {"j": self.j}

    @classmethod
    def restored(cls, state: StateDict) -> Half:
        return cls(int(state["j"]))


class Halves(Oracle):
    """An oracle of the user's own."""

    def __init__(self, X: np.ndarray, y: np.ndarray) -> None:
        self.X, self.labels = X, y

    @property
    def N(self) -> int:
        return len(self.labels)

    @property
    def y(self) -> np.ndarray:
        return self.labels

    def best(self, query: Query) -> Answer:
        U = 0.5 * np.sign(self.X) * self.labels[:, np.newaxis]
        q = int((U.T @ query.d).argmax())
        return Answer((Column(Half(q), U[:, q], float(U[:, q] @ query.d)),), float((U.T @ query.d).max()) + 1e-12)

    def __str__(self) -> str:
        return "halves"

    @property
    def digest(self) -> str:
        return "halves"


def test_hypotheses_of_the_users_own_are_restored_by_their_class(tmp_path: Path) -> None:
    path, X = tmp_path / "run.npz", examples()[0]
    boost("lpboost", Halves(*examples()), nu=50, max_rounds=2, checkpoint=path)
    run = boost("lpboost", Halves(*examples()), nu=50, checkpoint=path)
    again = Run.load(path)
    assert again.hypotheses == run.hypotheses and isinstance(again.hypotheses[0], Half)
    assert again.decision_function(X) == pytest.approx(run.decision_function(X), abs=1e-12)


# Interrupts


@pytest.fixture
def interruptible() -> Generator[None]:
    """Interrupts as a process in the foreground has them."""
    old_handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, old_handler)


def interrupt_at(number: int, times: int = 1) -> Callable[[TraceRow], None]:
    def show(row: TraceRow) -> None:
        for _ in range(times if row.round == number else 0):
            signal.raise_signal(signal.SIGINT)

    return show


@pytest.mark.thorough
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("name", ["lpboost", "erlpboost", "corrective_erlpboost"])
def test_an_interrupt_ends_the_round_and_returns_what_there_is(name: str, tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    run = boost(name, stumps(), nu=10, progress=interrupt_at(4), checkpoint=path)
    assert run.reason == StopReason.INTERRUPTED and run.rounds == 4
    certificate = run.class_certificate
    best = boost("lpboost", stumps(), nu=10, epsilon=1e-6).class_certificate
    assert certificate.lower <= best.upper and best.lower <= certificate.upper < 1.0
    # The handler of before is back, and the run goes on.
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert boost(name, stumps(), nu=10, max_rounds=6, checkpoint=path).rounds == 6


@pytest.mark.usefixtures("interruptible")
def test_a_second_interrupt_ends_at_once(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    with pytest.raises(KeyboardInterrupt):
        boost("lpboost", stumps(), nu=10, progress=interrupt_at(4, 2), checkpoint=path, checkpoint_rounds=2)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert names(tmp_path) == ["run.npz"] and Run.load(path).rounds == 2


@pytest.mark.usefixtures("interruptible")
def test_run_with_ignored_interrupts_continues() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    run = boost("lpboost", stumps(), nu=10, progress=interrupt_at(4, 2), max_rounds=6)
    assert (run.rounds, run.reason) == (6, StopReason.ROUND_LIMIT)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


INTERRUPTED = """
import signal, sys, time
sys.path.insert(0, sys.argv[1])
from test_survival import boost, stumps

signal.signal(signal.SIGINT, signal.default_int_handler)
def show(row):
    if row.round == 3:
        print("ready", flush=True)
        end = time.perf_counter() + float(sys.argv[2])
        while time.perf_counter() < end:
            time.sleep(0.01)
run = boost("lpboost", stumps(), nu=10, progress=show)
print(run.rounds, run.reason)
print(run.class_certificate)
"""


@pytest.mark.thorough
@pytest.mark.parametrize("interrupts", [1, 2])
def test_ctrl_c_in_another_process(interrupts: int) -> None:
    folder, seconds = str(Path(__file__).parent), 0.5 if interrupts == 1 else 30.0
    command = [sys.executable, "-c", INTERRUPTED, folder, str(seconds)]
    with subprocess.Popen(command, stdout=-1, stderr=-1, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        for _ in range(interrupts):
            process.send_signal(signal.SIGINT)
            time.sleep(0.1)
        output, errors = process.communicate(timeout=60)
    if interrupts == 1:
        assert process.returncode == 0, errors
        assert output.startswith(f"3 {StopReason.INTERRUPTED}\n") and str(stumps()) in output
    else:
        # Let alone, it would have gone on to the end of the round, and ended as after one.
        assert process.returncode != 0 and errors.rstrip().endswith("KeyboardInterrupt")


# Checkpoints that are not of this run


def small() -> DecisionStumps:
    return stumps(20)


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    path = tmp_path / "run.npz"
    boost("erlpboost", small(), nu=4, max_rounds=3, checkpoint=path)
    return path


def refusal(path: Path, formulation: str = "erlpboost", oracle: Oracle | None = None, **options: Any) -> str:
    """Return why a checkpoint is refused; the file is left as it was."""
    content = path.read_bytes()
    parameters: dict[str, Any] = {"nu": 4, **options}
    with pytest.raises(DataError) as error:
        boost(formulation, oracle or small(), checkpoint=path, **parameters)
    assert path.read_bytes() == content and names(path.parent) == [path.name]
    message = str(error.value)
    # What was expected, what came, what to do.
    assert message.startswith("expected ") and len(message.split(". ")) >= 2 and message.endswith(".")
    return message


@pytest.mark.thorough
def test_a_checkpoint_of_another_run_is_refused(checkpoint: Path) -> None:
    assert "the examples" in refusal(checkpoint, oracle=stumps(21))
    X, y = examples(20)
    assert "the examples" in refusal(checkpoint, oracle=PlainStumps(X, -y))
    assert "the examples" in refusal(checkpoint, oracle=PlainStumps(X, y, c=np.arange(1.0, 21.0)))
    assert "the examples" in refusal(checkpoint, oracle=PlainStumps(X[:, :5], y))
    assert "parameters" in refusal(checkpoint, nu=5)
    assert "parameters" in refusal(checkpoint, eta=7.0)
    assert "parameters" in refusal(checkpoint, epsilon=0.1)
    assert "parameters" in refusal(checkpoint, two_sided=True)
    assert "guarantee" in refusal(checkpoint, guarantee=0.01)
    assert "nus" in refusal(checkpoint, nus=[2.0])
    assert "binary_erlpboost" in refusal(checkpoint, "binary_erlpboost")


@pytest.mark.parametrize("update", ["total", "newton"])
def test_paths_that_are_no_files_are_refused_in_words(update: str, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "run.npz")
    for path, fact in ((tmp_path, "writable folder"), ("", "writable folder"), (tmp_path / ("x" * 300), "too long")):
        with pytest.raises(DataError, match=fact):
            boost("erlpboost", DecisionStumps(*examples(20)), nu=4, update=update, checkpoint=path)
    with pytest.raises(DataError, match=r"writable folder; got '.*folder.run\.npz'"):
        boost("erlpboost", DecisionStumps(*examples(20)), nu=4, update=update, checkpoint=tmp_path / "link")


def test_a_checkpoint_of_another_reference_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    boost("erlpboost", small(), nu=4, eta=50.0, max_rounds=3, checkpoint=path)
    assert "reference distribution" in refusal(path, eta=50.0, d0=np.arange(1.0, 21.0) / 210.0)


def test_a_checkpoint_of_another_update_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    boost("corrective_erlpboost", small(), nu=4, max_rounds=3, checkpoint=path)
    message = refusal(path, "corrective_erlpboost", update="line_search")
    assert re.search(r"\bupdate\b.*\bline_search\b.*\bstep\b", message)


@pytest.mark.parametrize(
    ("name", "value"), [("KIND", "boostopt problem"), ("FORMAT", saving.FORMAT + 1), ("FORMAT", None)]
)
def test_a_file_of_another_version_is_refused(
    name: str, value: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.npz"
    with monkeypatch.context() as patch:
        patch.setattr(saving, name, value)
        boost("erlpboost", small(), nu=4, max_rounds=3, checkpoint=path)
    assert repr(value) in refusal(path)
    with pytest.raises(DataError, match=re.escape(repr(value))):
        Run.load(path)


def test_a_truncated_file_is_refused(checkpoint: Path) -> None:
    whole = checkpoint.read_bytes()
    for size in (0, 1, 100, len(whole) // 2, len(whole) - 100, len(whole) - 1):
        checkpoint.write_bytes(whole[:size])
        assert str(checkpoint) in (message := refusal(checkpoint)) and "damaged" in message


@pytest.mark.thorough
def test_flipped_bytes_are_found_or_mean_nothing(checkpoint: Path) -> None:
    whole, expected = checkpoint.read_bytes(), Run.load(checkpoint)
    rng, n_refused = np.random.default_rng(4), 0
    for offset in rng.integers(0, len(whole), 250).tolist():
        flipped = bytearray(whole)
        flipped[offset] ^= int(rng.integers(1, 256))
        checkpoint.write_bytes(flipped)
        try:
            run = Run.load(checkpoint)
        except DataError as failure:
            assert str(failure).startswith("expected ")
            n_refused += 1
            continue
        assert run.hypotheses == expected.hypotheses and np.array_equal(run.w, expected.w)
    assert n_refused > 125


@pytest.mark.parametrize("text", ["[]", "{}", '{"kind": "boostopt run", "format": 1}', "nonsense", "null"])
def test_a_description_that_says_nothing_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    np.savez(path, meta=np.frombuffer(text.encode(), dtype=np.uint8))
    refusal(path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    path.write_text("a letter")
    refusal(path)
    np.savez(path, X=np.zeros(3))
    refusal(path)
    with pytest.raises(DataError, match=r"'\S*none\.npz'"):
        Run.load(tmp_path / "none.npz")


def test_a_place_that_cannot_be_written_to_is_said_before_the_first_round(tmp_path: Path) -> None:
    for place in (tmp_path / "no folder" / "run.npz", tmp_path):
        with pytest.raises(DataError, match=f"writable.*{re.escape(repr(str(place)))}"):
            boost("lpboost", small(), nu=4, checkpoint=place, progress=lambda row: pytest.fail("a round was made"))


def test_a_run_is_not_lost_with_the_folder_of_its_checkpoint(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()

    def show(row: TraceRow) -> None:
        if row.round == 2:
            shutil.rmtree(folder)

    with pytest.warns(RuntimeWarning, match=r"\bcheckpoint\b.*\b3\b.*run\.npz.*written"):
        run = boost(
            "lpboost", small(), nu=4, max_rounds=3, checkpoint=folder / "run.npz", checkpoint_rounds=3, progress=show
        )
    assert run.rounds == 3 and run.reason == StopReason.ROUND_LIMIT


# When checkpoints are due


def rounds_stored(path: Path, **options: Any) -> list[int]:
    """Return what was stored as each round began."""
    rounds: list[int] = []

    def show(row: TraceRow) -> None:
        rounds.append(Run.load(path).rounds if path.exists() else 0)

    boost("lpboost", stumps(), nu=10, max_rounds=6, checkpoint=path, progress=show, **options)
    assert Run.load(path).rounds == 6
    return rounds


@pytest.mark.thorough
def test_checkpoints_after_rounds_and_after_seconds(tmp_path: Path) -> None:
    assert rounds_stored(tmp_path / "rounds.npz", checkpoint_rounds=2) == [0, 0, 2, 2, 4, 4]
    assert rounds_stored(tmp_path / "late.npz", checkpoint_rounds=100) == [0] * 6
    assert rounds_stored(tmp_path / "slow.npz", checkpoint_rounds=100, checkpoint_seconds=1e3) == [0] * 6
    soon = rounds_stored(tmp_path / "soon.npz", checkpoint_rounds=100, checkpoint_seconds=1e-9)
    assert soon == [0, 1, 2, 3, 4, 5]


def test_the_clock_goes_on(checkpoint: Path) -> None:
    seconds = Run.load(checkpoint).trace["seconds"]
    run = boost("erlpboost", small(), nu=4, max_rounds=5, checkpoint=checkpoint)
    assert np.array_equal(run.trace["seconds"][:3], seconds) and (np.diff(run.trace["seconds"]) > 0).all()


@pytest.mark.parametrize("update", ["total", "step"])
def test_calls_whose_time_is_over_before_a_round_make_one_and_come_to_the_end(update: str, tmp_path: Path) -> None:
    whole = boost("erlpboost", small(), nu=4, epsilon=0.2, max_rounds=5, update=update)
    options: dict[str, Any] = {"nu": 4, "epsilon": 0.2, "max_rounds": 5, "update": update}
    rounds = [
        boost("erlpboost", small(), **options, time_limit=1e-9, checkpoint=tmp_path / "run.npz").rounds
        for _ in range(whole.rounds + 1)
    ]
    assert rounds == [*range(1, whole.rounds + 1), whole.rounds]
    again = boost("erlpboost", small(), **options, checkpoint=tmp_path / "run.npz")
    assert np.array_equal(again.w, whole.w) and again.hypotheses == whole.hypotheses and again.reason == whole.reason


def test_slow_rounds_are_stored_without_an_option_unless_writing_is_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(round_recorder, "MAX_CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(checkpoint_writer, "MAX_WRITING_SHARE", math.inf)
    assert rounds_stored(tmp_path / "soon.npz", checkpoint_rounds=100) == [0, 1, 2, 3, 4, 5]
    monkeypatch.setattr(checkpoint_writer, "MAX_WRITING_SHARE", 0.0)
    assert rounds_stored(tmp_path / "late.npz", checkpoint_rounds=100) == [0, 1, 1, 1, 1, 1]
