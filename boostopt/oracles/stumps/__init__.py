"""Decision stumps, and oracles that search them by sorted or by binned features."""
