"""What all tests stand on: signals that do what they do at a terminal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Final

import pytest

# set in the process that runs one test alone
ALONE: Final = "DYNAMO_TEST_ALONE"


def pytest_configure() -> None:
    """A shell starts what it puts into the background with Ctrl-C ignored, and every process below inherits that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs a test that is marked `own_process` in one: bounds of memory count what lies unused in the heap of a process that forks."""
    if pyfuncitem.get_closest_marker("own_process") is None or ALONE in os.environ:
        return None
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", pyfuncitem.nodeid]
    done = subprocess.run(
        command, cwd=pyfuncitem.config.rootpath, env={**os.environ, ALONE: "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout, done.stdout
    return True
