"""Conversion between two versions: lenses, one declaration per kind, the remainder codec, and the generic engine."""
