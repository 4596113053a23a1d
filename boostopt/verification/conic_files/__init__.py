"""Certificate files of conic and quadratic programs: the statement, the proofs in fractions, the writer, the verdict."""
