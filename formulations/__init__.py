"""The algorithms, one page each: what is printed in the papers, as programs that solve and certify."""
