"""Models that were fitted elsewhere: how far each is from the optimum of its own objective."""
