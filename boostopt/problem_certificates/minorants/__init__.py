"""Lower bounds of problems: minorants of the objective by multipliers, and the search for good multipliers."""
