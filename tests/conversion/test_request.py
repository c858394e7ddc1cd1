"""Requests: worked examples (tests/conversion/worked), starred ones with the better result, and the rules between them."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from dynamo_webhooks.api.paths import lookup
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.request import REQUEST
from tests.conversion.objects import away, made

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


def meant(value: Any) -> Any:
    """The value without the empty members that typed encoders write or leave out at will; a switched-off switch is no such member."""
    if isinstance(value, dict):
        said = {name: meant(item) for name, item in value.items()}
        return {name: item for name, item in said.items() if item not in (None, "", {}, [])}
    return [meant(item) for item in value] if isinstance(value, list) else value


A = "spec: {model: m, backend: vllm, profilingConfig: {profilerImage: i%s}%s}"
B = "spec: {autoApply: false, backend: vllm, image: i, model: m%s}"

# name, version, input, what it becomes; every one of them comes home exactly
EXAMPLES = [
    (
        "E84 a full blob",
        LEFT,
        "spec: {model: m, backend: vllm, useMocker: true, enableGpuDiscovery: true, autoApply: true, deploymentOverrides: {name: d, "
        "namespace: n, labels: {t: u}}, profilingConfig: {profilerImage: img, outputPVC: out, configMapRef: {name: cm, key: k}, config: "
        "{sla: {ttft: 500, itl: 20, isl: 2048, osl: 512, optimizationType: latency, extra: 1}, deployment: {model: z, modelCache: "
        "{pvcName: p, modelPathInPvc: path, pvcMountPath: /data}}, planner: {a: 1}, other: [1, 2]}}}",
        "spec: {autoApply: true, backend: vllm, features: {mocker: {enabled: true}, planner: {a: 1}}, image: img, model: m, modelCache: "
        "{pvcModelPath: path, pvcMountPath: /data, pvcName: p}, sla: {itl: 20, optimizationType: latency, ttft: 500}, "
        "workload: {isl: 2048, osl: 512}}",
    ),
    (
        "E86 values that can't be projected",
        LEFT,
        A
        % (
            ", config: {sla: {ttft: fast, isl: '1024', osl: null, optimizationType: cost}, deployment: "
            "{modelCache: {pvcName: 1, modelPathInPvc: ''}}, planner: []}",
            "",
        ),
        B % "",
    ),
    ("E87 fractions and overflows stay aside (C-18)", LEFT, A % (", config: {sla: {isl: 100.9, osl: 3000000000}}", ""), B % ""),
    (
        "E88 members beside the model cache (C-17)",
        LEFT,
        A % (", config: {deployment: {z: 1, modelCache: {pvcName: p, mode: rw}}}", ""),
        B % ", modelCache: {pvcName: p}",
    ),
    ("E89 an empty planner", LEFT, A % (", config: {planner: {}}", ""), B % ""),
    ("E90 an empty blob", LEFT, A % (", config: {}", ""), B % ""),
    ("E91 a blob that is no object", LEFT, A % (", config: [1]", ""), B % ""),
    ("E92 both images", LEFT, A % ("", ", deploymentOverrides: {workersImage: w, name: n}"), B % ""),
    (
        "E93 the workers' image alone (C-19)",
        LEFT,
        "spec: {model: m, backend: vllm, deploymentOverrides: {workersImage: w}, profilingConfig: {profilerImage: ''}}",
        "spec: {autoApply: false, backend: vllm, image: w, model: m}",
    ),
    (
        "E95 defaults and a mocker explicitly off (C-20)",
        RIGHT,
        "spec: {model: m, features: {mocker: {enabled: false}}}",
        "spec: {model: m, autoApply: true}",
    ),
    (
        "E96 the job's resources",
        LEFT,
        A
        % (
            ", resources: {limits: {nvidia.com/gpu: '1'}}, tolerations: [{key: k, operator: Exists}], nodeSelector: {a: b}",
            ", enableGpuDiscovery: false",
        ),
        B
        % (
            ", overrides: {profilingJob: {template: {spec: {containers: [{name: '', resources: {limits: {nvidia.com/gpu: '1'}}}], "
            "nodeSelector: {a: b}, tolerations: [{key: k, operator: Exists}]}}}}"
        ),
    ),
    (
        "E97 what only the right side says",
        RIGHT,
        "spec: {model: m, backend: auto, searchStrategy: thorough, hardware: {gpuSku: h100_sxm, totalGpus: 8}, workload: {isl: 1, "
        "concurrency: 4}, sla: {ttft: 9, e2eLatency: 900}, overrides: {dgd: {apiVersion: nvidia.com/v1alpha1, kind: "
        "DynamoGraphDeployment}, profilingJob: {backoffLimit: 2, template: {spec: {serviceAccountName: sa, tolerations: [{key: t}], "
        "containers: [{name: profiler, image: j, resources: {limits: {cpu: '1'}}}, {name: side}]}}}}}",
        "spec: {model: m, backend: auto, profilingConfig: {config: {sla: {isl: 1, ttft: 9}}, resources: {limits: {cpu: '1'}}, "
        "tolerations: [{key: t}]}, autoApply: true}",
    ),
    (
        "E99 a workload without targets (C-20)",
        RIGHT,
        "spec: {model: m, autoApply: true, workload: {isl: 10}}",
        "spec: {model: m, profilingConfig: {config: {sla: {isl: 10}}}, autoApply: true}",
    ),
    (
        "E100 profiling",
        RIGHT,
        "status: {phase: Profiling, profilingPhase: SweepingDecode, profilingJobName: job-1, dgdName: d}",
        "status: {state: Profiling, deployment: {name: d}}",
    ),
    (
        "E101 deployed, with results",
        RIGHT,
        "status: {phase: Deployed, dgdName: d, deploymentInfo: {replicas: 2}, profilingResults: {selectedConfig: {kind: X}, "
        "pareto: [{config: {c: 1}}]}}",
        "status: {state: Ready, generatedDeployment: {kind: X}, deployment: {name: d}}",
    ),
    (
        "E102 ready, with a created deployment",
        LEFT,
        "status: {state: Ready, backend: vllm, profilingResults: configmap/c, deployment: {name: d, namespace: n, state: successful, "
        "created: true}}",
        "status: {dgdName: d, phase: Deployed}",
    ),
    (
        "E103 deleted deployments",
        LEFT,
        "status: {state: DeploymentDeleted, deployment: {name: d, state: '', created: true}}",
        "status: {dgdName: d, phase: Ready}",
    ),
    ("E105 a state without a phase", LEFT, "status: {state: Initializing}", "status: {phase: Pending}"),
    ("C-24 an unknown phase", RIGHT, "status: {phase: '', profilingJobName: j, profilingResults: {}}", "status: {state: Pending}"),
]


@pytest.mark.parametrize(("version", "text", "other"), [pytest.param(*row[1:], id=row[0]) for row in EXAMPLES])
def test_a_worked_example_converts_as_it_says_and_comes_home_exactly(version: str, text: str, other: str) -> None:
    """Each example becomes what it says, invents no part of the object that its input lacks unless it is whole, and comes back."""
    obj = request(version, text)
    there = to(RIGHT if version == LEFT else LEFT, obj)
    wanted = yaml.safe_load(other)
    assert meant({part: there[part] for part in wanted}) == meant(wanted)
    assert to(version, there) == obj


# the same of what is left of a stored request without one manager's fields
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


EDITS = [
    (
        "E85 nothing old comes back",
        LEFT,
        A % (", config: {sla: {ttft: 500, isl: 2048, extra: 1}, deployment: {modelCache: {pvcName: p}}, planner: {a: 1}}", ""),
        {"sla": {"itl": 7}, "workload": None, "modelCache": None, "features": None},
        {"profilingConfig": {"profilerImage": "i", "config": {"sla": {"extra": 1, "itl": 7}}}},
    ),
    (
        "E94 a removed image stays removed (C-19)",
        LEFT,
        A % ("", ", deploymentOverrides: {workersImage: w, name: n}"),
        {"image": None},
        {"profilingConfig": None, "deploymentOverrides": {"name": "n"}},
    ),
    (
        "C-12 a removed model cache doesn't return, what was beside it does",
        LEFT,
        A % (", config: {deployment: {modelCache: {pvcName: p, mode: rw}}}", ""),
        {"modelCache": None},
        {"profilingConfig": {"profilerImage": "i", "config": {"deployment": {"modelCache": {"mode": "rw"}}}}},
    ),
    (
        "E98 the job's edits",
        RIGHT,
        "spec: {model: m, overrides: {profilingJob: {backoffLimit: 2, template: {spec: {tolerations: [{key: t}], containers: "
        "[{name: profiler, resources: {limits: {cpu: '1'}}}]}}}}}",
        {"profilingConfig": {"resources": {"limits": {"cpu": "5"}}}},
        {
            "overrides": {
                "profilingJob": {
                    "backoffLimit": 2,
                    "template": {"spec": {"containers": [{"name": "profiler", "resources": {"limits": {"cpu": "5"}}}]}},
                }
            }
        },
    ),
]


@pytest.mark.parametrize(("version", "text", "edit", "wanted"), [pytest.param(*row[1:], id=row[0]) for row in EDITS])
def test_an_edit_of_the_other_version_wins(version: str, text: str, edit: dict[str, Any], wanted: dict[str, Any]) -> None:
    """What was edited there arrives here, with the stale remainder in place; the next trip brings nothing old back."""
    other = RIGHT if version == LEFT else LEFT
    there = to(other, request(version, text))
    there["spec"] = {name: value for name, value in {**there["spec"], **edit}.items() if value is not None}
    home = to(version, there)
    assert {name: meant(home["spec"].get(name)) for name in wanted} == wanted
    again = to(other, home)
    assert again["spec"] == there["spec"]


def test_a_deployment_is_forgotten_when_the_request_points_at_another_graph() -> None:
    """E104: a remembered state speaks for the deployment that it belonged to, and for no other."""
    there = to(RIGHT, request(LEFT, "status: {state: DeploymentDeleted, deployment: {name: d, state: '', created: true}}"))
    there["status"]["dgdName"] = "e"
    assert to(LEFT, there)["status"] == {"state": "Ready", "deployment": {"name": "e"}}


def test_a_whole_request_says_what_it_means_by_leaving_it_out() -> None:
    """The versions' defaults differ, so the other one is told."""
    there = to(RIGHT, request(LEFT, "spec: {model: m}"))
    assert (there["spec"], there["status"]) == ({"model": "m", "autoApply": False}, {"phase": "Pending"})
    there = to(LEFT, request(RIGHT, "spec: {model: m}"))
    assert (there["spec"], there["status"]) == ({"model": "m", "autoApply": True}, {"state": "Pending"})


