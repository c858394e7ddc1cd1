"""Tests: the command `policy`."""
