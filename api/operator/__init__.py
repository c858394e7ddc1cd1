"""The OperatorConfiguration file: its sections, and what is wrong with one."""
