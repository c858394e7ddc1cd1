"""The OperatorConfiguration file: its models, what is wrong with one, and what each process needs of it."""
