"""The command `doctor`: finds faults of an installation."""
