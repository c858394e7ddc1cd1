"""Worked examples of admission that no other cluster test has, with profile `current`.

One plane serves both versions. One server of ours converts for it and judges its writes, each version at its own path, so that findings
speak as the author does. Namespaces of other labels are judged at the older version's paths alone, as the Go operator's chart registers
them, or by a server that can't read cluster topologies. Where the Go operator differs, the test names the row of
docs/differences.md.
"""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pytest

from dynamo_webhooks.api.crd import build as crd
from dynamo_webhooks.api.kinds import ALPHA, BETA
from tests.cluster.admission import FACTS, SELECTED, Admission, register, serving, wait_until_all_are_asked, wait_until_asked
from tests.cluster.conversion import Converter, converting_plane
from tests.cluster.objects import DISCOVERY, ORIGIN, graph, make, path_of, request
from tests.cluster.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cluster.harness import ControlPlane, Reply

Node: TypeAlias = dict[str, Any]
MERGE: Final = "application/merge-patch+json"
# Namespaces with this label are judged at the paths that the harness registers, where the API server converts for them.
EQUIVALENT: Final = {"dynamo-webhooks.test/admission": "equivalent"}
# Namespaces with this label are judged by the server that can't read cluster topologies.
BLIND: Final = {"dynamo-webhooks.test/admission": "blind"}
# Webhooks that are registered for the version that the harness names and no other.
ONE_VERSION: Final = ("vdynamocheckpoint", "vdynamomodel", "mdynamocomponentdeploymentv1beta1")
GPU: Final = "nvidia.com/gpu"
TOPOLOGY: Final[Node] = {"topologyProfile": "absent", "packDomain": "zone"}


@pytest.fixture(scope="module")
def both(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ControlPlane, Converter, Admission]]:
    """The plane, and our server in both of its roles."""
    with converting_plane(assets, tmp_path_factory.mktemp("worked")) as (plane, converter):
        plane.install(crd("DynamoModel"))  # what the harness asks about to see whether the webhooks are asked
        client = converter.stanza()["webhook"]["clientConfig"]
        ours = Admission(converter.process, client["url"].removesuffix("/convert"), base64.b64decode(client["caBundle"]))
        plane.apply(*_exact(ours))
        wait_until_all_are_asked(plane, ours, plane.namespace(SELECTED))
        register(plane, ours, "equivalent", EQUIVALENT)
        yield plane, converter, ours


def _exact(ours: Admission) -> list[Node]:
    """The configurations of the harness with every version at its own path; the component's name is a default of the newer alone."""
    configurations = ours.configurations("exact", SELECTED)
    for configuration in configurations:
        configuration["webhooks"] = [one for entry in configuration["webhooks"] for one in _versions(entry)]
    return configurations


def _versions(entry: Node) -> Iterator[Node]:
    [rule], client, short = entry["rules"], entry["clientConfig"], entry["name"].partition(".")[0]
    [was] = rule["apiVersions"]
    kept = [was] if short in ONE_VERSION else [ALPHA, BETA]
    for version in kept:
        placed = {**client, "url": client["url"].replace(f"-{was}-", f"-{version}-")}
        changed = {"name": f"{version}.{entry['name']}", "matchPolicy": "Exact", "clientConfig": placed}
        yield {**entry, **changed, "rules": [{**rule, "apiVersions": [version]}]}


@pytest.fixture
def plane(both: tuple[ControlPlane, Converter, Admission]) -> ControlPlane:
    return both[0]


@pytest.fixture
def judged(plane: ControlPlane) -> str:
    """A new namespace in which our webhooks are asked."""
    return plane.namespace(SELECTED)


@pytest.fixture
def unread(plane: ControlPlane, tmp_path: Path) -> Iterator[str]:
    """A namespace that the server without cluster topologies judges."""
    with serving(tmp_path, {**FACTS, "clusterTopologies": None}) as blind:
        register(plane, blind, "blind", BLIND)
        yield plane.namespace(BLIND)


@pytest.fixture
def unconverted(both: tuple[ControlPlane, Converter, Admission]) -> Iterator[ControlPlane]:
    """The plane while nothing converts graphs; afterwards our server does again."""
    plane, converter, _ = both
    stored = _stored(plane, graph(plane.namespace()))
    path = path_of({**stored, "apiVersion": f"nvidia.com/{BETA}"}, named=True)

    def converted() -> bool:
        return "components" in plane.request("GET", path).body.get("spec", {})

    plane.install(crd("DynamoGraphDeployment"))
    try:
        wait_until(lambda: not converted(), "graphs being left unconverted", plane.server)
        yield plane
    finally:
        plane.install(crd("DynamoGraphDeployment", conversion=converter.stanza()))
        wait_until(converted, "graphs being converted again", plane.server)


