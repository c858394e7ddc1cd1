"""JSON schemas of our kinds for editors, made from the schemas that the API server enforces, and of the JSON that commands print."""
