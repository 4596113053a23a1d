"""Comparisons and benchmarks of backends: certified intervals, seconds to each certified gap, reasons of failures."""

from boostopt.backends.user_function_solvers import ConeSolver, FunctionSolver
from boostopt.comparison.benchmark import GAPS, benchmark
from boostopt.comparison.benchmark_options import BenchmarkOptions
from boostopt.comparison.benchmark_result import Benchmark
from boostopt.comparison.compare import Comparison, compare
from boostopt.comparison.solve_record import SolveRecord

__all__ = [
    "GAPS",
    "Benchmark",
    "BenchmarkOptions",
    "Comparison",
    "ConeSolver",
    "FunctionSolver",
    "SolveRecord",
    "benchmark",
    "compare",
]
