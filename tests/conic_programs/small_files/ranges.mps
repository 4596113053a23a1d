* A maximum over rows with two bounds: x + y <= 4 and x - y between -1 and 2; 4 + 3 = 7 at x = 3, y = 1 (+ x).
NAME ranges
OBJSENSE
 MAX
ROWS
 N profit
 L sum
 E difference
COLUMNS
 x profit 2 sum 1
 x difference 1
 y profit 1 sum 1
 y difference -1
RHS
 RHS sum 4 difference -1
RANGES
 RANGE difference 3 sum 10
ENDATA
