"""What step rules read of the progress of boosting, and the one-dimensional roots from which they set steps."""
