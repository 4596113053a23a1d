"""Certificate files of exact optima of linear programs: the statement, the writer, and the verdict."""
