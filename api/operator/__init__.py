"""The OperatorConfiguration file: its sections, and the problems in a file."""
