"""HiGHS, called directly: one model is kept for a whole run."""
