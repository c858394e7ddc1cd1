"""The command `check`: validates all objects of files and reports findings."""
