"""Graphs on Grove: one PodCliqueSet for all components, and Services and ingresses for its pods."""
