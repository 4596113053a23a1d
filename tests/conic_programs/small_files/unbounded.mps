* The objective falls by 2^-40 for each unit along (1, 1).
NAME unbounded
ROWS
 N cost
 E difference
COLUMNS
 x cost -1 difference 1
 y cost 0.9999999999990905 difference -1
ENDATA
