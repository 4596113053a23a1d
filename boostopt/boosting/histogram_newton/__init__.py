"""Newton's method on coded rows: each iteration needs histograms, one pass over the data."""
