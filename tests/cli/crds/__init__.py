"""Tests: the command `crds`."""
