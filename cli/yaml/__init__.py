"""Reads Kubernetes' dialect of YAML, and JSON, with positions beside the data."""
