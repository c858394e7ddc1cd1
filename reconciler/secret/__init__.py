"""Secrets that pods get by the registries of their images."""
