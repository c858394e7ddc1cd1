"""Tests: the reconciler, and what it makes of every kind."""
