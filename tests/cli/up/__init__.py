"""Tests: the command `up`."""
