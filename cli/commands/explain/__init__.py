"""The command `explain`: pages on rules, kinds, fields, facts and messages."""
