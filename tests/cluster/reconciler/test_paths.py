"""Running graphs on a real API server: neither rolls, nor deletions of other graphs, nor optional APIs take away what serves."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.reconciler.grove import SETS, Grove, definitions
from tests.cluster.reconciling import (
    ACCOUNTS,
    BINDINGS,
    COMPONENTS,
    DEPLOYMENTS,
    GRAPHS,
    NAMESPACE,
    PODS,
    ROLES,
    SERVICES,
    Reconciled,
    reconciled,
)
from tests.cluster.rendering import charted, of_kind
from tests.reconciler.rendering import component, graph, vllm

Node = dict[str, Any]
MODEL = "dynamo-model-fb68f5a6"


def _disagg(namespace: str, name: str = "g", *args: str, replicas: int = 2) -> Node:
    """A graph whose two sorts of workers serve one model."""
    model: Node = {"modelRef": {"name": "Qwen/Qwen3-0.6B"}, "replicas": replicas, "args": args}
    frontend = component("Frontend", "frontend", {"image": "img:1"}, replicas=1)
    made = graph(frontend, vllm("decode", "decode", **model), vllm("prefill", "prefill", **model), name=name)
    made["metadata"]["namespace"] = namespace
    return made


def _uid(site: Reconciled, path: str, namespace: str, name: str) -> str:
    return str(site.get(path, namespace, name)["metadata"]["uid"])


def test_a_graph_deleted_without_its_children_takes_them_up_again(site: Reconciled) -> None:
    namespace = site.plane.namespace()
    site.plane.apply(_disagg(namespace))
    site.ready(namespace)
    kinds = (COMPONENTS, DEPLOYMENTS, SERVICES, ACCOUNTS, ROLES, BINDINGS)

    def uids() -> dict[str, str]:
        return {f"{path} {name}": _uid(site, path, namespace, name) for path in kinds for name in site.names(path, namespace)}

    before = uids()
    done = site.plane.kubectl("delete", "dynamographdeployment/g", "-n", namespace, "--cascade=orphan")
    assert done.code == 0, done.stderr
    site.plane.apply(_disagg(namespace))
    site.ready(namespace)
    assert uids() == before
    graph_uid = _uid(site, GRAPHS, namespace, "g")
    for name in site.names(COMPONENTS, namespace):
        assert [one["uid"] for one in site.get(COMPONENTS, namespace, name)["metadata"]["ownerReferences"]] == [graph_uid]


@pytest.fixture
def bare(assets: Any, tmp_path: Path) -> Iterator[Reconciled]:
    """A cluster of its own, to which Grove comes and from which it goes."""
    with reconciled(assets, tmp_path) as found:
        yield found


def _again(site: Reconciled) -> None:
    """Another process, which asks at once what the cluster serves."""
    assert site.processes.pop().stop(patience=60) == 0
    site.reconcile()


def test_a_graph_stays_where_it_runs_until_its_owner_moves_it(bare: Reconciled) -> None:
    site, namespace = bare, bare.plane.namespace()
    site.plane.apply(_disagg(namespace))
    site.ready(namespace)
    deployments = {name: _uid(site, DEPLOYMENTS, namespace, name) for name in site.names(DEPLOYMENTS, namespace)}
    service, model = (_uid(site, SERVICES, namespace, name) for name in ("g-frontend", MODEL))

    # the API appears, first without permissions and then with them
    site.plane.apply(*definitions())
    _again(site)
    site.plane.apply(_disagg(namespace, "later"))
    site.until(lambda: "lacks a permission" in site.condition(namespace, "later").get("message", ""), "Grove being noticed")
    site.plane.apply(*of_kind(charted(NAMESPACE, "reconciler.orchestrators=true"), "ClusterRole", "ClusterRoleBinding"))
    _again(site)
    with Grove(site.plane):
        site.ready(namespace, "later")
        assert site.names(SETS, namespace) == {"later"}
        site.ready(namespace)
        assert {name: _uid(site, DEPLOYMENTS, namespace, name) for name in deployments} == deployments

        # its owner asks for Grove
        site.patch(GRAPHS, namespace, "g", {"metadata": {"annotations": {"nvidia.com/enable-grove": "true"}}})
        site.until(lambda: "g" in site.names(SETS, namespace), "the graph being on Grove")
        assert not deployments.keys() & site.names(DEPLOYMENTS, namespace)
        assert not any(name.startswith(("g-decode", "g-prefill", "g-frontend")) for name in site.names(PODS, namespace))
        site.ready(namespace)
        assert (_uid(site, SERVICES, namespace, "g-frontend"), _uid(site, SERVICES, namespace, MODEL)) == (service, model)

        # and back, and what the API made is gone before
        site.patch(GRAPHS, namespace, "g", {"metadata": {"annotations": {"nvidia.com/enable-grove": "false"}}})
        site.until(lambda: bool(deployments.keys() & site.names(DEPLOYMENTS, namespace)), "the graph being on Deployments again")
        assert site.names(SETS, namespace) == {"later"}
        site.ready(namespace)
        assert (_uid(site, SERVICES, namespace, "g-frontend"), _uid(site, SERVICES, namespace, MODEL)) == (service, model)

    # the API vanishes
    assert site.plane.kubectl("delete", "crd", *(one["metadata"]["name"] for one in definitions())).code == 0
    site.until(lambda: site.plane.request("GET", SETS.format(namespace)).status == 404, "the kind being gone")
    _again(site)
    reason = "GroveNotServed"
    site.until(lambda: site.condition(namespace, "later", "Orchestrator").get("reason") == reason, "the graph being left alone")
    assert (site.state(namespace, "later"), site.condition(namespace, "later")["status"]) == ("pending", "Unknown")
    assert not any(name.startswith("later") for name in site.names(COMPONENTS, namespace))
    site.ready(namespace)
