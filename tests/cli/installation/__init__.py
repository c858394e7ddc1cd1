"""Tests: the installation that a command works on."""
