"""The embedded Kubernetes types are those of the API server that the tests run."""

import pytest

from tests.cluster.assets.build import KUBERNETES, USUAL
from tests.cluster.harness import ControlPlane
from tests.cluster.openapi import FILE, fetched, rendered


@pytest.mark.skipif(KUBERNETES != USUAL, reason=f"the definitions are recorded on Kubernetes {USUAL}")
def test_the_definitions_are_those_of_the_api_server(alpha: ControlPlane) -> None:
    assert FILE.read_bytes() == rendered(fetched(alpha)), "stale: run python -m tests.cluster.openapi"
