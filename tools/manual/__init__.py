"""Writes pages of docs/: those made of the code, and the outputs of commands in those that people write. `tools/pages.py` is the entry."""
