"""The cluster of the node tests, one for all of them."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.node.cluster import Cluster, one_node
from tests.node.node import IMAGES

HERE: Final = Path(__file__).parent
ALONE: Final = {"test_install", "test_upgrade"}  # modules whose tests each install


@pytest.hookimpl(tryfirst=True)  # before the plugin that reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keeps tests of a module on one machine if they share an installation."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group(item.name if item.path.stem in ALONE else item.path.stem))


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of one node."""
    if IMAGES not in os.environ:
        pytest.skip("a node runs in namespaces of its own: `make node`")
    with one_node(tmp_path_factory.mktemp("node")) as found:
        yield found
