"""Comparisons and benchmarks as text: tables on the console and in papers, phrases, progress."""
