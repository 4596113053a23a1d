"""Updates of the weights in a round: corrective, totally corrective, by coordinates, by projections."""
