"""Comparisons and benchmarks of backends: certified intervals, seconds to each certified gap, reasons of failures."""

from boostopt.backends.user_function_solvers import ConeSolver, FunctionSolver
from boostopt.comparison.benchmark import GAPS, benchmark
from boostopt.comparison.benchmark_options import BenchmarkOptions
from boostopt.comparison.benchmark_result import Benchmark
from boostopt.comparison.compare import Comparison, compare
from boostopt.comparison.solve_record import SolveRecord
from boostopt.comparison.work_precision.precision import REQUESTS, precision
from boostopt.comparison.work_precision.work_precision import WorkPrecision

__all__ = [
    "GAPS",
    "REQUESTS",
    "Benchmark",
    "BenchmarkOptions",
    "Comparison",
    "ConeSolver",
    "FunctionSolver",
    "SolveRecord",
    "WorkPrecision",
    "benchmark",
    "compare",
    "precision",
]
