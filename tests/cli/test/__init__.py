"""Tests: the command `test`."""
