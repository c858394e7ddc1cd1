"""Rules and defaults, one file a theme, and their evaluation."""
