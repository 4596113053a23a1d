"""Text of comparisons and benchmarks: tables on the console and in papers, sentences, progress."""
