"""The command `completion`: scripts that let a shell complete the command line."""
