"""Requests: what the worked examples (tests/conversion/worked) don't show.

The annotations of operators 1.0 and 1.1 are read where nothing newer speaks, written for them to follow, and gone where they never were.
Of requests as API servers have them, what a schema's defaults say is never kept, and both versions have their own.
"""

import copy
from typing import Any

import orjson
import pytest
import yaml

from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.api.walk.default import default
from dynamo_webhooks.conversion.bounds import MOST, annotation_size
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.legacy import RECORD
from dynamo_webhooks.conversion.remainder import aside_key
from dynamo_webhooks.conversion.request import ALONE, REQUEST, SECTIONS
from dynamo_webhooks.conversion.request_legacy import KEYS
from tests.conversion.objects import away, made
from tests.golden.corpus import compare
from tests.laws.laws import other

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


PREFIX = "nvidia.com/dgdr-"
OLD = {
    "config-map-ref": '{"name":"cm","key":"k"}',
    "deployment-overrides": '{"name":"n"}',
    "deployment-status": '{"name":"d","state":"successful","created":true,"requestState":"DeploymentDeleted"}',
    "enable-gpu-discovery": "true",
    "output-pvc": "o",
    "profiling-config": '{"sla":{"ttft":1,"keep":2}}',
    "profiling-results": "configmap/c",
    "status-backend": "vllm",
}


def older(obj: dict[str, Any]) -> dict[str, Any]:
    """The older annotations of an object, JSON decoded."""
    found = obj["metadata"].get("annotations", {})
    return {key.removeprefix(PREFIX): orjson.loads(text) if text.startswith("{") else text for key, text in found.items() if key in KEYS}


def test_an_object_of_an_old_operator_comes_home_as_it_was() -> None:
    """How it is read, E106 shows: only older annotations; none is lost, and no newer one is left on the object that came home."""
    obj = request(RIGHT, "{spec: {model: m, autoApply: true}, status: {phase: Ready, dgdName: d}}", OLD)
    assert to(RIGHT, to(LEFT, obj)) == obj


def test_older_annotations_that_a_newer_one_silences_are_kept() -> None:
    """How the newer one silences them, E107 shows."""
    texts = {"output-pvc": "o", "spec": '{"version":1,"spec":{"enableGpuDiscovery":false}}', "status-backend": "vllm"}
    there = to(LEFT, request(RIGHT, "{spec: {model: m, autoApply: true}, status: {phase: Ready}}", texts))
    assert older(to(RIGHT, there))["output-pvc"] == "o"


def test_a_damaged_newer_annotation_lets_the_older_ones_speak() -> None:
    """E108: damage is set aside, and is no reason to forget what an older operator wrote."""
    texts = {"spec": "3", "status": "{oops", "status-backend": "vllm", "output-pvc": "o"}
    there = to(LEFT, request(RIGHT, "{spec: {model: m, autoApply: true}, status: {phase: Ready}}", texts))
    assert there["spec"]["profilingConfig"] == {"outputPVC": "o"}
    assert there["status"]["backend"] == "vllm"


def test_the_eight_annotations_are_written_as_the_go_operator_writes_them() -> None:
    """E84 and E102: what an operator 1.1 looks for."""
    obj = request(
        LEFT,
        "{spec: {model: m, enableGpuDiscovery: true, deploymentOverrides: {name: d, workersImage: w}, profilingConfig: {outputPVC: out, "
        "configMapRef: {name: cm, key: k}, config: {sla: {ttft: 5, extra: 1}}}}, status: {state: Ready, backend: vllm, profilingResults: "
        "c, deployment: {name: d, namespace: n, state: successful, created: true}}}",
    )
    assert older(to(RIGHT, obj)) == {
        "enable-gpu-discovery": "true",
        "profiling-config": {"sla": {"ttft": 5, "extra": 1}},
        "config-map-ref": {"name": "cm", "key": "k"},
        "output-pvc": "out",
        "deployment-overrides": {"name": "d"},
        "status-backend": "vllm",
        "profiling-results": "c",
        "deployment-status": {"name": "d", "namespace": "n", "state": "successful", "created": True, "requestState": "Ready"},
    }


