"""Tests: the loop, whatever the kind."""
