"""One program, one answer: the ladder of attempts, merged examples, the solution and its explanation."""
