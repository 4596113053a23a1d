"""Foreign solvers kept apart: in processes of their own, and with their faults as attempts."""
