"""Requests: what the worked examples (tests/conversion/worked) don't show."""

from typing import Any

import pytest
import yaml

from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.request import REQUEST
from tests.conversion.objects import away, made
from tests.golden.corpus import compare

LEFT, RIGHT = "v1alpha1", "v1beta1"


def request(version: str, text: str, annotations: dict[str, str] | None = None) -> dict[str, Any]:
    """A request of that version as somebody wrote it; `text` is YAML of its spec and status."""
    metadata: dict[str, Any] = {"name": "r", "namespace": "n"}
    if annotations:
        metadata["annotations"] = {f"nvidia.com/dgdr-{key}": value for key, value in annotations.items()}
    return {"apiVersion": f"nvidia.com/{version}", "kind": "DynamoGraphDeploymentRequest", "metadata": metadata, **yaml.safe_load(text)}


def stored(version: str, text: str) -> dict[str, Any]:
    """A request as an API server has it."""
    obj = request(version, text)
    obj["metadata"]["uid"] = "u"
    return obj


def to(version: str, obj: dict[str, Any]) -> dict[str, Any]:
    return convert(REQUEST, obj, version).object


A = "spec: {model: m, backend: vllm, profilingConfig: {profilerImage: i%s}%s}"

# name, version, what is left of a stored request without one manager's fields, what it becomes
FRAGMENTS = [
    (
        "C-20 and C-23 empty objects",
        RIGHT,
        "spec: {sla: {}, workload: {}, modelCache: {}, features: {planner: {}}, overrides: {profilingJob: {}}}",
        "spec: {}",
    ),
    (
        "C-10 exact integers",
        LEFT,
        "spec: {profilingConfig: {config: {sla: {ttft: 9007199254740993}, big: 9223372036854775807}}}",
        "spec: {sla: {ttft: 9007199254740993}}",
    ),
    ("a fragment says nothing that it doesn't hold", RIGHT, "spec: {autoApply: false}", "spec: {autoApply: false}"),
]


@pytest.mark.parametrize(("version", "text", "other"), [pytest.param(*row[1:], id=row[0]) for row in FRAGMENTS])
def test_a_fragment_says_nothing_that_it_does_not_hold(version: str, text: str, other: str) -> None:
    """It isn't completed, and comes back."""
    obj = stored(version, text)
    there = to(RIGHT if version == LEFT else LEFT, obj)
    assert {part: there[part] for part in ("spec", "status") if part in there} == yaml.safe_load(other)
    assert to(version, there) == obj


def test_a_removed_model_cache_does_not_return_but_what_was_beside_it_does() -> None:
    """C-12: with the stale remainder in place; the next trip brings nothing old back."""
    cache = ", config: {deployment: {modelCache: {pvcName: p, mode: rw}}}"
    there = to(RIGHT, request(LEFT, A % (cache, "")))
    del there["spec"]["modelCache"]
    home = to(LEFT, there)
    assert compare().normalise(home["spec"]["profilingConfig"]) == {
        "profilerImage": "i",
        "config": {"deployment": {"modelCache": {"mode": "rw"}}},
    }
    assert to(RIGHT, home)["spec"] == there["spec"]


def test_an_unknown_phase_is_pending_and_comes_home() -> None:
    """C-24."""
    obj = request(RIGHT, "status: {phase: '', profilingJobName: j, profilingResults: {}}")
    there = to(LEFT, obj)
    assert there["status"] == {"state": "Pending"}
    assert to(RIGHT, there) == obj


@pytest.mark.parametrize("spec", ["model: m", "backend: vllm"])
@pytest.mark.parametrize(
    ("version", "said"), [(LEFT, ({"autoApply": False}, {"phase": "Pending"})), (RIGHT, ({"autoApply": True}, {"state": "Pending"}))]
)
def test_a_request_that_was_never_stored_says_what_it_means_by_leaving_it_out(
    version: str, said: tuple[dict[str, Any], dict[str, Any]], spec: str
) -> None:
    """The versions' defaults differ, so the other one is told; a fragment of server-side apply has the uid of what it was taken from."""
    obj = request(version, f"spec: {{{spec}}}")
    other = RIGHT if version == LEFT else LEFT
    there = to(other, obj)
    assert (there["spec"], there["status"]) == ({**obj["spec"], **said[0]}, said[1])
    assert to(version, there) == obj


