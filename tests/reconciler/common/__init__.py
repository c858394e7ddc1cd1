"""Tests: keys, resources, conditions, problems."""
