"""Writes a value into a text and keeps comments, indentation and quotes of everything that stays."""
