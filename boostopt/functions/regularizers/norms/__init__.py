"""F as the indicator of a norm ball, or as a norm."""
