* In floats, 3 (x + 2 y) = 0.3 contradicts x + 2 y = 0.1 by about 1e-17; in decimals the optimum is 1/20.
NAME infeasible
ROWS
 N cost
 E first
 E second
COLUMNS
 x cost 1 first 1
 x second 3
 y cost 1 first 2
 y second 6
RHS
 RHS first 0.1 second 0.3
ENDATA
