* The optimum is 7/8, which the free variables x = 7/8 and y = 1/8 attain.
NAME free_variable
ROWS
 N cost
 E slope
 E sum
COLUMNS
 x cost 1 slope 1
 x sum 1
 y slope -7 sum 1
RHS
 RHS sum 1
BOUNDS
 FR BOUND x
 FR BOUND y
ENDATA
