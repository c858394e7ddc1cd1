"""Graphs of v1beta1 under webhooks that are registered for v1alpha1 alone, as the Go operator's chart has it: the API server converts."""

from pathlib import Path

from dynamo_webhooks.api.crd import build as crd
from dynamo_webhooks.api.kinds import BETA
from tests.cluster.admission import FACTS, SELECTED, register
from tests.cluster.conversion import converting_plane
from tests.cluster.objects import ORIGIN, make, path_of
from tests.cluster.processes import wait_until


def test_graphs_are_judged_while_they_are_converted_and_refused_while_they_are_not(assets: Path, tmp_path: Path) -> None:
    """Q-39: without conversion the data of v1beta1 reach the webhook of v1alpha1, which finds no services."""
    with converting_plane(assets, tmp_path) as (plane, converter):
        plane.install(crd("DynamoModel"))  # what the harness asks about to see whether the webhooks are asked
        register(plane, converter.admission, "equivalent", SELECTED)
        obj = make("DGD", BETA, plane.namespace(SELECTED), {"components": [{"name": "a"}]})
        stored = plane.request("POST", path_of(obj), obj)
        assert stored.status == 201, stored.body
        assert stored.body["spec"]["components"] == [{"name": "a", "replicas": 1}]
        assert stored.body["metadata"]["annotations"] == {ORIGIN: FACTS["operatorVersion"]}

        plane.install(crd("DynamoGraphDeployment"))
        obj["metadata"]["name"] = "u"

        def refused() -> bool:
            reply = plane.request("POST", path_of(obj) + "?dryRun=All", obj)
            return reply.status == 422 and "[dgd-services-required]" in reply.body["message"]

        wait_until(refused, "graphs being left unconverted", plane.server)
