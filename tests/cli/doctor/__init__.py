"""Tests: the command `doctor`."""
