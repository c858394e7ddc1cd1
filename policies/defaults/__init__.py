"""Defaults of absent fields."""
