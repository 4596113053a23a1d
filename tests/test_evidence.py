"""The papers' experiments: units are stopped, resumed and kept, and pages are made from them."""

from __future__ import annotations

import gzip
import inspect
import json
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.speeds import many
from support.squares import SEEDS, SQUARES, work

from benchmarks.evidence import (
    dissertation_claims,
    dissertation_runs,
    dissertation_table_claims,
    soft_margins_table_runs,
)
from benchmarks.evidence.all import EXPERIMENTS
from benchmarks.evidence.claims import claims_page, joint_verdicts, lines_of, verdicts_by_sentence
from benchmarks.evidence.experiment import (
    Claim,
    Decision,
    Experiment,
    Parameters,
    Results,
    count_agreements,
    count_by_set,
    count_cases,
    count_orders,
    printed_numbers,
    round_digits,
)
from benchmarks.evidence.pages import PAGES, of_kept
from benchmarks.evidence.proved import PROVED, Proved
from benchmarks.evidence.recheck import differences, recheck
from benchmarks.evidence.running import Work
from benchmarks.evidence.sentences import SENTENCES, sentences_page
from benchmarks.evidence.store import Journal, keep, load
from boostopt.errors import DataError

KEPT = Path(__file__).parents[1] / "docs" / "evidence"
N_PROVED = sum(not claim.is_weaker for claim in PROVED)


def timeless(results: Results) -> list[tuple[Parameters, Mapping[str, Any]]]:
    return list(results)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Work:
    """A run without a stop."""
    run = work(tmp_path_factory.mktemp("whole"))
    assert run.run(processes=many(2, 1), budget=100.0) == 0
    return run


@pytest.mark.thorough
def test_units_that_need_others_come_after_them(whole: Work) -> None:
    assert whole.results["squares"].select(part="sum")[0][1] == {"sum": sum(k**2 for k in range(SEEDS))}


@pytest.mark.thorough
def test_a_run_stopped_five_times_comes_to_the_same(whole: Work, tmp_path: Path) -> None:
    finished = list[int]()
    for _ in range(5):
        work(tmp_path).run(processes=1, budget=0.01)
        finished.append(len(work(tmp_path).results["squares"]))
    assert finished == [1, 2, 3, 4, 5]
    assert work(tmp_path).run(processes=1, budget=100.0) == 0
    assert timeless(load(tmp_path / "kept", "squares")) == timeless(whole.results["squares"])


@pytest.mark.thorough
def test_a_killed_run_loses_only_what_is_under_way(whole: Work, tmp_path: Path) -> None:
    script = f"import sys; sys.path[:0] = {sys.path!r}\nfrom pathlib import Path\nfrom support.squares import work\n"
    script += f"if __name__ == '__main__':\n    work(Path({str(tmp_path)!r})).run(1, 100.0)\n"
    (tmp_path / "run.py").write_text(script)
    killed = subprocess.Popen([sys.executable, str(tmp_path / "run.py")], stderr=subprocess.PIPE)
    journal, end = tmp_path / "journals" / "squares.jsonl", time.monotonic() + 60.0
    while not journal.exists() or journal.read_bytes().count(b"\n") < 2:
        assert killed.poll() is None and time.monotonic() < end
        time.sleep(0.01)
    killed.kill()
    killed.communicate()
    with journal.open("ab") as file:
        file.write(b'{"parameters": {"se')  # what was being written
    reopened = work(tmp_path)
    assert 2 <= len(reopened.results["squares"]) <= SEEDS
    assert reopened.run(processes=1, budget=100.0) == 0
    assert timeless(reopened.results["squares"]) == timeless(whole.results["squares"])


@pytest.mark.thorough
def test_again_makes_units_anew(whole: Work, tmp_path: Path) -> None:
    keep(
        tmp_path / "kept",
        "squares",
        Results([{"parameters": {"seed": 0}, "result": {"value": -1}, "cpu": 0.0, "data": SQUARES.digest}]),
    )
    assert work(tmp_path).results["squares"][{"seed": 0}] == {"value": -1}
    again = work(tmp_path, again=True)
    assert again.run(processes=1, budget=100.0) == 0
    assert timeless(load(tmp_path / "kept", "squares")) == timeless(whole.results["squares"])


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_functions_of_experiments_take_parameters_of_kept_units(experiment: Experiment) -> None:
    # Files name parameters: a parameter that is renamed in a function alone breaks units of later stages.
    staged = experiment.work is soft_margins_table_runs.worked
    for unit, _ in load(KEPT, experiment.name):
        parameters = dict(unit)
        function = soft_margins_table_runs.STAGES[parameters.pop("stage")] if staged else experiment.work
        inspect.signature(function).bind(**parameters)


