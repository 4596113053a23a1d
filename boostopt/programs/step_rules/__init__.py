"""The progress of boosting that step rules read, and the one-dimensional roots from which they set steps."""
