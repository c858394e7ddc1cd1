"""What all tests stand on: signals that do what they do at a terminal, and one seed for all workers."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest

from tests.cluster.sharing import SharedPlanes

if TYPE_CHECKING:
    from collections.abc import Generator

    from xdist.remote import Producer

# set in the process that runs one test alone
ALONE: Final = "DYNAMO_TEST_ALONE"

# The seed of the laws and of hostile input, drawn before anything reads it; the workers inherit it, so that all try the same.
os.environ["LAWS_SEED"] = os.environ.get("LAWS_SEED") or str(secrets.randbits(32))


def pytest_configure() -> None:
    """A shell starts what it puts into the background with Ctrl-C ignored, and every process below inherits that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts modules on an API server first: they take longest and mostly wait, so that no worker is alone with one of them at the end."""
    items.sort(key=lambda item: item.get_closest_marker("cluster") is None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> SharedPlanes | None:
    """Lets modules that share a control plane run in one worker."""
    return SharedPlanes(config, log) if config.getoption("dist") == "loadfile" else None


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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Lets reports travel from the workers: what was logged may hold halves of characters, which can't be sent."""
    report = yield
    report.sections = [(title, text.encode(errors="backslashreplace").decode()) for title, text in report.sections]
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says how to try the same objects and reviews again; here, because with workers no other conftest is loaded by who reports."""
    from tests.hostile import settings
    from tests.laws import conftest as laws

    terminalreporter.write_line(f"laws of conversion: LAWS_SEED={laws.SEED} LAWS_OBJECTS={laws.OBJECTS} LAWS_EXAMPLES={laws.EXAMPLES}")
    terminalreporter.write_line(f"hostile input: HOSTILE_SEED={settings.SEED} HOSTILE_REVIEWS={settings.REVIEWS}")
