"""The command `schema` and the schemas that it prints."""
