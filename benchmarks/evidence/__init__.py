"""The experiments of the papers, run: each is a record of units, whose results are stored and made into a page."""
