"""The formats in which programs can be written, a module for each with its `FORMAT`."""
