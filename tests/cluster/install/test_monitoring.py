"""Monitoring beside an installation: the components and the chart's values come to the same, apply, and grant two reviews and no more."""

import contextlib
import http.client
import json
import re
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.cluster.admission import COMMAND
from tests.cluster.assets.build import release_of
from tests.cluster.harness import ADMIN, TOKENS, USER, ControlPlane
from tests.cluster.install.grants import EVERYWHERE, GRANTS, PROTECTED
from tests.cluster.install.test_rbac import NAMESPACE, granted
from tests.cluster.planes import Planes
from tests.cluster.processes import Process, running, wait_until
from tests.cluster.rendering import CHART, MANIFESTS, RELEASE, Node, charted, composed, helm, kustomized, of_kind, restricted, settings

VALUES: Final = (
    "metricsService.enabled=true",
    "metricsService.secure=true",
    "monitoring.dashboard.enabled=true",
    "monitoring.rules.enabled=true",
)
COMPONENTS: Final = ("components/service-monitor", "monitoring", "monitoring/protected")
ANYWHERE: Final = "127.0.0.1:0"
HELMS: Final = {"app.kubernetes.io/instance"}  # what tells releases apart in a selector


@pytest.fixture(scope="module")
def overlay(tmp_path_factory: pytest.TempPathFactory) -> list[Node]:
    """An overlay of one's own with all components."""
    return composed(tmp_path_factory.mktemp("monitoring"), "self-signed", *COMPONENTS)


@pytest.fixture(scope="module")
def release() -> list[Node]:
    """The chart where the Prometheus operator's kinds are served."""
    known = ("--kube-version", release_of(), "--api-versions", "monitoring.coreos.com/v1")
    done = helm("template", RELEASE, str(CHART), "-n", NAMESPACE, *known, *settings(VALUES))
    assert done.returncode == 0, done.stderr
    return [obj for obj in yaml.safe_load_all(done.stdout) if obj]


def _named(objects: list[Node]) -> dict[tuple[str, str], Node]:
    return {(each["kind"], each["metadata"]["name"]): each for each in objects}


def _bare(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _bare(each) for name, each in value.items() if name not in HELMS}
    return [_bare(each) for each in value] if isinstance(value, list) else value


def test_both_come_to_the_same_objects(overlay: list[Node], release: list[Node]) -> None:
    ours, theirs = _named(overlay), _named(release)
    assert ours.keys() == theirs.keys()
    added = ours.keys() - _named(kustomized(MANIFESTS / "overlays" / "self-signed")).keys()
    assert {kind for kind, _ in added} == {"Service", "ServiceMonitor", "PrometheusRule", "ConfigMap", "ClusterRole", "ClusterRoleBinding"}
    for name in added:
        for part in ("spec", "rules", "roleRef", "subjects"):
            assert _bare(theirs[name].get(part)) == ours[name].get(part), name
    dashboards = [json.loads(each["ConfigMap", "dynamo-webhooks-dashboard"]["data"]["dynamo-webhooks.json"]) for each in (ours, theirs)]
    assert dashboards[0] == dashboards[1]
    for each in (ours, theirs):
        assert each["ConfigMap", "dynamo-webhooks-dashboard"]["metadata"]["labels"]["grafana_dashboard"] == "1"


def test_all_processes_protect_their_metrics_and_the_monitor_asks_with_its_token(overlay: list[Node], release: list[Node]) -> None:
    variables = [{"name": "DYNAMO_WEBHOOKS_METRICS_SECURE", "value": "true"}]
    for deployment in of_kind(overlay, "Deployment"):
        [container] = deployment["spec"]["template"]["spec"]["containers"]
        assert [each for each in container["env"] if each["name"] == variables[0]["name"]] == variables
    [text] = [each["data"]["config.yaml"] for each in of_kind(release, "ConfigMap") if each["metadata"]["name"] == f"{RELEASE}-config"]
    assert yaml.safe_load(text)["server"]["metrics"]["secure"] is True
    [monitor] = of_kind(overlay, "ServiceMonitor")
    [endpoint] = monitor["spec"]["endpoints"]
    assert (endpoint["scheme"], endpoint["tlsConfig"]) == ("https", {"insecureSkipVerify": True})
    assert endpoint["bearerTokenFile"].endswith("/serviceaccount/token")


@pytest.mark.parametrize("source", ["overlay", "release"])
def test_protection_grants_two_reviews_to_each_and_no_more(source: str, request: pytest.FixtureRequest) -> None:
    expected = {(each.account, each.where, each.group, each.resource, each.name): set(each.verbs) for each in (*GRANTS, *PROTECTED)}
    assert granted(request.getfixturevalue(source), NAMESPACE) == expected


def test_without_a_reconciler_nothing_is_granted_to_it() -> None:
    objects = charted(NAMESPACE, "metricsService.secure=true", "reconciler.enabled=false")
    [binding] = [each for each in of_kind(objects, "ClusterRoleBinding") if "metrics" in each["metadata"]["name"]]
    assert [subject["name"] for subject in binding["subjects"]] == [f"{RELEASE}-server", f"{RELEASE}-provisioner"]


