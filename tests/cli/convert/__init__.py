"""Tests: the command `convert`."""
