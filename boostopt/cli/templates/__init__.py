"""Templates of files that users edit: `boostopt new` copies one under a new name. Each runs and passes its own test.

`new_name` and `NewName` are the placeholders of the name. The first lines are the entry of the template: TOML in
comments between `# /// boostopt new` and `# ///`. They are not copied:

kind
    The command `boostopt new KIND`.
summary
    The contents, for the help of the command.
example
    A command that writes the file, for the help.
command
    A command that runs with the unedited file; `{file}` is its path.
form, form_summary
    For several templates of one kind: the value of `--as`, and its description. The default form states `summary` and
    `example`.
"""
