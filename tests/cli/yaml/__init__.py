"""Tests: yAML and JSON with positions."""
