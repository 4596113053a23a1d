"""Decision stumps: their search, sorted or binned."""
