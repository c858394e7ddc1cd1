"""Tests: the command `review`."""
