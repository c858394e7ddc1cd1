"""The pydantic models of every kind and version: the one source of the structural schemas, read by generation and tests only."""
