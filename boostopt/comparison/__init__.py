"""Programs and backends: which backend is right, how fast it reaches which accuracy, and why it fails."""

from boostopt.comparison.benchmarking import GAPS, benchmark
from boostopt.comparison.benchmarks import Benchmark
from boostopt.comparison.comparing import Comparison, compare
from boostopt.comparison.options import BenchmarkOptions
from boostopt.comparison.rows import Row

__all__ = ["GAPS", "Benchmark", "BenchmarkOptions", "Comparison", "Row", "benchmark", "compare"]