def test_annotations_that_were_never_there_are_gone_when_the_object_comes_home() -> None:
    """A request written on the right goes left and back without the annotations that a left one would bring; an edit brings them."""
    obj = request(RIGHT, "{spec: {model: m, sla: {ttft: 9}}, status: {phase: Profiling, profilingJobName: j, dgdName: d}}")
    there = to(LEFT, obj)
    assert older(there) == {"profiling-job-name": "j"}
    assert to(RIGHT, there) == obj
    there["spec"]["profilingConfig"]["config"]["extra"] = 1
    assert older(to(RIGHT, there))["profiling-config"] == {"sla": {"ttft": 9}, "extra": 1}


def test_a_stored_request_remembers_them_apart_from_its_remainder() -> None:
    """So the annotation of the spec is there where the spec needs it, and server-side apply keeps nothing else with it."""
    obj = stored(RIGHT, "spec: {model: m, autoApply: true, searchStrategy: rapid, sla: {ttft: 9}}")
    there = to(LEFT, obj)
    assert list(there["metadata"]["annotations"]) == [RECORD]
    assert to(RIGHT, there) == obj


def test_a_stored_request_is_read_that_an_earlier_build_converted() -> None:
    """It kept in the remainder what has an annotation of its own now."""
    obj = request(RIGHT, "spec: {model: m, autoApply: true, searchStrategy: rapid, sla: {ttft: 9}}")
    there = to(LEFT, obj)
    assert list(there["metadata"]["annotations"]) == ["nvidia.com/dgdr-spec"]
    there["metadata"]["uid"] = obj["metadata"]["uid"] = "u"
    there["spec"] |= ALONE[LEFT]
    there.pop("status")
    assert to(RIGHT, there) == obj


@pytest.mark.parametrize("text", ["{oops", "3", "{}", '{"legacy":[]}', '{"legacy":[["k",3,""]]}', '{"packed":"!","spec":{},"version":1}'])
def test_a_damaged_record_is_set_aside_and_comes_home(text: str) -> None:
    obj = stored(RIGHT, "spec: {model: m, autoApply: true, searchStrategy: rapid, sla: {ttft: 9}}")
    obj["metadata"]["annotations"] = {RECORD: text}
    there = convert(REQUEST, obj, LEFT)
    assert there.damaged == (RECORD,)
    assert there.object["metadata"]["annotations"][aside_key(RECORD)] == text
    assert to(RIGHT, there.object) == obj


def test_a_long_record_is_packed_and_comes_home() -> None:
    obj = stored(RIGHT, "spec: {model: m, autoApply: true, searchStrategy: rapid}")
    obj["metadata"]["annotations"] = {f"{PREFIX}output-pvc": '"' * 200_000}
    obj["metadata"]["annotations"][f"{PREFIX}spec"] = '{"spec":{"deploymentOverrides":{"name":"n"}},"version":1}'
    there = to(LEFT, obj)
    assert annotation_size(there["metadata"]["annotations"]) < MOST
    assert there["metadata"]["annotations"][RECORD].startswith('{"packed":')
    assert to(RIGHT, there) == obj


def test_the_name_of_the_job_from_an_older_operator_wins() -> None:
    """It was written after the newer annotation, which that operator doesn't know."""
    texts = {"profiling-job-name": "new", "status": '{"profilingJobName":"old","profilingPhase":"Done"}'}
    there = to(RIGHT, request(LEFT, "status: {state: Profiling}", texts))
    assert there["status"] == {"phase": "Profiling", "profilingPhase": "Done", "profilingJobName": "new"}


