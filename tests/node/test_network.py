"""The connections to our pods that really occur are those that the NetworkPolicies allow, and nothing else is allowed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.cluster.install.test_up import NAMESPACE
from tests.node.cluster import Cluster
from tests.node.image import NAME
from tests.node.installing import restart, stand
from tests.node.loading import loaded
from tests.node.sniffing import sniffing

Json = dict[str, Any]
POLICIES: Final = f"/apis/networking.k8s.io/v1/namespaces/{NAMESPACE}/networkpolicies"
# what a Prometheus does
_SCRAPES: Final = "import sys, urllib.request\nfor each in sys.argv[1:]: urllib.request.urlopen(f'http://{each}:8080/metrics').read()"


def test_the_policies_allow_the_connections_that_occur_and_no_others(cluster: Cluster, tmp_path: Path) -> None:
    with sniffing() as seen:
        restart(stand(cluster, tmp_path))  # connections that were begun before are not seen
        with loaded(cluster, "connections"):
            pods = {pod["status"]["podIP"]: pod for pod in cluster.pods(NAMESPACE)}
            scraper = _scrape(cluster, [*pods])
            # they are told of a moment later
            cluster.until(lambda: {each.target for each in [*seen] if each.source == scraper} >= {*pods}, "its connections being seen")
        others = {scraper, *pods}
        policies = cluster.items(POLICIES)
        rules = {
            (address, number, port): rule.get("from")
            for address, pod in pods.items()
            for number, rule in enumerate(_rules(policies, pod))
            for port in _ports(rule, pod)
        }
        used = set()
        for connection in [each for each in [*seen] if each.target in pods]:
            # a pod's own node may always reach it
            source = pods.get(connection.source)
            allowing = {
                rule
                for rule, peers in rules.items()
                if (rule[0], rule[2]) == (connection.target, connection.port)
                and (connection.source not in others or _is_among(source, peers))
            }
            assert allowing, f"{connection} is not allowed by {policies}"
            used |= allowing
        assert {(pods[rule[0]]["metadata"]["labels"]["app.kubernetes.io/component"], *rule[1:]) for rule in rules} == {
            (pods[rule[0]]["metadata"]["labels"]["app.kubernetes.io/component"], *rule[1:]) for rule in used
        }


def _scrape(cluster: Cluster, addresses: list[str]) -> str:
    """Reads the metrics of pods from a pod of another namespace, and returns its address."""
    namespace = cluster.plane.namespace()
    main = {"name": "main", "image": NAME, "command": ["/opt/dynamo-webhooks/bin/python", "-c", _SCRAPES, *addresses]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "scraper", "namespace": namespace}}
    cluster.plane.apply({**pod, "spec": {"containers": [main], "restartPolicy": "Never"}})
    path = f"/api/v1/namespaces/{namespace}/pods/scraper"
    cluster.until(lambda: cluster.plane.request("GET", path).body["status"].get("phase") == "Succeeded", "all metrics being read")
    return str(cluster.plane.request("GET", path).body["status"]["podIP"])


def _rules(policies: list[Json], pod: Json) -> Iterator[Json]:
    """What the policies of a pod let in."""
    chosen = [each["spec"] for each in policies if _selects(each["spec"]["podSelector"], pod)]
    assert chosen, f"no policy closes the ports of {pod['metadata']['name']}"
    for spec in chosen:
        yield from spec["ingress"]


def _selects(selector: Json, pod: Json) -> bool:
    labels = pod["metadata"]["labels"]
    expressions = selector.get("matchExpressions", ())
    assert {each["operator"] for each in expressions} <= {"In"}
    is_in = all(labels.get(each["key"]) in each["values"] for each in expressions)
    return is_in and selector.get("matchLabels", {}).items() <= labels.items()


def _ports(rule: Json, pod: Json) -> list[int]:
    named = {port["name"]: port["containerPort"] for port in pod["spec"]["containers"][0]["ports"]}
    return [named[port["port"]] for port in rule["ports"]]


def _is_among(source: Json | None, peers: list[Json] | None) -> bool:
    """Whether a pod, of ours or of another namespace, is a peer."""
    if peers is None:
        return True
    return any(
        "namespaceSelector" in peer or (source is not None and "podSelector" in peer and _selects(peer["podSelector"], source))
        for peer in peers
    )
