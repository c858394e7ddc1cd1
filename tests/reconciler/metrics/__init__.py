"""Tests: metrics of the reconciler."""