def test_a_restored_annotation_never_says_what_nobody_wrote() -> None:
    """An older annotation that said nothing for want of a spec isn't put back beside the spec that was added since."""
    obj = request(RIGHT, "{}", {"enable-gpu-discovery": "true"})
    there = to(LEFT, obj)
    assert to(RIGHT, there) == obj
    there["spec"] = {"backend": "vllm"}
    home = to(RIGHT, there)
    assert to(LEFT, home)["spec"] == {"backend": "vllm"}


KIND = "DynamoGraphDeploymentRequest"


def decoded(version: str, text: str) -> dict[str, Any]:
    """A stored request with the defaults of its version."""
    obj = stored(version, text)
    default(obj, load_schema(KIND, version))
    return obj


@pytest.mark.parametrize("version", [LEFT, RIGHT])
def test_the_defaults_are_those_of_the_schema(version: str) -> None:
    """Those of members that only one version has, and those below members that v1alpha1 has in its free-form configuration."""
    members = {"spec": {"model": "m", **({section: {} for section in SECTIONS} if version == RIGHT else {})}}
    default(members, load_schema(KIND, version))
    both = {"model": "m", "autoApply": version == RIGHT, **({"backend": "auto", **SECTIONS} if version == RIGHT else {})}
    assert members["spec"] == {**both, **ALONE[version]}


@pytest.mark.parametrize("version", [LEFT, RIGHT])
def test_a_stored_request_has_the_defaults_of_each_version_and_no_annotation(version: str) -> None:
    """Decoding the converted one adds nothing, and it has no status where nobody wrote one."""
    obj = decoded(version, "spec: {model: m, backend: vllm}")
    there = to(other(version), obj)
    assert there["metadata"] == obj["metadata"]
    assert there["spec"] == {"model": "m", "backend": "vllm", "autoApply": obj["spec"]["autoApply"], **ALONE[other(version)]}
    assert "status" not in there
    assert to(version, there) == obj


@pytest.mark.parametrize(
    ("version", "spec"),
    [
        (LEFT, "useMocker: true, enableGpuDiscovery: false"),
        (LEFT, "deploymentOverrides: {name: n}, profilingConfig: {profilerImage: i, outputPVC: c}"),
        (LEFT, "profilingConfig: {config: {sla: {isl: 4000, osl: 1000}}}"),
        (RIGHT, "searchStrategy: thorough, hardware: {totalGpus: 8}, autoApply: false"),
        (RIGHT, "workload: {isl: 3000}, modelCache: {pvcName: c}, features: {mocker: {enabled: false}}"),
    ],
)
def test_what_is_stored_decodes_to_itself_in_both_versions_and_comes_home(version: str, spec: str) -> None:
    """Whatever it says beside the defaults: a read in the other version, decoded there and written again, is the same object."""
    obj = decoded(version, f"spec: {{model: m, backend: vllm, {spec}}}")
    there = to(other(version), obj)
    again = copy.deepcopy(there)
    default(again, load_schema(KIND, other(version)))
    assert again == there
    assert to(version, there) == obj


def test_what_v1beta1_adds_to_a_section_shows_in_v1alpha1() -> None:
    """It is the stored version's default; it is there from the first write on, and nothing of it is remembered."""
    spec = "profilingConfig: {config: {sla: {isl: 3000}, deployment: {modelCache: {pvcName: c}}}}"
    there = to(RIGHT, decoded(LEFT, f"spec: {{model: m, backend: vllm, {spec}}}"))
    assert there["spec"]["workload"] == {"isl": 3000, "osl": 1000}
    assert there["spec"]["modelCache"] == {"pvcName": "c", "pvcMountPath": "/opt/model-cache"}
    home = to(LEFT, there)
    assert home["spec"]["profilingConfig"]["config"] == {
        "sla": {"isl": 3000, "osl": 1000},
        "deployment": {"modelCache": {"pvcName": "c", "pvcMountPath": "/opt/model-cache"}},
    }
    assert to(RIGHT, home) == there


