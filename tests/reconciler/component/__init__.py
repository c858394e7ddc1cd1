"""Tests: components."""
