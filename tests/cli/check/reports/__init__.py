"""Tests: the report formats of `check`."""
