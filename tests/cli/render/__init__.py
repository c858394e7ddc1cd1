"""Tests: the command `render`."""
