"""Fixtures of the command line, for what is recorded and rendered by it."""

from tests.cli.conftest import command, files

__all__ = ["command", "files"]
