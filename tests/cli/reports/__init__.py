"""The reports of `check`: each against the schema of its format, and what it says."""
