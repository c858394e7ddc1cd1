"""What all tests stand on: signals that do what they do at a terminal."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """A shell starts what it puts into the background with Ctrl-C ignored, and every process below inherits that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
