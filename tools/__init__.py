"""Generators of files in this repository. They run from a checkout and are not installed."""
