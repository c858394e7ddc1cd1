"""Tests: users' own rules."""
