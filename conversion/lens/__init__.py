"""Lens primitives: correspondences in both directions, for values, paths and the field map. Independent of kinds."""
