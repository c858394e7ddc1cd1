"""Tests: the command `check`."""
