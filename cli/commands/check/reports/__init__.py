"""The report formats of `check`, one module each."""
