"""The installation that a command works on: its API server, its configuration and its names."""
