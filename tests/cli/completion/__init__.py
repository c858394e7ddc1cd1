"""The command `completion`: each script is asked by its shell where the shell is there, and read otherwise."""
