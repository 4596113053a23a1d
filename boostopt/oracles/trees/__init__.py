"""Decision trees of depth two: the oracle that searches all of them at few thresholds, and its hypothesis."""
