"""Replicas that span several nodes: roles, addresses, and what each framework needs to find its other nodes."""
