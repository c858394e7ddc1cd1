"""The cluster of the node tests, one for all of them."""

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.cluster.processes import RUNNING
from tests.node.cluster import Cluster, one_node

HERE: Final = Path(__file__).parent


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds the tails of the running processes' logs to the report of a failure."""
    report = yield
    if report.failed and HERE in item.path.parents:
        report.sections.extend((f"{process.name} ({process.log})", process.tail(25)) for process in RUNNING)
    return report


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of one node."""
    if "DYNAMO_NODE_IMAGE" not in os.environ:
        pytest.skip("a node runs in namespaces of its own: `make node`")
    with one_node(tmp_path_factory.mktemp("node")) as found:
        yield found
