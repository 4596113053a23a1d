"""Certificate files of programs with a described F or G: the statement, the writer, and the verdict."""
