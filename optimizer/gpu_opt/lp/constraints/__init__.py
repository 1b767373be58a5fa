"""One family of constraints a file; each function's docstring is its line in the manual."""
