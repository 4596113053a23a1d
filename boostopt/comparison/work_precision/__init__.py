"""Work and precision: what each certified gap costs with each solver, by single solves at several requests."""
