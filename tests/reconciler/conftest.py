"""Fixtures of the command's tests, for those of `render`."""

from tests.cli.conftest import command, files

__all__ = ["command", "files"]
