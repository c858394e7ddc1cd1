"""The cluster of the node tests, one on each machine, and which tests share one."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tests.node.admin import Admin
from tests.node.cluster import Cluster, one_node
from tests.node.installing import stand
from tests.node.node import IMAGES

# modules in the order in which they begin, the longest first; the tests of the last ones need a clean machine each
ORDER: Final = [
    *("test_certificates", "test_faults", "test_graphs", "test_nodes", "test_migrate", "test_checkpoints", "test_multinode"),
    *("test_network", "test_upgrade", "test_install", "test_try"),
]
ALONE: Final = ORDER[-3:]


class Machines(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Keeps tests of a module on one machine if they share an installation."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return nodeid if Path(file).stem in ALONE else file

    def _reschedule(self, node: WorkerController) -> None:
        """Gives a machine more to do when its last test begins, but not before: another machine may be free sooner."""
        if self._pending_of(self.assigned_work[node]) <= 1:
            super()._reschedule(node)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Machines:
    """Says which tests go to which machine."""
    return Machines(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts modules in order where nodes run."""
    if IMAGES in os.environ:
        items.sort(key=lambda item: ORDER.index(item.path.stem))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the figures of the tests, of which docs/bench.md has a table."""
    reports = {report.capstdout: None for reports in terminalreporter.stats.values() for report in reports if hasattr(report, "capstdout")}
    for line in (line for text in reports for line in text.splitlines() if " requests, " in line or line.startswith("up: ")):
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of one node."""
    if IMAGES not in os.environ:
        pytest.skip("a node runs in namespaces of its own: `make node`")
    with one_node(tmp_path_factory.mktemp("node")) as started:
        yield started


@pytest.fixture(scope="module")
def admin(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Admin:
    """The administrator of the usual installation, which stands already or is made."""
    return stand(cluster, tmp_path_factory.mktemp("admin"))
