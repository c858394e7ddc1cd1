"""Completion scripts, written from the parsers themselves: static, so that no shell ever starts Python for a tab."""
