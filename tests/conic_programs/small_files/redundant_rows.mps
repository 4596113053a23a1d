* The second equation is twice the first one. The optimum is 1/2 at y = 1/2.
NAME redundant_rows
ROWS
 N cost
 E first
 E second
COLUMNS
 x cost 1 first 1
 x second 2
 y cost 1 first 2
 y second 4
RHS
 RHS first 1 second 2
ENDATA
