"""The cluster of the node tests, one for all of them."""

import os
from collections.abc import Iterator

import pytest

from tests.node.cluster import Cluster, one_node


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of one node."""
    if "DYNAMO_NODE_IMAGE" not in os.environ:
        pytest.skip("a node runs in namespaces of its own: `make node`")
    with one_node(tmp_path_factory.mktemp("node")) as found:
        yield found
