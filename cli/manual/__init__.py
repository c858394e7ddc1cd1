"""Writes pages of docs/: those made of the code, and the outputs of commands in those that people write. `cli/pages.py` is the entry."""
