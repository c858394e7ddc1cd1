"""Graphs that are nested as deeply as an API server stores them are refused, and stop no other."""

import contextlib
import http.client
import json
import ssl
from typing import Any, Final

from dynamo_webhooks.api.kinds import BETA
from tests.cluster.harness import ADMIN, TOKENS, ControlPlane
from tests.cluster.objects import POD, make, path_of
from tests.cluster.reconciling import GRAPHS, Reconciled

DEPTHS: Final = (900, 1010, 3000, 9000)  # maps within one another; our decoder's bound is 1,024, the API server's 10,000
REFUSAL: Final = "spec: must be nested at most 200 levels deep; flatten the deepest part"


def _graph(namespace: str, name: str, *more: Any) -> dict[str, Any]:
    worker = {"name": "w", "type": "worker", "replicas": 1, "podTemplate": POD}
    return make("DGD", BETA, namespace, {"components": [worker, *more]}, name=name)


def _post_deep(plane: ControlPlane, namespace: str, depth: int) -> int:
    """Creates a graph that is written as text, because json's own encoder has a bound, too."""
    config = {"plugins": [], "schedulingProfiles": [], "more": "DEEP"}
    graph = _graph(namespace, f"deep-{depth}", {"name": "e", "type": "epp", "podTemplate": POD, "eppConfig": {"config": config}})
    text = json.dumps(graph).replace('"DEEP"', '{"x":' * depth + "1" + "}" * depth)
    context = ssl.create_default_context(cafile=str(plane.ca))
    headers = {"Authorization": f"Bearer {TOKENS[ADMIN][0]}", "Content-Type": "application/json"}
    with contextlib.closing(http.client.HTTPSConnection("127.0.0.1", plane.port, context=context)) as connection:
        connection.request("POST", path_of(graph), text, headers)
        response = connection.getresponse()
        response.read()
        return response.status


def test_deep_graphs_are_refused_and_stop_no_other(site: Reconciled) -> None:
    namespace = site.plane.namespace()
    for depth in DEPTHS:
        assert _post_deep(site.plane, namespace, depth) == 201
    site.plane.request("POST", path_of(_graph(namespace, "good")), _graph(namespace, "good"))
    site.ready(namespace, "good")
    for depth in DEPTHS:
        site.until(lambda depth=depth: _message(site, namespace, depth) == REFUSAL, f"the graph of depth {depth} being refused")  # type: ignore[misc]
    # nor does one that begins anew, and lists them all
    site.kill()
    site.reconcile()
    site.plane.request("POST", path_of(_graph(namespace, "later")), _graph(namespace, "later"))
    site.ready(namespace, "later")


def _message(site: Reconciled, namespace: str, depth: int) -> str:
    """Of the condition of a deep graph, asked for as a table: Python's own decoder doesn't take it either."""
    path = f"{GRAPHS.format(namespace)}/deep-{depth}"
    found = site.plane.kubectl("get", "--raw", path).stdout
    return REFUSAL if REFUSAL in found else ""
