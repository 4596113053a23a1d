"""Files to begin with: each runs, passes its own test, and is copied under a new name by `boostopt new`.

`new_name` and `NewName` stand for the name.
"""
