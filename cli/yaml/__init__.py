"""Kubernetes' dialect of YAML, and JSON, read with positions beside the data."""