def test_a_unit_that_was_stored_wrong_is_found(whole: Work) -> None:
    right = dict(recheck(whole, 1.0, 0, 0))["squares"]
    assert (right.again, right.differences) == (SEEDS + 1, {})
    assert right.whole == pytest.approx(right.now)
    lines = whole.results["squares"].lines
    forged = [line | ({"result": {"value": 3}} if line["parameters"] == {"seed": 2} else {}) for line in lines]
    differences_of_units = dict(recheck(replace(whole, results={"squares": Results(forged)}), 1.0, 0, 0))[
        "squares"
    ].differences
    assert differences_of_units == {'{"seed": 2}': "result.value: 3 is stored, 4 came"}


def test_seconds_and_last_digits_may_differ_and_nothing_else() -> None:
    stored_result = {"seconds": 1.0, "gap": 1e-3, "points": [{"nu": 2, "seconds": 3.0}]}
    assert not list(differences(stored_result, stored_result | {"seconds": 2.0, "gap": 1e-3 + 1e-7}))
    assert list(differences(stored_result, stored_result | {"gap": 1.1e-3})) == [
        "result.gap: 0.001 is stored, 0.0011 came"
    ]
    assert list(differences(stored_result, stored_result | {"points": [{"nu": 3, "seconds": 3.0}]})) == [
        "result.points[0].nu: 2 is stored, 3 came"
    ]
    assert len(list(differences(stored_result, {"seconds": 1.0}))) == 1


