* Five rows are active at the optimum -1 in the plane, (1/2, 1/2).
NAME degenerate
ROWS
 N cost
 L sum
 L first
 L second
 L steep
 L flat
COLUMNS
 x cost -1 sum 1
 x first 1 steep 2
 x flat 1
 y cost -1 sum 1
 y second 1 steep 1
 y flat 2
RHS
 RHS sum 1 first 0.5
 RHS second 0.5 steep 1.5
 RHS flat 1.5
ENDATA
