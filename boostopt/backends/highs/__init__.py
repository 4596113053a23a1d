"""HiGHS driven directly: one model lives through a run."""
