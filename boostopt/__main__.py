"""`python -m boostopt` is the command line."""

from boostopt.cli import main

main()
