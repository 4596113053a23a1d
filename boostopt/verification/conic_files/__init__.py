"""Certificate files of conic programs: the statement, proofs in fractions, the writer, and the verdict."""
