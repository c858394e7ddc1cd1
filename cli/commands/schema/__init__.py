"""The command `schema`: prints JSON schemas of kinds and of other commands' output."""