@pytest.mark.parametrize(
    ("version", "said"), [(LEFT, ({"autoApply": False}, {"phase": "Pending"})), (RIGHT, ({"autoApply": True}, {"state": "Pending"}))]
)
def test_a_request_that_was_never_stored_is_whole_without_a_model_too(version: str, said: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """A fragment of server-side apply has the uid of what it was taken from; an object without one is somebody's own, and comes home."""
    obj = request(version, "spec: {backend: vllm}")
    other = RIGHT if version == LEFT else LEFT
    there = to(other, obj)
    assert (there["spec"], there["status"]) == ({"backend": "vllm", **said[0]}, said[1])
    assert to(version, there) == obj


@pytest.mark.parametrize("container", ["{name: ''}", "{name: '', resources: {}}", "{name: '', resources: {limits: {}}}", "{name: p}"])
@pytest.mark.parametrize("beside", ["", "backoffLimit: 2, "])
def test_an_empty_container_comes_home(container: str, beside: str) -> None:
    obj = request(RIGHT, f"spec: {{model: m, overrides: {{profilingJob: {{{beside}template: {{spec: {{containers: [{container}]}}}}}}}}}}")
    assert to(RIGHT, to(LEFT, obj)) == obj


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


def test_converted_objects_share_values_and_leave_their_input_alone() -> None:
    """A planner is copied by reference, and the input has the same text afterwards."""
    obj = request(LEFT, A % (", config: {planner: {deep: [1, 2]}, sla: {ttft: 1}}", ""))
    before = repr(obj)
    there = to(RIGHT, obj)
    assert there["spec"]["features"]["planner"] is lookup(obj, ("spec", "profilingConfig", "config", "planner"))
    assert repr(obj) == before


@pytest.mark.parametrize("state", [{"a": 1}, ["Ready"], 3, True])
def test_a_state_that_is_no_text_stops_no_conversion(state: Any) -> None:
    """No schema admits it, and no typed reader would take it: it counts as pending, and what stands beside it comes home."""
    obj = {**request(LEFT, "{}"), "status": {"state": state, "deployment": {"name": "d", "created": True}}}
    assert to(RIGHT, obj)["status"]["phase"] == "Pending"
    assert to(LEFT, to(RIGHT, obj))["status"]["deployment"]["name"] == "d"


def test_a_phase_that_is_written_in_v1alpha1_keeps_the_name_of_the_job() -> None:
    status = {"phase": "Profiling", "profilingPhase": "Sweep", "profilingJobName": "job"}
    right = made("DynamoGraphDeploymentRequest", "v1beta1", {"model": "m"}, status=status)
    left = away(right)
    left["status"]["state"] = "Ready"
    assert away(left)["status"] == {"phase": "Ready", "profilingJobName": "job"}


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
