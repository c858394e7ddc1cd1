"""Fixtures of the command line, for what is recorded and rendered by it, and the overlay of the Go operator 1.2."""

from collections.abc import Iterator

import pytest

from tests.cli.conftest import command, files
from tests.golden.overlay.engine import profile_1_2

__all__ = ["command", "files"]


@pytest.fixture
def as_1_2() -> Iterator[None]:
    """Answers as the Go operator 1.2."""
    with profile_1_2():
        yield
