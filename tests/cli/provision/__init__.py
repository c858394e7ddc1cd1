"""Tests: the command `provision`."""
