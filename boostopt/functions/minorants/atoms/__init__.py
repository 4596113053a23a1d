"""The atoms of convex expressions: enclosures of their values, and minorants with bounds of the rounding error."""
