"""Graphs that run on Grove: one PodCliqueSet for all components, and what leads to its pods."""
