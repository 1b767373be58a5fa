"""The command line: one module per command, each with a function `command` (or, for a family, a Typer `app`)."""
