"""Moves stored objects to another version, with a plan before and a proof after; the state is in the cluster alone."""
