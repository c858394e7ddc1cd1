"""The command `picture`: draws graphs."""
