"""Faults in the code: each stands for a line of today, and the fuzz of certificates sees each."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path

import pytest

from benchmarks import code_faults
from benchmarks.code_faults import FAULTS, CodeFault


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.title)
def test_the_line_of_a_fault_stands_once_in_its_module(fault: CodeFault) -> None:
    spec = importlib.util.find_spec(fault.module_name)
    assert spec is not None and spec.origin is not None
    source = Path(spec.origin).read_text(encoding="utf-8")
    changed = fault.faulty_source(source)
    compile(changed, spec.origin, "exec")
    pairs = [(a, b) for a, b in zip(source.splitlines(), changed.splitlines(), strict=True) if a != b]
    assert [(a.strip(), b.strip()) for a, b in pairs] == [(fault.line, fault.wrong_line)]


def test_a_line_that_is_gone_or_not_alone_is_no_fault() -> None:
    fault = CodeFault("none", "feasible_point", "return x", "return y")
    assert fault.faulty_source("def f(x):\n    return x\n") == "def f(x):\n    return y\n"
    with pytest.raises(ValueError, match="got it 0 times"):
        fault.faulty_source("def f(x):\n    return 2 * x\n")
    with pytest.raises(ValueError, match="got it 2 times"):
        fault.faulty_source("return x\nreturn x\n")


def test_a_module_that_was_imported_before_is_refused() -> None:
    importlib.import_module(FAULTS[3].module_name)
    with pytest.raises(ValueError, match="process of its own"):
        code_faults.first_false_interval(FAULTS[3], 0, 0)


def test_the_table_names_what_was_not_seen(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    falsehood = {"kind": "log_det", "lie": "both: zero", "arithmetic": "balls", "interval": "[1, 2]"}
    results = {fault: {"certificates": 7, "false": falsehood} for fault in FAULTS}
    results[None] = {"certificates": 1000, "false": None}  # pyright: ignore[reportArgumentType]
    monkeypatch.setattr(code_faults, "run_in_process", lambda fault, n_problems, seed: results[fault])
    assert code_faults.main([]) == 0
    output = capsys.readouterr().out
    assert "| none | not seen in 1,000 |" in output
    assert f"| {FAULTS[0].title} | 7 | log_det, in balls | both: zero | [1, 2] |" in output
    results[FAULTS[2]]["false"] = None  # pyright: ignore[reportArgumentType]
    assert code_faults.main([]) == 1
    results[FAULTS[2]]["false"], results[None] = falsehood, {"certificates": 5, "false": falsehood}  # pyright: ignore[reportArgumentType]
    assert code_faults.main([]) == 1


@pytest.mark.thorough
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.title)
def test_the_fuzz_sees_a_fault(fault: CodeFault) -> None:
    assert code_faults.run_in_process(fault, code_faults.N_PROBLEMS, 0)["false"] is not None


@pytest.mark.thorough
def test_the_code_without_a_fault_passes_the_same_run() -> None:
    result = code_faults.run_in_process(None, code_faults.N_PROBLEMS, 0)
    assert result["false"] is None and result["certificates"] >= 5000
