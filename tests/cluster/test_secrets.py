"""Secrets before a real API server, whose audit log says what was asked for: pull secrets where opted in, and keys of MPI."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from dynamo_webhooks.api.kinds import BETA
from dynamo_webhooks.reconciler.loop.marks import PULL_SECRET
from tests.cluster.objects import make, path_of
from tests.cluster.reconciling import ACCOUNT, COMPONENTS, DEPLOYMENTS, EVENTS, GRAPHS, NAMESPACE, Reconciled, controllers, installed
from tests.cluster.rendering import charted
from tests.golden.corpus import cases
from tests.golden.differences import DIFFERENT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Node: TypeAlias = dict[str, Any]
SECRETS: Final = "/api/v1/namespaces/{}/secrets"
PULLED: Final = "pulled"
MARKED: Final = "marked"  # of whose Secrets only those with our label are asked for
RECORDED: Final = {f"recorded-{number}": case for number, case in enumerate(cases("controllers.ndjson.gz", "pull-secrets"))}
PASSWORD: Final = base64.b64encode(b"user:hunter2").decode()
USER: Final = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"
POLICY: Final = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "users": [USER], "resources": [{"group": "", "resources": ["secrets"]}]}],
}
VALUES: Final = (
    "reconciler.pullSecrets.mode=all",
    f"reconciler.pullSecrets.namespaces={{{','.join((PULLED, MARKED, *RECORDED))}}}",
    "reconciler.mpiKeys=true",
    "config.orchestrators.lws.enabled=true",
)


@pytest.fixture(scope="module")
def site(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reconciled]:
    home = tmp_path_factory.mktemp("secrets")
    (home / "policy.yaml").write_text(json.dumps(POLICY))
    flags = (f"--audit-policy-file={home / 'policy.yaml'}", f"--audit-log-path={home / 'audit.log'}", "--audit-log-mode=blocking")
    namespaces = (PULLED, MARKED, *RECORDED, "other", "plain", "shared", "own")
    with (
        installed(assets, home, objects=charted(NAMESPACE, *VALUES), namespaces=namespaces, flags=flags) as found,
        controllers(found.plane),
        found.pods,
    ):
        yield found


def _stop(site: Reconciled) -> None:
    """Ends the reconciler that runs."""
    while site.processes:
        site.kill()


def _run(site: Reconciled, **secrets: Any) -> str:
    """Starts a reconciler with another section about Secrets in place of the one that runs; gives the moment, as audit logs write it."""
    _stop(site)
    file = site.home / f"secrets-{len([*site.home.glob('secrets-*')])}.yaml"
    config = yaml.safe_load((site.home / "config.yaml").read_text())
    file.write_text(json.dumps({**config, "secrets": secrets}))
    site.plane.request("DELETE", f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{config['leaderElection']['id']}")
    since = datetime.now(tz=UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    site.reconcile("--config", str(file))
    return since


def _requests(site: Reconciled, since: str) -> list[Node]:
    """The audited requests of the reconciler for Secrets that began after a moment."""
    log = site.home / "audit.log"
    found = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return [one for one in found if one["user"]["username"] == USER and one["requestReceivedTimestamp"] >= since]


def _asked(site: Reconciled, since: str, *namespaces: str) -> list[tuple[str, str]]:
    """Verb and namespace of each request for Secrets that began after a moment: in some namespaces, "" being all of them, or for lists."""
    requests = [(str(one["verb"]), str(one["objectRef"].get("namespace", ""))) for one in _requests(site, since)]
    return [(verb, where) for verb, where in requests if where in namespaces or verb in ("list", "watch")]


def _secret(site: Reconciled, name: str, text: str, namespace: str = PULLED, **labels: str) -> None:
    data = {".dockerconfigjson": base64.b64encode(text.encode()).decode()}
    metadata = {"name": name, "labels": labels}
    made = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "kubernetes.io/dockerconfigjson", "data": data}
    assert site.plane.request("POST", SECRETS.format(namespace), made).status == 201


def _graph(site: Reconciled, namespace: str, name: str, *, wide: bool = False) -> None:
    main: Node = {"name": "main", "image": "nvcr.io/x:1"}
    component: Node = {"name": "w", "type": "worker", "replicas": 1, "podTemplate": {"spec": {"containers": [main]}}}
    if wide:
        main |= {"command": ["python3", "-m", "dynamo.trtllm"], "resources": {"limits": {"nvidia.com/gpu": "1"}}}
        component["multinode"] = {"nodeCount": 2}
    graph = make("DGD", BETA, namespace, {"components": [component]}, name=name)
    reply = site.plane.request("POST", path_of(graph), graph)
    assert reply.status == 201, reply.body


def _pods(site: Reconciled, namespace: str) -> tuple[int, list[str]]:
    """The generation of the one Deployment, and the pull secrets of its pods."""
    [name] = site.names(DEPLOYMENTS, namespace)
    found = site.get(DEPLOYMENTS, namespace, name)
    named = found["spec"]["template"]["spec"].get("imagePullSecrets", [])
    return found["metadata"]["generation"], [one["name"] for one in named]


def test_without_opting_in_no_secret_is_asked_for(site: Reconciled) -> None:
    since = _run(site)
    _graph(site, "plain", "g")
    site.ready("plain")
    assert _asked(site, since, "plain", "") == []


def test_pods_get_the_pull_secrets_of_the_named_namespace_alone(site: Reconciled) -> None:
    _secret(site, "a", json.dumps({"auths": {"nvcr.io": {"auth": PASSWORD}}}))
    since = _run(site, pull="all", namespaces=[PULLED])
    _graph(site, PULLED, "g")
    site.ready(PULLED)
    generation, names = _pods(site, PULLED)
    assert names == ["a"]
    _secret(site, "b", json.dumps({"auths": {"nvcr.io": {"auth": PASSWORD}}}))
    _secret(site, "bad", "{}")

    def told() -> list[Node]:
        events = site.plane.request("GET", EVENTS.format(PULLED)).body["items"]
        return [one for one in events if one["reason"] == "PullSecretUnreadable"]

    site.until(lambda: bool(told()), "the Event on the Secret")
    assert [one["involvedObject"]["name"] for one in told()] == ["bad"]
    assert _pods(site, PULLED) == (generation, ["a"])
    assert site.plane.request("DELETE", f"{SECRETS.format(PULLED)}/a").status == 200
    site.until(lambda: _pods(site, PULLED)[1] == ["b"], "the pods without the deleted Secret")
    assert set(_asked(site, since, PULLED, "")) == {("list", PULLED), ("watch", PULLED)}
    logs = "".join(file.read_text() for file in site.home.glob("reconciler-*.log"))
    assert logs
    assert PASSWORD not in logs


def test_only_secrets_with_the_label_are_asked_for(site: Reconciled) -> None:
    for name, labels in (("plain", {}), ("marked", {PULL_SECRET: "true"})):
        _secret(site, name, json.dumps({"auths": {"nvcr.io": {"auth": PASSWORD}}}), MARKED, **labels)
    since = _run(site, pull="labelled", namespaces=[MARKED])
    _graph(site, MARKED, "g")
    site.ready(MARKED)
    assert _pods(site, MARKED)[1] == ["marked"]
    queries = [parse_qs(urlsplit(one["requestURI"]).query) for one in _requests(site, since) if one["verb"] in ("list", "watch")]
    assert queries
    assert [one for one in queries if one.get("labelSelector") != [f"{PULL_SECRET}=true"]] == []


def test_pods_get_the_recorded_pull_secrets(site: Reconciled) -> None:
    refused = []
    _stop(site)  # what another one renders without these Secrets would stay so
    for namespace, case in RECORDED.items():
        component = {**case["object"], "metadata": {"name": "g-worker", "labels": case["object"]["metadata"]["labels"]}}
        assert site.plane.request("POST", COMPONENTS.format(namespace), component).status == 201
        for secret in case.get("others", ()):
            where = {"demo": namespace}.get(secret["metadata"]["namespace"], "other")
            made = {**secret, "metadata": {"name": secret["metadata"]["name"]}}
            refused += [case["id"]] * (site.plane.request("POST", SECRETS.format(where), made).status == 422)
    assert refused == ["ps-broken"]  # text that is no JSON comes into no cluster
    _run(site, pull="all", namespaces=[*RECORDED])
    site.until(lambda: all(site.names(DEPLOYMENTS, namespace) for namespace in RECORDED), "the Deployments")
    for namespace, case in RECORDED.items():
        [recorded] = [one for one in case["expect"] if one["kind"] == "Deployment"]
        wanted = [one["name"] for one in recorded["spec"]["template"]["spec"].get("imagePullSecrets", [])]
        assert (_pods(site, namespace)[1] != wanted) == (case["id"] in DIFFERENT), (case["id"], wanted)


def test_ten_graphs_at_once_share_one_pair_of_keys_that_is_never_written_again(site: Reconciled) -> None:
    since = _run(site)
    for number in range(10):
        _graph(site, "shared", f"g{number}", wide=True)

    def keys(namespace: str) -> Node:
        reply = site.plane.request("GET", f"{SECRETS.format(namespace)}/mpi-run-ssh-secret")
        found: Node = reply.body if reply.status == 200 else {}
        return found

    site.until(lambda: bool(keys("shared")), "the copy of the keys")
    site.until(lambda: all(site.state("shared", f"g{number}") for number in range(10)), "all graphs being looked at")
    assert site.names(SECRETS, "shared") == {"mpi-run-ssh-secret"}
    assert keys("shared")["data"] == keys(NAMESPACE)["data"]
    assert "ownerReferences" not in keys("shared")["metadata"]
    assert {verb for verb, _ in _asked(site, since, "shared", NAMESPACE)} == {"get", "create"}
    texts = [str(site.get(GRAPHS, "shared", f"g{number}")["status"]) for number in range(10)]
    assert not [text for text in texts if "Secret" in text]


def test_a_graph_s_own_keys_go_with_it(site: Reconciled) -> None:
    _run(site, mpiKeys="perGraph")
    for name in ("a", "b"):
        _graph(site, "own", name, wide=True)
    site.until(lambda: site.names(SECRETS, "own") == {"a-mpi-ssh", "b-mpi-ssh"}, "the keys of both graphs")
    found = [site.get(SECRETS, "own", f"{name}-mpi-ssh") for name in ("a", "b")]
    assert found[0]["data"]["private.key"] != found[1]["data"]["private.key"]
    assert [one["metadata"]["ownerReferences"][0]["name"] for one in found] == ["a", "b"]
    assert site.plane.request("DELETE", f"{GRAPHS.format('own')}/a").status == 200
    site.until(lambda: site.names(SECRETS, "own") == {"b-mpi-ssh"}, "the keys of the deleted graph being collected")
    assert site.get(SECRETS, "own", "b-mpi-ssh")["data"] == found[1]["data"]
