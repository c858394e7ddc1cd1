"""A second server with other settings, and what is refused while it is down."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest

from tests.cluster.admission import FACTS, HOOKS, Admission, register, serving
from tests.cluster.harness import ControlPlane
from tests.cluster.objects import graph, path_of

Node: TypeAlias = dict[str, Any]
OTHERS: Final = {"dynamo-webhooks.test/admission": "second"}


@pytest.fixture
def second(alpha: ControlPlane, tmp_path: Path) -> Iterator[Admission]:
    """The second server, registered for namespaces of its own."""
    with serving(tmp_path, {**FACTS, "operatorVersion": "1.2.9"}) as server:
        register(alpha, server, "second", OTHERS)
        yield server
    for purpose in HOOKS:
        path = f"/apis/admissionregistration.k8s.io/v1/{purpose.lower()}webhookconfigurations/second"
        assert alpha.request("DELETE", path).status == 200


def test_while_the_server_is_down_writes_wait_and_nothing_else(alpha: ControlPlane, second: Admission) -> None:
    """Reads, deletes, status writes and other people's namespaces do not depend on us; a drained server ends with 0."""
    namespace, free = alpha.namespace(OTHERS), alpha.namespace()
    obj = graph(namespace)
    stored = alpha.request("POST", path_of(obj), obj)
    assert stored.body["metadata"]["annotations"]["nvidia.com/dynamo-operator-origin-version"] == "1.2.9"

    assert second.process.stop() == 0
    path = path_of(obj, named=True)
    refused = alpha.request("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, kind="application/merge-patch+json")
    assert refused.status == 500
    assert "failed calling webhook" in refused.body["message"]
    assert alpha.request("PATCH", f"{path}/status", {"status": {"state": "failed"}}, kind="application/merge-patch+json").status == 200
    assert alpha.request("GET", path).status == 200
    assert alpha.request("POST", path_of(graph(free)), graph(free)).status == 201
    assert alpha.request("DELETE", path).status == 200
