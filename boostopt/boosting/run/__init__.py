"""A run of boosting: its state, its trace, its history, its combined hypothesis and its file."""
