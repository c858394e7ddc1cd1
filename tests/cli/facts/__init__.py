"""The command `facts`."""