def _components(namespace: str, *components: Node, **metadata: Any) -> Node:
    """A graph in v1beta1."""
    return make("DGD", BETA, namespace, {"components": list(components)}, **metadata)


def _worker(experimental: Node, gpus: Node | None = None) -> Node:
    """A component `w` of v1beta1 with one GPU unless told otherwise."""
    main = {"name": "main", "image": "example", "resources": {"limits": {GPU: "1"} if gpus is None else gpus}}
    return {"name": "w", "type": "worker", "experimental": experimental, "podTemplate": {"spec": {"containers": [main]}}}


def _create(plane: ControlPlane, obj: Node, query: str = "") -> Reply:
    return plane.request("POST", path_of(obj) + query, obj)


def _stored(plane: ControlPlane, obj: Node) -> Node:
    reply = _create(plane, obj)
    assert reply.status == 201, reply.body
    return reply.body


def _patch(plane: ControlPlane, obj: Node, change: Node, subresource: str = "") -> Reply:
    return plane.request("PATCH", path_of(obj, named=True) + subresource, change, kind=MERGE)


def _rules(reply: Reply) -> set[str]:
    """The names of our rules among the causes; schema causes carry none."""
    causes = (reply.body.get("details") or {}).get("causes", [])
    return {name for cause in causes for name in re.findall(r"\[([a-z0-9-]+)\]$", cause["message"])}


def _fields(reply: Reply) -> set[str]:
    return {field for field, _ in reply.causes()}


def _by_schema(reply: Reply, field: str) -> None:
    """Asserts that the schema refused the field, and that nobody else did."""
    assert (reply.status, reply.body.get("reason")) == (422, "Invalid"), reply.body
    assert field in _fields(reply), reply.body
    assert "admission webhook" not in reply.body["message"]


def _by_rule(reply: Reply, *rules: str) -> None:
    """Asserts that exactly these rules refused."""
    assert (reply.status, _rules(reply)) == (422, set(rules)), reply.body


@pytest.mark.parametrize("labels", [pytest.param(SELECTED, id="exact"), pytest.param(EQUIVALENT, id="equivalent")])
def test_e2_a_newer_graph_gets_the_same_defaults(plane: ControlPlane, labels: dict[str, str]) -> None:
    stored = _stored(plane, _components(plane.namespace(labels), {"name": "a"}))
    assert stored["spec"]["components"] == [{"name": "a", "replicas": 1}]
    assert stored["metadata"]["annotations"] == {ORIGIN: FACTS["operatorVersion"]}


def test_e6_a_generated_name_is_no_name_yet(plane: ControlPlane, judged: str) -> None:
    """Q-45: nothing is copied, and a name that is absent, unlike an empty one, is none that the schema could refuse."""
    stored = _stored(plane, make("DCD", BETA, judged, {}, generateName="t-"))
    assert stored["metadata"]["name"].startswith("t-")
    assert stored["spec"] == {}
    _by_schema(_create(plane, make("DCD", BETA, judged, {"name": ""}, generateName="t-")), "spec.name")


def test_e10_a_request_without_its_required_fields_is_refused(plane: ControlPlane, judged: str) -> None:
    """Q-33: nothing is invented."""
    reply = _create(plane, make("DGDR", ALPHA, judged, {}))
    _by_schema(reply, "spec.model")


def test_e11_an_update_may_not_bring_in_what_a_creation_may_not(plane: ControlPlane, judged: str) -> None:
    """Q-30."""
    stored = _stored(plane, request(judged))
    assert _patch(plane, stored, {"status": {"phase": "Ready"}}, "/status").status == 200
    _by_rule(_patch(plane, stored, {"spec": {"searchStrategy": "thorough"}}), "dgdr-thorough-needs-backend")


@pytest.fixture
def profiling(plane: ControlPlane, judged: str) -> Node:
    """A request in v1alpha1 that is being worked on."""
    config = {"profilerImage": "i", "config": {"sla": {"ttft": 200}}}
    stored = _stored(plane, make("DGDR", ALPHA, judged, {"model": "m", "backend": "vllm", "profilingConfig": config}))
    newer = {**stored, "apiVersion": f"nvidia.com/{BETA}"}
    assert _patch(plane, newer, {"status": {"phase": "Profiling"}}, "/status").status == 200
    return stored


