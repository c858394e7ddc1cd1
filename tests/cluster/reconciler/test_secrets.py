"""Secrets before a real API server, whose audit log says what was asked for: pull secrets where opted in."""

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from dynamo_webhooks.api.kinds import BETA
from dynamo_webhooks.reconciler.common.resources import PULL_SECRET
from tests.cluster.objects import make, path_of
from tests.cluster.reconciling import ACCOUNT, DEPLOYMENTS, NAMESPACE, Reconciled, controllers, installed
from tests.cluster.rendering import charted

Node: TypeAlias = dict[str, Any]
SECRETS: Final = "/api/v1/namespaces/{}/secrets"
PULLED: Final = "pulled"
MARKED: Final = "marked"  # of whose Secrets only those with our label are asked for
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
    f"reconciler.pullSecrets.namespaces={{{PULLED},{MARKED}}}",
)


@pytest.fixture(scope="module")
def site(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reconciled]:
    home = tmp_path_factory.mktemp("secrets")
    (home / "policy.yaml").write_text(json.dumps(POLICY))
    flags = (f"--audit-policy-file={home / 'policy.yaml'}", f"--audit-log-path={home / 'audit.log'}", "--audit-log-mode=blocking")
    namespaces = (PULLED, MARKED, "plain")
    with (
        installed(assets, home, objects=charted(NAMESPACE, *VALUES), namespaces=namespaces, flags=flags) as found,
        controllers(found.plane),
        found.pods,
    ):
        yield found


def _run(site: Reconciled, **secrets: Any) -> str:
    """Starts a reconciler with another section about Secrets in place of the one that runs; gives the moment, as audit logs write it."""
    while site.processes:
        site.kill()
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


def _graph(site: Reconciled, namespace: str, name: str) -> None:
    main: Node = {"name": "main", "image": "nvcr.io/x:1"}
    component: Node = {"name": "w", "type": "worker", "replicas": 1, "podTemplate": {"spec": {"containers": [main]}}}
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
    site.told(PULLED, "bad", ("Warning", "PullSecretUnreadable", ""))
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
