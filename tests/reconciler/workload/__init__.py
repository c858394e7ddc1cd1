"""Tests: what graphs, components and checkpoints share."""
