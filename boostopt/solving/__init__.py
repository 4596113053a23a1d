"""Solves of one program: attempts of backends, merged examples, the solution and its explanation."""
