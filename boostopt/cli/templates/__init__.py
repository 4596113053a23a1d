"""Templates of files that users edit: `boostopt new` copies one under a new name. Each runs and passes its own test.

`new_name` and `NewName` are the placeholders of the name.
"""
