"""Programs with sparse data from files of others, and the exact optima of linear ones."""