def test_equal_units_are_equal_files(whole: Work, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    keep(first, "squares", whole.results["squares"])
    keep(second, "squares", Results(reversed(whole.results["squares"].lines)))
    assert (first / "squares.json.gz").read_bytes() == (second / "squares.json.gz").read_bytes()


def test_pages_are_made_from_what_is_kept(whole: Work, tmp_path: Path) -> None:
    keep(tmp_path, "squares", whole.results["squares"])
    pages = of_kept(tmp_path, tmp_path, [SQUARES])
    assert set(pages) == {"claims", "dynamics", "index", "sentences"}
    assert f"The sum is {sum(k**2 for k in range(SEEDS))}." in pages["dynamics"]
    assert "--only squares`: 7 units" in pages["dynamics"]
    assert "\ndynamics\n" in pages["index"]


def test_damaged_and_foreign_stores_are_refused(whole: Work, tmp_path: Path) -> None:
    keep(tmp_path, "squares", whole.results["squares"])
    path = tmp_path / "squares.json.gz"
    content = path.read_bytes()
    path.write_bytes(content[:-9])
    with pytest.raises(DataError, match=r"\bunits of squares\b"):
        load(tmp_path, "squares")
    path.write_bytes(gzip.compress(json.dumps({"experiment": "cubes", "format": 1, "units": []}).encode()))
    with pytest.raises(DataError, match="got others"):
        load(tmp_path, "squares")


def test_a_journal_ends_when_its_units_are_kept(whole: Work) -> None:
    assert Journal(whole.journals, "squares").lines() == []
    assert len(load(whole.results_folder, "squares")) == SEEDS + 1


def test_missing_data_leave_an_experiment_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = replace(SQUARES, data=("data/nowhere.npz",))
    run = Work.load([missing], tmp_path / "kept", tmp_path / "journals", quick=False, again=False)
    assert run.run(processes=1, budget=100.0) == 0
    assert re.search(r"\bsquares\b.*\bdata/nowhere\.npz\b", capsys.readouterr().err)
    assert len(run.results["squares"]) == 0


def test_printed_numbers_that_are_not_there_are_named() -> None:
    with pytest.raises(DataError, match="expected the printed numbers in"):
        printed_numbers("no_such_table")


def test_curves_are_stored_with_six_digits() -> None:
    assert round_digits([1 / 3, 2e5 / 3]) == [0.333333, 66666.7]


def test_experiments_have_names_of_their_own_and_pages_that_are_there() -> None:
    assert len({experiment.name for experiment in EXPERIMENTS}) == len(EXPERIMENTS)
    assert {experiment.page for experiment in EXPERIMENTS} <= set(PAGES)


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_units_are_plain_and_small_ones_are_fewer(experiment: Experiment) -> None:
    small, full = ([*experiment.units(quick, Results())] for quick in (True, False))
    assert 0 < len(small) <= len(full)
    assert len({json.dumps(unit, sort_keys=True, allow_nan=False) for unit in full}) == len(full)


@pytest.mark.parametrize("claim", PROVED, ids=lambda claim: claim.test)
def test_claims_that_tests_decide_name_tests_that_are_there(claim: Proved) -> None:
    file, name = claim.test.split("::")
    assert f"def {name}(" in (Path(__file__).parent / file).read_text(encoding="utf-8")


def test_every_sentence_of_the_papers_has_a_line_or_one_reason_for_none() -> None:
    empty = {experiment.name: Results() for experiment in EXPERIMENTS}
    verdicts = verdicts_by_sentence(lines_of(EXPERIMENTS, empty))
    assert set(verdicts) <= set(SENTENCES)
    errata = (KEPT.parent / "errata.md").read_text(encoding="utf-8")
    for key, sentence in SENTENCES.items():
        assert [key in verdicts, *map(bool, (sentence.same_as, sentence.erratum, sentence.reason))].count(True) == 1, (
            key
        )
        assert not sentence.same_as or sentence.same_as in verdicts
        assert not sentence.erratum or f"| {sentence.erratum} |" in errata
    page = sentences_page(verdicts)
    assert page.count("\n| ") == len(SENTENCES) + 2 * len({sentence.paper for sentence in SENTENCES.values()})


def test_a_weaker_statement_stands_beside_the_claim_that_print_makes() -> None:
    claims = [claim for experiment in EXPERIMENTS for claim in experiment.claims]
    weaker = {claim.sentence for claim in claims if claim.is_weaker}
    assert weaker
    assert weaker <= {claim.sentence for claim in claims if not claim.is_weaker}


def test_weaker_statements_are_not_counted(whole: Work) -> None:
    claims = (
        Claim("D figure 2d", "Squares are negative.", lambda results: Decision(False, "0 of 6 seeds")),
        Claim("D figure 2d", "Squares are no cubes.", lambda results: Decision(True, "6 of 6 seeds"), is_weaker=True),
    )
    page = claims_page([replace(SQUARES, claims=claims)], {"squares": whole.results["squares"]})
    assert f"Of {1 + N_PROVED} claims" in page
    claims_part, weaker_part = page.split("## Weaker statements")
    assert "Squares are negative." in claims_part
    assert "Squares are no cubes." in weaker_part


def test_a_claim_is_counted_once_whatever_its_lines_are(whole: Work) -> None:
    def decide(holds: bool | None, name: str) -> Claim:
        by_set = {} if holds is None else {name: holds}
        return Claim("D figure 2d", f"Squares of {name}.", lambda results: Decision(holds, f"{name} 1", by_set=by_set))

    everywhere, nowhere, unknown, also = decide(True, "a"), decide(False, "b"), decide(None, "c"), decide(True, "d")
    for claims, verdict in (
        ((everywhere, also), "reproduces"),
        ((everywhere, nowhere), "reproduces in part"),
        ((everywhere, unknown), "reproduces in part"),
        ((nowhere, unknown), "does not reproduce"),
        ((unknown, unknown), "not decided yet"),
    ):
        experiment, results = replace(SQUARES, claims=claims), {"squares": whole.results["squares"]}
        assert joint_verdicts(lines_of([experiment], results))["D figure 2d"] == verdict
        n_decided = N_PROVED + (verdict != "not decided yet")
        assert f"Of {1 + N_PROVED} claims {n_decided} are decided" in claims_page([experiment], results)


def test_what_a_test_proves_or_refutes_decides_a_claim_beside_what_is_measured(whole: Work) -> None:
    claim = Claim("T lemma 2.4", "Squares are pivots.", lambda results: Decision(False, "0 of 6 seeds"))
    lines = lines_of([replace(SQUARES, claims=(claim,))], {"squares": whole.results["squares"]})
    assert [line.verdict for line in lines if line.sentence.key == "T lemma 2.4"] == ["does not reproduce", "holds"]
    assert joint_verdicts(lines)["T lemma 2.4"] == "holds"


def test_a_claim_about_several_sets_is_decided_on_each() -> None:
    assert count_by_set({"a": [], "b": []}) is None
    both = count_by_set({"a": [True] * 3, "b": [True, True, False], "c": []}, "runs")
    assert both == Decision(True, "a 3 of 3, b 2 of 3 runs", by_set={"a": True, "b": True})
    # 8 of 11 cases, and one set of the two: more than half of all decides nothing.
    partly = count_by_set({"a": [True] * 7, "b": [True, False, False, False]}, "runs")
    assert partly == Decision(False, "a 7 of 7, b 1 of 4 runs", by_set={"a": True, "b": False})
    assert partly is not None and partly.is_partial
    fixed = count_by_set({"a": [True] * 7 + [False]}, "values of eta", always=True)
    assert fixed == Decision(False, "a 7 of 8 values of eta", by_set={"a": False})
    assert fixed is not None and not fixed.is_partial


def test_open_cases_decide_a_set_only_where_they_cannot_change_it() -> None:
    assert count_cases([True, True, False, None]) == Decision(None, "2 of 3 seeds, 1 open")
    assert count_cases([True, True, None]) == Decision(True, "2 of 2 seeds, 1 open")
    assert count_cases([False, False, None, None], always=True) == Decision(False, "0 of 2 seeds, 2 open")
    partly = count_by_set({"a": [True, None], "b": [True]}, "runs", always=True)
    assert partly == Decision(None, "a 1 of 1 and 1 open, b 1 of 1 runs", by_set={"b": True})
    assert partly is not None and partly.is_partial
    unknown = count_by_set({"a": [None]}, "runs", always=True)
    assert unknown == Decision(None, "a 0 of 0 and 1 open runs")
    assert unknown is not None and not unknown.is_partial
    refuted = count_by_set({"a": [None], "b": [False, None]}, "runs", always=True)
    assert refuted == Decision(False, "a 0 of 0 and 1 open, b 0 of 1 and 1 open runs", by_set={"b": False})


def test_an_open_decision_shows_its_counts_and_no_verdict(whole: Work) -> None:
    claims = (
        Claim("D figure 2d", "Squares are slow.", lambda results: Decision(None, "0 of 0 and 3 open runs")),
        Claim("D figure 2d", "Some are.", lambda results: Decision(None, "a 1 of 1, b 1 open", by_set={"a": True})),
    )
    page = claims_page([replace(SQUARES, claims=claims)], {"squares": whole.results["squares"]})
    assert "| Squares are slow. | not decided yet | 0 of 0 and 3 open runs |" in page
    assert "| Some are. | reproduces in part |" in page
    assert f"claims {1 + N_PROVED} are decided. Open are those of figure 2(d): our runs there" in page


def test_orders_of_means_are_compared_where_print_has_one() -> None:
    decision = count_orders({"a": (-1.0, -2.0), "b": (1.0, -0.1), "c": (-3.0, 0.0)}, "2 of 3")
    words = "below on 2 of 3 sets, as in print on 1 of 2"
    assert decision == Decision(False, words, "2 of 3", by_set={"a": True, "b": False}, chance=0.5)
    assert decision is not None and not decision.is_partial  # one of two is chance
    decision = count_orders({"a": (-1.0, -2.0), "b": (1.0, -0.1), "c": (-3.0, -1.0)})
    assert decision is not None and decision.is_partial
    assert count_orders({"c": (-3.0, 0.0)}) is None


def test_claims_are_undecided_without_results() -> None:
    empty = {experiment.name: Results() for experiment in EXPERIMENTS}
    page, measured = claims_page(EXPERIMENTS, empty), sum(len(experiment.claims) for experiment in EXPERIMENTS)
    assert page.count("| not decided yet |") == measured
    all_claims = [*PROVED, *(claim for experiment in EXPERIMENTS for claim in experiment.claims)]
    n_sentences = len({claim.sentence for claim in all_claims if not claim.is_weaker})
    assert f"Of {n_sentences} claims {N_PROVED} are decided.\n" in page


def test_verdicts_from_a_part_of_the_units_say_so(whole: Work) -> None:
    claim = Claim(
        "D figure 2d", "Squares grow.", lambda results: count_cases(r["value"] >= 0 for _, r in results if "value" in r)
    )
    experiment, lines = replace(SQUARES, claims=(claim,)), whole.results["squares"].lines
    assert "| reproduces | 6 of 6 seeds |" in claims_page([experiment], {"squares": Results(lines)})
    page = claims_page([experiment], {"squares": Results(line for line in lines if line["parameters"] != {"seed": 0})})
    assert "| reproduces, so far | 5 of 5 seeds |" in page
    assert re.search(rf"\b{1 + N_PROVED} claims {1 + N_PROVED}\b[^.]*\bdecided, 1\b[^.]*\bpart\b[^.]*\.", page)


@pytest.mark.thorough
def test_the_command_refuses_unknown_names() -> None:
    command = [sys.executable, str(Path(__file__).parents[1] / "benchmarks" / "evidence"), "--only", "figure_0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "got figure_0. There are D_" in done.stderr


def test_units_made_from_other_data_are_made_anew(
    whole: Work, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results_folder, lines = tmp_path / "kept", whole.results["squares"].lines
    keep(results_folder, "squares", Results([{**lines[0], "data": "other"}, *lines[1:]]))
    assert len(work(tmp_path).results["squares"]) == len(lines) - 1
    assert re.search(r"\bsquares: 1 units\b.*\bother data\b", capsys.readouterr().err)
    missing = replace(SQUARES, data=("data/of/nobody",))
    assert len(Work.load([missing], results_folder, tmp_path, quick=False, again=False).results["squares"]) == len(
        lines
    )


def test_claims_are_decided_by_more_than_half_of_the_draws_or_by_all() -> None:
    assert count_cases([]) is None
    assert count_cases([True, True, False]) == Decision(True, "2 of 3 seeds")
    assert count_cases([True, False], "cases") == Decision(False, "1 of 2 cases")
    assert count_cases([True, True, False], always=True) == Decision(False, "2 of 3 seeds")


def test_printed_means_reproduce_where_chance_explains_what_misses() -> None:
    assert count_agreements([], "sets") is None
    for n, missed, holds in ((1, 1, False), (7, 1, True), (7, 2, False), (10, 2, True), (10, 3, False), (2, 2, False)):
        assert count_agreements([False] * missed + [True] * (n - missed), "sets") == Decision(
            holds, f"{n - missed} of {n} sets"
        )


def test_open_means_leave_a_column_open_where_it_depends_on_them() -> None:
    assert count_agreements([None], "cells") == Decision(None, "0 of 0 cells, 1 open")
    assert count_agreements([True, True, None], "cells") == Decision(True, "2 of 2 cells, 1 open")
    assert count_agreements([False, True, None], "cells") == Decision(None, "1 of 2 cells, 1 open")
    assert count_agreements([False, False, None], "cells") == Decision(False, "0 of 2 cells, 1 open")


def test_errors_of_a_search_with_fewer_rounds_than_print_are_open() -> None:
    def unit(algorithm: str, seed: int, **facts: Any) -> dict[str, Any]:
        point = {"valid": 0.3, "test": 0.25 + 0.01 * seed, "share": 0.0, "epsilon": 0.01, "seconds": 1.0, **facts}
        parameters = {"data": "german", "hypotheses": "raw", "algorithm": algorithm, "seed": seed}
        return {"parameters": parameters, "result": {"points": [point]}, "cpu": 0.0}

    claims = {c.sentence: c for c in dissertation_table_claims.SELECTION if "german and diabetes lie" in c.says}
    for sentence, algorithm, ended, limited in (
        ("T table 5.5 raw corrective", "corr", {"held": True, "rounds": 900}, {"held": False, "rounds": 1000}),
        ("T table 5.5 raw rivals", "ada", {"held": False, "rounds": 1900}, {"held": False, "rounds": 2000}),
    ):
        for facts, words in ((ended, "german 1 of 1 cells"), (limited, "german 0 of 0 and 1 open cells")):
            units = [unit(algorithm, seed, **(facts if seed == 3 else ended)) for seed in range(10)]
            decision = claims[sentence].decide(Results(units))
            assert decision is not None and decision.ours == words


def test_seconds_of_corrective_runs_that_were_cut_off_are_open() -> None:
    def unit(algorithm: str, rounds: int, seconds: float) -> dict[str, Any]:
        result = {"held": False, "rounds": rounds, "seconds": seconds}
        return {"parameters": {"data": "a9a", "hypotheses": "raw", "algorithm": algorithm}, "result": result}

    (claim,) = dissertation_table_claims.SECONDS
    for rounds, seconds, holds in ((3000, 9.0, None), (20_000, 9.0, True), (20_000, 4.0, False)):
        decision = claim.decide(Results([unit("corr", rounds, 5.0), unit("corr bin", rounds, seconds)]))
        assert decision is not None and decision.holds is holds


def test_printed_draws_reproduce_where_as_many_lie_within_the_range_of_ours_as_chance_has_it() -> None:
    # Of eleven draws two are the ends, so that one lies outside the range of the ten others in two of eleven cases.
    for missed, holds in ((0, True), (2, True), (3, False)):
        decision = count_agreements([False] * missed + [True] * (4 - missed), "cells", 2 / 11)
        assert decision == Decision(holds, f"{4 - missed} of 4 cells")


def test_runs_at_another_epsilon_decide_nothing_about_the_figures() -> None:
    def unit(way: str, seconds: float, **more: float) -> dict[str, Any]:
        parameters = {"data": "german", "hypotheses": "raw", "way": way, **more}
        return {"parameters": parameters, "result": {"held": True, "seconds": seconds}, "cpu": 0.0}

    units = [unit("erlp", 2.0), unit("step", 1.0), unit("erlp", 1.0, epsilon=1e-8), unit("step", 2.0, epsilon=1e-8)]
    claims = {claim.sentence: claim for claim in dissertation_claims.SMALL_EPSILON}
    decisions = [claims[key].decide(Results(units)) for key in ("T 5.29 raw", "T 5.5 1e-8")]
    assert [decision is not None and decision.holds for decision in decisions] == [True, False]


def test_a_run_that_no_rule_ended_takes_its_seconds_at_least() -> None:
    ended, stopped = ({"held": is_ended, "seconds": seconds} for is_ended, seconds in ((True, 3.0), (False, 2.0)))
    later = {**stopped, "seconds": 4.0}
    assert dissertation_runs.sooner(ended, later)
    assert dissertation_runs.sooner(later, ended) is False
    # Either may be the faster one: neither is known to be.
    assert dissertation_runs.sooner(ended, stopped) is None
    assert dissertation_runs.sooner(stopped, ended) is None
    # All rounds of print are an end.
    limited = {**stopped, "rounds": 20_000}
    assert dissertation_runs.sooner(dissertation_runs.as_in_print(limited, "corr"), ended) is True
    assert not dissertation_runs.as_in_print({**limited, "rounds": 500}, "corr")["held"]
    assert dissertation_runs.as_in_print({**limited, "rounds": 1000}, "bin")["held"]


def test_errors_of_runs_that_were_cut_off_are_open() -> None:
    def unit(algorithm: str, is_held: bool, rounds: int, test: float) -> dict[str, Any]:
        point = {"eta": 2000.0, "held": is_held, "rounds": rounds, "test": test, "seconds": 1.0}
        parameters = {"data": "a9a", "hypotheses": "SVM", "algorithm": algorithm, "seed": 0}
        return {"parameters": parameters, "result": {"points": [point]}, "cpu": 0.0}

    claim = next(c for c in dissertation_claims.ETA if c.sentence == "T 5.24")
    for is_held, rounds, holds in ((False, 500, None), (False, 20_000, True), (True, 500, True)):
        decision = claim.decide(Results([unit("erlp", True, 80, 0.15), unit("corr", is_held, rounds, 0.2)]))
        assert decision is not None and decision.holds is holds


def test_the_eta_of_theory_is_compared_with_runs_that_ended() -> None:
    def decide(key: str, errors: list[float], cut_off: int | None) -> bool | None:
        points = [
            {"eta": 10.0**k, "held": k != cut_off, "rounds": 100, "test": error, "seconds": 1.0}
            for k, error in enumerate(errors)
        ]
        parameters = {"data": "german", "hypotheses": "stumps", "algorithm": "erlp", "seed": 0}
        claims = [claim for claim in dissertation_claims.ETA if claim.sentence == key]
        decision = claims[-1].decide(Results([{"parameters": parameters, "result": {"points": points}, "cpu": 0.0}]))
        assert decision is not None
        return decision.holds

    # The last point is that of theory: .05 above the best of the grid, and .004 below another.
    errors = [0.25, 0.304, 0.3]
    assert decide("T 5.10", errors, None) is True
    assert decide("T 5.10 small", errors, None) is True
    assert decide("T 5.10 small", [0.25, 0.306, 0.3], None) is False
    for cut_off in range(3):
        assert decide("T 5.10", errors, cut_off) is None


def test_a_booster_that_was_cut_off_is_not_the_fastest() -> None:
    def unit(algorithm: str, seconds: float, **facts: Any) -> dict[str, Any]:
        point = {"valid": 0.3, "test": 0.25, "share": 0.0, "epsilon": 0.01, "seconds": seconds, **facts}
        parameters = {"data": "german", "hypotheses": "raw", "algorithm": algorithm, "seed": 0}
        return {"parameters": parameters, "result": {"points": [point]}, "cpu": 0.0}

    claim = next(c for c in dissertation_table_claims.SELECTION if c.sentence == "T 5.6 SVM seconds")
    machine, ended = unit("SVM", 0.1), unit("erlp", 2.0, held=True, rounds=80)
    for is_held, holds in ((True, False), (False, True)):
        decision = claim.decide(Results([machine, ended, unit("corr", 0.5, held=is_held, rounds=1000)]))
        assert decision is not None and decision.holds is holds


def test_cells_of_a_table_are_counted_on_each_set() -> None:
    count, chance = dissertation_table_claims.count_cells, 2 / 11
    one_set_misses = count({"german": [True, True], "diabetes": [False, False], "a9a": [None, None]}, chance)
    assert one_set_misses is not None and one_set_misses.holds is False and one_set_misses.is_partial
    assert one_set_misses.by_set == {"german": True, "diabetes": False}
    assert one_set_misses.ours == "german 2 of 2, diabetes 0 of 2, a9a 0 of 0 and 2 open cells"
    open_set = count({"german": [True, False], "a9a": [None, None]}, chance)
    assert open_set is not None and open_set.holds is None and open_set.by_set == {"german": True}
    # A single cell of a set misses in two of eleven cases, so that both sets must miss.
    for german, diabetes, holds in ((True, False, True), (False, False, False), (None, None, None)):
        pair = count({"german": [german], "diabetes": [diabetes]}, chance)
        assert pair is not None and pair.holds is holds and not pair.by_set
    assert count({"german": []}, chance) is None


def test_both_readings_of_a_set_are_asked_and_each_as_chance_has_it() -> None:
    def units(name: str, error: float) -> list[dict[str, Any]]:
        point = {"valid": 0.3, "test": error, "share": 0.2, "epsilon": 0.01, "held": True, "rounds": 80}
        return [
            {
                "parameters": {"data": name, "hypotheses": "raw", "algorithm": algorithm, "seed": seed},
                "result": {"points": [{**point, "test": error + 0.01 * seed}]},
                "cpu": 0.0,
            }
            for algorithm in ("erlp", "bin")
            for seed in range(10)
        ]

    claims = [c for c in dissertation_table_claims.SELECTION if c.sentence == "T table 5.5 raw"]
    claim = next(c for c in claims if "german and diabetes lie" in c.says)
    names = ("german", "diabetes", "german scaled", "diabetes scaled")
    for scaled_error, holds in ((0.2, True), (0.4, False)):
        errors = (0.2, 0.2, scaled_error, scaled_error)
        decision = claim.decide(Results(unit for pair in zip(names, errors, strict=True) for unit in units(*pair)))
        assert decision is not None and decision.holds is holds
    assert decision.ours == "german 2 of 2, german scaled 0 of 2, diabetes 2 of 2, diabetes scaled 0 of 2 cells"


def test_lpboost_stops_earlier_at_each_larger_nu_and_not_at_the_last_alone() -> None:
    def decide(rounds: list[int]) -> list[bool]:
        keys = ("0", "0.1", "0.3", "0.5", "0.7", "0.9")
        result = {f"LPBoost {key}": {"rounds": n} for key, n in zip(keys, rounds, strict=True)}
        units = Results([{"parameters": {"data": "german", "hypotheses": "raw", "seed": 0}, "result": result}])
        claims = [c for c in dissertation_claims.INSTABILITY if c.sentence == "T 5.4 stop"]
        decisions = [claim.decide(units) for claim in sorted(claims, key=lambda claim: claim.is_weaker)]
        return [decision is not None and decision.holds is True for decision in decisions]

    assert decide([9, 7, 7, 5, 5, 1]) == [True, True]
    assert decide([6, 8, 7, 7, 2, 1]) == [False, True]
    assert decide([4, 4, 4, 4, 4, 4]) == [False, False]


def test_validation_and_not_the_test_part_chooses_the_cap_that_helps() -> None:
    points = [
        {"epsilon": 0.001, "share": share, "valid": valid, "test": test}
        for share, valid, test in ((0.0, 0.3, 0.3), (0.1, 0.2, 0.35), (0.2, 0.25, 0.1))
    ]
    units = [
        {
            "parameters": {"data": "german", "hypotheses": "raw", "algorithm": "erlp", "seed": 0},
            "result": {"points": points},
            "cpu": 0.0,
        }
    ]
    claim = next(c for c in dissertation_table_claims.SELECTION if c.sentence == "T 5.16 capping")
    decision = Decision(False, "german 0 of 1 classes and entropies", by_set={"german": False})
    assert claim.decide(Results(units)) == decision


@pytest.mark.thorough
def test_every_claim_is_decided_or_open_from_whatever_is_stored() -> None:
    for experiment in EXPERIMENTS:
        results = load(KEPT, experiment.name)
        for claim in experiment.claims:
            assert claim.decide(Results()) is None or not len(results)
            decision = claim.decide(results)
            assert decision is None or decision.ours


def test_sets_of_the_users_are_read_from_their_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "news20.1").write_text("1 1:1 3:2\n-1 2:1\n" * 3)
    (tmp_path / "news20.2").write_text("1 4:1\n-1 5:-3\n" * 2)
    assert dissertation_runs.at_hand(("german",)) == ["german"]
    monkeypatch.setenv(dissertation_runs.FOLDER, str(tmp_path))
    assert dissertation_runs.at_hand(("german",)) == ["german", "news20"]
    dissertation_runs.examples.cache_clear()
    with pytest.raises(DataError, match=r"\b19,996\b.*\bnews20\b.* got 10: .*news20\.1"):
        dissertation_runs.split("news20", 0)
    monkeypatch.setitem(dissertation_runs.ROWS, "news20", (6, 2, 2))
    splits = dissertation_runs.split("news20", 0)
    assert [X.shape for X, _ in (splits.train, splits.valid, splits.test)] == [(6, 5), (2, 5), (2, 5)]
    y = [label for part in (splits.train, splits.valid, splits.test) for label in part[1]]
    assert sorted(y) == [-1.0] * 5 + [1.0] * 5
    run = dissertation_runs.lpboost(splits.oracle("raw"), 0.0, 0.01)
    assert run.ended_by_rule
    dissertation_runs.examples.cache_clear()


def test_sets_without_units_are_named() -> None:
    units = [{"parameters": {"data": "news20"}, "result": {}, "cpu": 0.0}]
    words = "The files of astro-ph, real-sim were not at hand: the pictures and tables leave them out."
    assert dissertation_runs.left_out(Results(units)) == words