def test_e12_what_only_the_older_version_says_stays_editable(plane: ControlPlane, profiling: Node) -> None:
    """Q-31, kept: it lies in annotations, and the lock is on the spec."""
    reply = _patch(plane, profiling, {"spec": {"profilingConfig": {"outputPVC": "claim"}}})
    assert reply.status == 200, reply.body
    assert reply.body["spec"]["profilingConfig"]["outputPVC"] == "claim"


def test_e13_the_spec_is_locked_in_the_older_version_too(plane: ControlPlane, profiling: Node) -> None:
    reply = _patch(plane, profiling, {"spec": {"profilingConfig": {"config": {"sla": {"ttft": 100}}}}})
    _by_rule(reply, "dgdr-spec-locked")


def test_e16_a_null_service_of_an_annotation_is_no_fault(plane: ControlPlane, judged: str) -> None:
    """Q-04: 500 in 1.2. What is kept for a component that is there has nothing to add; what has no component is named."""
    kept = {name: {"nvidia.com/dgd-spec": json.dumps({"services": {name: None}})} for name in ("a", "b")}
    reply = _create(plane, _components(judged, {"name": "a"}, annotations=kept["b"]))
    _by_rule(reply, "service-null")
    assert any("[b]" in field for field in _fields(reply)), reply.body
    stored = _stored(plane, _components(judged, {"name": "a"}, annotations=kept["a"]))
    assert stored["spec"]["components"] == [{"name": "a", "replicas": 1}]


@pytest.mark.parametrize(
    "gpus",
    [
        pytest.param({GPU: "1000m"}, id="thousandths"),
        pytest.param({GPU: "1k"}, id="thousand"),
        pytest.param({"nvidia.com/mig-1g.5gb": "1"}, id="mig"),
    ],
)
def test_e19_gpus_are_counted_as_quantities_of_any_name(plane: ControlPlane, judged: str, gpus: Node) -> None:
    """Q-12, Q-13."""
    reply = _create(plane, _components(judged, _worker({"gpuMemoryService": {}}, gpus)))
    assert reply.status == 201, reply.body


def test_e19_no_gpu_is_still_refused(plane: ControlPlane, judged: str) -> None:
    _by_rule(_create(plane, _components(judged, _worker({"gpuMemoryService": {}}, {}))), "gms-requires-gpu")


def test_e20_failover_needs_the_discovery_mode(plane: ControlPlane, judged: str) -> None:
    """The finding is where the author of the newer version writes."""
    reply = _create(plane, _components(judged, _worker({"gpuMemoryService": {}, "failover": {}})))
    _by_rule(reply, "failover-intrapod-discovery-mode")
    assert _fields(reply) == {f"metadata.annotations[{DISCOVERY}]"}
    assert "services" not in reply.body["message"]
    assert "intraPod" not in reply.body["message"]


_EPP: Final[Node] = {"type": "epp", "eppConfig": {"configMapRef": {"name": "c", "key": "k"}}}
# Refused by the schema of v1beta1, and a field among the causes.
REFUSED: Final = [
    pytest.param(
        [_worker({"gpuMemoryService": {}, "failover": {"numShadows": 2}})],
        "spec.components[0].experimental.failover.numShadows",
        id="shadows",
    ),
    pytest.param(
        [_worker({"gpuMemoryService": {"mode": "InterPod", "extraClientContainers": ["a"]}})],
        "spec.components[0].experimental.gpuMemoryService",
        id="containers-between-pods",
    ),
    pytest.param([{"name": "w"}, {"name": "W"}], "spec.components", id="names-that-differ-in-case"),
    pytest.param([{"name": "a", **_EPP}, {"name": "b", **_EPP}], "spec.components", id="two-endpoint-pickers"),
    pytest.param([{"name": f"c{index}"} for index in range(26)], "spec.components", id="26-components"),
    pytest.param([{"name": "a.b"}], "spec.components[0].name", id="dotted-name"),
    pytest.param([{"name": "w", "type": "worker", "eppConfig": _EPP["eppConfig"]}], "spec.components[0]", id="configuration-of-no-picker"),
    pytest.param(
        [{"name": "w", "podTemplate": {"spec": {"nodeSelector": {"a": "b"}}}}],
        "spec.components[0].podTemplate.spec.containers",
        id="template-without-containers",
    ),
]


@pytest.mark.parametrize(("components", "field"), REFUSED)
def test_the_newer_schema_refuses(plane: ControlPlane, judged: str, components: list[Node], field: str) -> None:
    reply = _create(plane, _components(judged, *components))
    _by_schema(reply, field)


