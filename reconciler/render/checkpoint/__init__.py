"""Renders checkpoints: their object, Job and storage, and the shape of pods that are restored."""
