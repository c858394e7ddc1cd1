"""Defaults of absent fields; one file per default."""
