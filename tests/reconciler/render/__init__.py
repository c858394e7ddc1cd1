"""Tests: children of an object."""
