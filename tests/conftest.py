"""What all tests stand on: nothing of the machine, an end of each, signals as at a terminal, and one seed for all workers."""

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from types import FrameType
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

from dynamo_webhooks.cli.installation.configuration import VARIABLES
from dynamo_webhooks.policies.catalogue import set_user_rules
from tests.cluster.processes import RUNNING
from tests.kube.timing import SettlingLoop

HERE: Final = Path(__file__).parent

# set in the process that runs one test alone
ALONE: Final = "DYNAMO_TEST_ALONE"

# The seed of the laws and of hostile input, drawn before anything reads it; the workers inherit it, so that all try the same.
os.environ["LAWS_SEED"] = os.environ.get("LAWS_SEED") or str(secrets.randbits(32))

# what a generator costs is measured elsewhere: on a loaded machine, time says nothing about a test
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

# seconds in which a test ends, with fixtures of its module, on a loaded machine
MAX_TEST_SECONDS: Final = 1800

# folder -> the mark of its tests, for folders whose tests need more than Python or are about none of the rooms
TIERS: Final = {"bench": "neighbours", "release": "neighbours", "playground": "browser", "node": "node"}

# where the tests run in a pod, or their user has a cluster, they must not find it: these lead to one
LEADING: Final = ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", *(variable.name for variable in VARIABLES))
for name in LEADING:
    os.environ.pop(name, None)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Gives Hypothesis the seed of the laws, and takes Ctrl-C back, which a shell lets everything in the background ignore."""
    if config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = os.environ["LAWS_SEED"]
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Marks whole folders."""
    if HERE in item.path.parents and (mark := TIERS.get(item.path.relative_to(HERE).parts[0])):
        item.add_marker(mark)


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], SettlingLoop]]:
    """Runs each test in a loop that knows when everybody waits."""
    return {"settling": SettlingLoop}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts slow modules first, then those on an API server, which mostly wait, so that no worker is alone with one of them at the end.

    In a module, tests of one parameter of a wider fixture stay together, which pytest-randomly mixes: each change would start it anew.
    """
    order: dict[object, int] = {}
    for item in items:
        order.setdefault(item.path, len(order))
        order.setdefault((item.path, _wide_parameters(item)), len(order))
    slow, cluster = ({item.path for item in items if item.get_closest_marker(mark) is not None} for mark in ("slow", "cluster"))
    items.sort(
        key=lambda item: (item.path not in slow, item.path not in cluster, order[item.path], order[item.path, _wide_parameters(item)])
    )


def _wide_parameters(item: pytest.Item) -> tuple[tuple[str, int], ...]:
    """The parameters of fixtures that serve more than one test."""
    if not isinstance(item, pytest.Function) or not hasattr(item, "callspec"):
        return ()
    spec = item.callspec
    return tuple((name, spec.indices[name]) for name, scope in spec._arg2scope.items() if scope.value != "function")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Notes the CPU of a test, and why it may be slow, in the report that `--junit-xml` writes; tests/durations.py reads it."""
    before = os.times()
    try:
        return (yield)
    finally:
        item.user_properties.append(("cpu", f"{sum(os.times()[:4]) - sum(before[:4]):.2f}"))
        item.user_properties.extend(("slow", mark.args[0]) for mark in item.iter_markers("slow"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds the tails of the running processes' logs to the report of a failure."""
    report = yield
    if report.failed:
        report.sections.extend((f"{process.name} ({process.log})", process.tail(25)) for process in RUNNING)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Lets a test fail, with the place where it waits, once it has lasted too long; again each minute, where something catches that."""

    def end(_number: int, _frame: FrameType | None) -> None:
        pytest.fail(f"{item.nodeid} has not ended within {MAX_TEST_SECONDS} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, MAX_TEST_SECONDS, 60)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


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


@pytest.hookimpl(tryfirst=True)
def pytest_report_to_serializable(report: pytest.CollectReport | pytest.TestReport) -> None:
    """Lets reports travel from the workers: what was logged may hold halves of characters, which can't be sent."""
    report.sections = [(title, text.encode(errors="backslashreplace").decode()) for title, text in report.sections]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says how to try the same objects and reviews again; here, because with workers no other conftest is loaded by who reports."""
    from tests.hostile import settings
    from tests.laws import conftest as laws

    terminalreporter.write_line(f"laws of conversion: LAWS_SEED={laws.SEED} LAWS_OBJECTS={laws.OBJECTS}")
    terminalreporter.write_line(f"hostile input: HOSTILE_SEED={settings.SEED} HOSTILE_REVIEWS={settings.REVIEWS}")


def pytest_runtest_teardown() -> None:
    """Takes users' rules out of the catalogue, where a command in this process leaves them."""
    set_user_rules(())
