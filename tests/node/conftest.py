"""The cluster of the node tests, one on each machine, and which tests share one."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.node.cluster import Cluster, one_node
from tests.node.node import IMAGES

ALONE: Final = {"test_install", "test_upgrade"}  # modules whose tests each install


class Machines(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Keeps tests of a module on one machine if they share an installation."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return nodeid if Path(file).stem in ALONE else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Machines:
    """Says which tests go to which machine."""
    return Machines(config, log)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of one node."""
    if IMAGES not in os.environ:
        pytest.skip("a node runs in namespaces of its own: `make node`")
    with one_node(tmp_path_factory.mktemp("node")) as found:
        yield found
