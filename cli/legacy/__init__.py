"""Kinds of the first releases: recognised, and converted to the kinds of today."""
