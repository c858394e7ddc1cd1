"""Tests: forms of an object."""
