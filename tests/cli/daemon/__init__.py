"""Tests: processes that run until they are stopped."""
