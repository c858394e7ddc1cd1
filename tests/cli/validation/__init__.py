"""Tests: one object validated."""
