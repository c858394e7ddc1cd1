"""Tests: the command `certs`."""