@pytest.mark.parametrize(
    ("version", "spec", "converted"),
    [
        (LEFT, "model: m, useMocker: false", "model: m"),
        (LEFT, "enableGpuDiscovery: true, useMocker: false", ""),
        (LEFT, "model: m, autoApply: true, enableGpuDiscovery: true", "model: m, autoApply: true"),
        (RIGHT, "searchStrategy: rapid, autoApply: true", "autoApply: true"),
    ],
)
def test_a_fragment_keeps_no_default_that_its_version_has_alone(version: str, spec: str, converted: str) -> None:
    """Kept, it would hold a place in the annotation, and with it what others took away; the API server writes it again."""
    obj = stored(version, f"spec: {{{spec}}}")
    wanted = stored(other(version), f"spec: {{{converted}}}")
    assert to(other(version), obj) == wanted
    assert to(version, wanted) == stored(version, f"spec: {{{converted}}}")


@pytest.mark.parametrize("version", [LEFT, RIGHT])
def test_a_fragment_without_metadata_is_one_too(version: str) -> None:
    """Server-side apply takes all metadata from it where the manifest says labels."""
    obj = {**stored(version, "spec: {model: m, backend: vllm}"), "metadata": {}}
    assert to(other(version), obj)["spec"] == obj["spec"]
    assert to(version, to(other(version), obj)) == obj


def test_a_fragment_without_a_spec_says_nothing_of_that() -> None:
    """What its annotation says is a spec in the other version, and must leave no trace when it goes there."""
    text = '{"spec":{"deploymentOverrides":{"name":"n"}},"version":1}'
    there = to(LEFT, {**stored(RIGHT, "{}"), "metadata": request(RIGHT, "{}", {"spec": text})["metadata"] | {"uid": "u"}})
    assert there["spec"] == {"deploymentOverrides": {"name": "n"}}
    assert "nvidia.com/dgdr-spec" not in there["metadata"]["annotations"]


def test_a_fragment_gets_the_annotations_of_older_operators_that_the_whole_object_gets() -> None:
    """Server-side apply takes from an object what no fragment of it has: one that came and went would be written at every sync. Read in
    a fragment they say nothing: they are still there when what they say goes."""
    texts = {"profiling-config": '{"sla":{"keep":2}}', "output-pvc": "o"}
    obj = {**stored(RIGHT, "spec: {sla: {ttft: 9}}"), "metadata": request(RIGHT, "{}", texts)["metadata"] | {"uid": "u"}}
    there = to(LEFT, obj)
    assert there["spec"]["profilingConfig"] == {"config": {"sla": {"ttft": 9}}}
    assert list(there["metadata"]["annotations"]) == [RECORD]
    assert to(RIGHT, there) == obj
    del there["metadata"]["annotations"]
    assert to(RIGHT, there)["metadata"]["annotations"] == {"nvidia.com/dgdr-profiling-config": '{"sla":{"ttft":9}}'}


def test_a_stored_status_without_a_phase_is_valid_in_v1alpha1() -> None:
    """v1alpha1 requires a state; where there is no status, none appears."""
    there = to(LEFT, decoded(RIGHT, "{spec: {model: m, backend: vllm}, status: {observedGeneration: 2}}"))
    assert there["status"] == {"observedGeneration": 2, "state": "Pending"}
    assert "annotations" not in there["metadata"]


@pytest.mark.parametrize(("section", "defaults"), SECTIONS.items())
def test_a_section_that_server_side_apply_made_null_is_the_schemas(section: str, defaults: dict[str, Any]) -> None:
    """Its author said an empty one, and all that is in it is the schema's: it must not go while v1alpha1 has a manager, too."""
    there = to(LEFT, stored(RIGHT, f"spec: {{model: m, {section}: null}}"))
    assert to(RIGHT, there)["spec"][section] == defaults
    assert list(there["metadata"]["annotations"]) == [RECORD]
