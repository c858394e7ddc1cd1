"""Lens primitives: each says one kind of correspondence, forward, backward, for paths and for the field map. No kind is named here."""
