"""Replicas that span several nodes: roles, addresses, and each framework's flags and variables."""
