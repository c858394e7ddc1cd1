"""Tests: the command `reconcile`."""