PATHS = [
    (RIGHT, ("spec", "sla", "optimizationType"), ("spec", "profilingConfig", "config", "sla", "optimizationType")),
    (RIGHT, ("spec", "sla", "e2eLatency"), None),
    (RIGHT, ("spec", "workload", "isl"), ("spec", "profilingConfig", "config", "sla", "isl")),
    (RIGHT, ("spec", "modelCache", "pvcModelPath"), ("spec", "profilingConfig", "config", "deployment", "modelCache", "modelPathInPvc")),
    (RIGHT, ("spec", "hardware"), None),
    (RIGHT, ("spec", "features", "mocker", "enabled"), ("spec", "useMocker")),
    (
        RIGHT,
        ("spec", "overrides", "profilingJob", "template", "spec", "containers", 0, "resources", "limits", "cpu"),
        ("spec", "profilingConfig", "resources", "limits", "cpu"),
    ),
    (RIGHT, ("status", "phase"), ("status", "state")),
    (RIGHT, ("status", "profilingResults", "selectedConfig", "kind"), ("status", "generatedDeployment", "kind")),
    (LEFT, ("spec", "profilingConfig", "profilerImage"), ("spec", "image")),
    (LEFT, ("spec", "profilingConfig", "config", "sla", "ttft"), ("spec", "sla", "ttft")),
    (LEFT, ("spec", "profilingConfig", "config", "other"), None),
    (LEFT, ("spec", "deploymentOverrides", "workersImage"), ("spec", "image")),
    (LEFT, ("spec", "deploymentOverrides", "name"), None),
    (LEFT, ("status", "deployment", "name"), ("status", "dgdName")),
]


@pytest.mark.parametrize(("version", "path", "wanted"), PATHS)
def test_paths_are_translated_to_the_other_version(version: str, path: tuple[Any, ...], wanted: tuple[Any, ...] | None) -> None:
    """The most exact place of the other version, or None where there is none."""
    struct = REQUEST.spec if path[0] == "spec" else REQUEST.status
    found = struct.to_left(path[1:], {}) if version == RIGHT else struct.to_right(path[1:], {})
    assert (None if found is None else (path[0], *found)) == wanted


def test_the_field_map_names_every_nested_member() -> None:
    """One row for each place; the rows of the profiling lens are those that its coverage is checked with."""
    rows = {(row.left, row.right) for row in REQUEST.spec.rows()}
    assert ("profilingConfig.resources", "overrides.profilingJob.template.spec.containers[0].resources") in rows
    assert ("profilingConfig.outputPVC", "") in rows
    assert ("", "overrides.dgd") in rows


@pytest.mark.parametrize("phase", [None, 1])
def test_a_phase_that_is_no_text_counts_as_pending_beside_a_saved_state(phase: Any) -> None:
    obj = request(RIGHT, "{}", {"status": '{"state":"Profiling","deployment":{"state":"initializing"}}'})
    assert to(LEFT, {**obj, "status": {"phase": phase}})["status"] == {"state": "Pending"}


@pytest.mark.parametrize("phase", ["Pending", "Profiling", "Deploying", "Failed"])
def test_a_phase_that_is_written_in_v1beta1_keeps_what_v1alpha1_says_of_the_deployment(phase: str) -> None:
    status = "status: {state: Ready, deployment: {name: d, namespace: n, state: successful, created: true}}"
    obj = request(LEFT, f"{{spec: {{model: m}}, {status}}}")
    there = to(RIGHT, obj)
    there["status"]["phase"] = phase
    assert to(LEFT, there)["status"] == {"state": phase, "deployment": obj["status"]["deployment"]}
    assert to(RIGHT, to(LEFT, there))["status"] == there["status"]


@pytest.mark.parametrize("state", ["Pending", "Profiling", "Ready", "Deploying", "Failed", "DeploymentDeleted", "Initializing"])
@pytest.mark.parametrize("phase", ["Pending", "Profiling", "Ready", "Deploying", "Deployed", "Failed"])
def test_a_state_that_is_written_in_v1alpha1_erases_nothing_of_v1beta1(phase: str, state: str) -> None:
    """But the phase within profiling, which ends with it."""
    said = {"profilingJobName": "job", "dgdName": "d", "deploymentInfo": {"replicas": 2}, "profilingResults": {"pareto": [{"config": {}}]}}
    left = away(made("DynamoGraphDeploymentRequest", "v1beta1", {"model": "m"}, status={"phase": phase, **said}))
    left["status"]["state"] = state
    assert {name: away(left)["status"][name] for name in said} == said
