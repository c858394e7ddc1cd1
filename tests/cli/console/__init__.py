"""Tests: what every command shares."""
