"""Direct calls of HiGHS, with one model for a whole run."""
