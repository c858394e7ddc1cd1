"""Tests: commands that read a cluster, or foresee what it answers."""
