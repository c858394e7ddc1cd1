"""JSON schemas of our kinds for editors, made from the schemas that the API server enforces. Those of our outputs: cli/schemas."""
