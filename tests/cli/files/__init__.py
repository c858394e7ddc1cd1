"""Tests: files, folders, revisions and kustomizations."""
