"""The command `test`: runs case files."""
