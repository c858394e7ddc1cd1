"""Tests: hand-written pages, recipes and hooks: their commands run."""
