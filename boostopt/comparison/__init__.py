"""Programs and backends: who is right, who is fast to which accuracy, who cannot take it and why."""

from boostopt.comparison.benchmarking import GAPS, benchmark
from boostopt.comparison.benchmarks import Benchmark
from boostopt.comparison.comparing import Comparison, compare
from boostopt.comparison.options import BenchmarkOptions
from boostopt.comparison.rows import Row

__all__ = ["GAPS", "Benchmark", "BenchmarkOptions", "Comparison", "Row", "benchmark", "compare"]