def test_beside_an_installation_for_one_namespace_it_is_all_about_that_namespace(tmp_path: Path) -> None:
    objects = composed(tmp_path, "namespaced", *COMPONENTS)
    elsewhere = [each["metadata"] for each in objects if each["metadata"].get("namespace", "dynamo-restricted") != "dynamo-restricted"]
    assert not elsewhere
    for each in ("server", "provisioner", "reconciler"):
        assert granted(objects, "dynamo-restricted")[each, EVERYWHERE, "authentication.k8s.io", "tokenreviews", ""] == {"create"}
    # or it would take the binding of an installation for the cluster
    ours = {each["metadata"]["name"]: each for each in of_kind(objects, "ClusterRole", "ClusterRoleBinding")}
    assert {name for name in ours if not name.endswith("-dynamo-restricted")} == set()
    [binding] = [each for each in of_kind(objects, "ClusterRoleBinding") if "metrics" in each["metadata"]["name"]]
    reviews = "dynamo-webhooks-metrics-reviews-dynamo-restricted"
    assert (binding["metadata"]["name"], binding["roleRef"]["name"]) == (reviews, reviews)
    chart = charted("dynamo-restricted", "metricsService.secure=true", "namespaceRestriction.enabled=true")
    named = [{name for kind, name in _named(each) if "metrics" in name and kind.startswith("Cluster")} for each in (objects, chart)]
    assert named == [{reviews, reviews.replace("reviews", "reader")}] * 2


def test_a_monitor_is_there_where_it_is_asked_for_without_a_cluster_and_nothing_unasked() -> None:
    objects = charted(NAMESPACE, "metricsService.enabled=true", "metricsService.monitor=true", "monitoring.rules.enabled=true")
    assert {each["kind"] for each in of_kind(objects, "ServiceMonitor", "PrometheusRule")} == {"ServiceMonitor", "PrometheusRule"}
    assert of_kind(charted(NAMESPACE, "metricsService.enabled=true"), "ServiceMonitor") == []
    names = {each["metadata"]["name"] for each in charted(NAMESPACE)}
    assert not {name for name in names if "metrics" in name or "dashboard" in name}


def test_labels_that_a_rule_selector_asks_for_are_set(tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    values.write_text("monitoring: {rules: {enabled: true, labels: {release: prometheus}}}")
    done = helm("template", RELEASE, str(CHART), "-n", NAMESPACE, "--kube-version", release_of(), "-f", str(values))
    [rule] = of_kind([obj for obj in yaml.safe_load_all(done.stdout) if obj], "PrometheusRule")
    assert rule["metadata"]["labels"]["release"] == "prometheus"
    assert "{{ $labels.pod }}" in json.dumps(rule["spec"]), "words in braces are Prometheus's"


@contextlib.contextmanager
def _reading(plane: ControlPlane, home: Path, command: str) -> Iterator[Callable[[str], int]]:
    """Runs a process as its pod would, with nothing but its account's rights; tells the status of a scrape with a token."""
    account = f"dynamo-webhooks-{'provisioner' if command == 'provision' else 'reconciler'}"
    file = plane.kubeconfig_of(account, NAMESPACE, home / f"{command}.kubeconfig")
    flags = {"--config": MANIFESTS / "base" / "config.yaml", "--kubeconfig": file, "--probe-listen": ANYWHERE, "--metrics-listen": ANYWHERE}
    words: list[str | Path] = [COMMAND, command, *(str(part) for flag in flags.items() for part in flag)]
    environment = {"POD_NAMESPACE": NAMESPACE, "POD_NAME": command, "DYNAMO_WEBHOOKS_METRICS_SECURE": "true"}
    with running(Process(command, words, home / f"{command}.log", environment)) as process:
        match = wait_until(lambda: re.search(r"^metrics https://(\S+)$", process.text(), re.MULTILINE), "its address", process)

        def status(token: str) -> int:
            context = ssl._create_unverified_context()  # noqa: S323 - as the monitor's insecureSkipVerify
            with contextlib.closing(http.client.HTTPSConnection(match[1], context=context, timeout=60)) as connection:
                connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {token}"} if token else {})
                return connection.getresponse().status

        def settled(token: str) -> int:
            """Not 503: a slow API server is asked again."""
            return wait_until(lambda: (code := status(token)) != 503 and code, "a decision", process)

        wait_until(lambda: status(TOKENS[ADMIN][0]) == 200, "an admin's scrape", process)
        yield settled


def test_both_processes_ask_with_their_own_rights_who_reads(planes: Planes, tmp_path: Path, overlay: list[Node]) -> None:
    with planes.lend() as plane:
        plane.apply(restricted(NAMESPACE))
        plane.apply(*of_kind(overlay, "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"))
        for command in ("provision", "reconcile"):
            with _reading(plane, tmp_path, command) as settled:
                assert [settled(token) for token in (TOKENS[USER][0], "", "of-nobody")] == [403, 401, 403]