def test_e27_an_explicit_empty_list_of_containers_is_kept(plane: ControlPlane, judged: str) -> None:
    """Q-42: 1.2 turned it into a null, which the schema refused."""
    template: Node = {"spec": {"containers": []}}
    stored = _stored(plane, _components(judged, {"name": "w", "podTemplate": template}))
    assert stored["spec"]["components"][0]["podTemplate"] == template


def test_e29_an_older_spelling_is_refused_everywhere_in_the_newer_version(plane: ControlPlane, judged: str) -> None:
    """Q-44: on creation of a graph too."""
    older = _worker({"gpuMemoryService": {"mode": "intraPod"}})
    stored = _stored(plane, _components(judged, _worker({"gpuMemoryService": {"mode": "IntraPod"}}), name="valid"))
    field = "experimental.gpuMemoryService.mode"
    _by_schema(_create(plane, _components(judged, older)), f"spec.components[0].{field}")
    _by_schema(_patch(plane, stored, {"spec": {"components": [older]}}), f"spec.components[0].{field}")
    _by_schema(_create(plane, make("DCD", BETA, judged, older)), f"spec.{field}")


def test_e32_an_unknown_topology_is_refused_in_a_dry_run_too(plane: ControlPlane, judged: str) -> None:
    obj = graph(judged, spec={"topologyConstraint": TOPOLOGY})
    real, dry = _create(plane, obj), _create(plane, obj, "?dryRun=All")
    _by_rule(real, "topology-cluster-not-found")
    assert dry.body == real.body


def test_e33_topologies_that_cannot_be_read_refuse(plane: ControlPlane, unread: str) -> None:
    reply = _create(plane, graph(unread, spec={"topologyConstraint": TOPOLOGY}))
    _by_rule(reply, "topology-cluster-unreadable")


def test_e34_a_label_is_allowed_when_the_topology_is_gone(
    both: tuple[ControlPlane, Converter, Admission],
) -> None:
    """Q-06: the graph was stored while nobody judged its namespace; its generation is 1, and a new one like it is refused."""
    plane, _, ours = both
    namespace = plane.namespace()
    stored = _stored(plane, graph(namespace, spec={"topologyConstraint": TOPOLOGY}))
    label = plane.request("PATCH", f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": SELECTED}}, kind=MERGE)
    assert label.status == 200, label.body
    wait_until_asked(plane, ours, namespace)
    assert stored["metadata"]["generation"] == 1
    _by_rule(_create(plane, graph(namespace, spec={"topologyConstraint": TOPOLOGY}, name="u")), "topology-cluster-not-found")
    assert _patch(plane, stored, {"metadata": {"labels": {"team": "a"}}}).status == 200


def test_e38_a_renamed_component_is_refused_in_the_words_of_the_newer_version(plane: ControlPlane, judged: str) -> None:
    stored = _stored(plane, _components(judged, {"name": "a"}))
    reply = _patch(plane, stored, {"spec": {"components": [{"name": "b"}]}})
    _by_rule(reply, "dgd-service-set-immutable")
    assert _fields(reply) == {"spec.components"}
    assert "spec.services" not in reply.body["message"]


def test_e38_a_backend_that_is_set_later_is_refused_with_a_warning(plane: ControlPlane, judged: str) -> None:
    stored = _stored(plane, _components(judged, {"name": "a"}))
    reply = _patch(plane, stored, {"spec": {"backendFramework": "vllm"}})
    _by_rule(reply, "dgd-backend-immutable")
    assert _fields(reply) == {"spec.backendFramework"}
    assert any("warn-backend-framework-change" in text for text in reply.warnings), reply.warnings


SIDECARS: Final = [
    pytest.param({"name": "w", "frontendSidecar": "nope"}, id="unknown-sidecar"),
    pytest.param(
        {"name": "w", "podTemplate": {"spec": {"containers": [{"name": "main", "image": "example"}, {"name": "side"}]}}},
        id="sidecar-without-image",
    ),
]


@pytest.mark.parametrize("component", SIDECARS)
def test_e43_sidecars_are_admitted_as_before(plane: ControlPlane, judged: str, component: Node) -> None:
    """G-03, G-04, kept."""
    stored = _stored(plane, _components(judged, component))
    assert stored["spec"]["components"] == [{**component, "replicas": 1}]


def test_e45_graphs_that_nobody_converts_are_refused(unconverted: ControlPlane) -> None:
    """Q-39: the data of the newer version reach the older version's webhook, which finds no services."""
    namespace = unconverted.namespace(EQUIVALENT)
    _by_rule(_create(unconverted, _components(namespace, {"name": "a"})), "dgd-services-required")
