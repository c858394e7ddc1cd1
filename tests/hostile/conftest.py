"""Says at the end of a run from which seed it was."""

from __future__ import annotations

import pytest

from tests.hostile.settings import REVIEWS, SEED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says how to try the same reviews again; at the end, because a run of all tests loads this file too late for its header."""
    terminalreporter.write_line(f"hostile input: HOSTILE_SEED={SEED} HOSTILE_REVIEWS={REVIEWS}")
