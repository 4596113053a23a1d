"""F, a convex function of the weights of examples, and G, a convex function of the edges of hypotheses."""
