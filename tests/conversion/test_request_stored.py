"""Requests as API servers have them: what a schema's defaults say is never kept, and both versions have their own."""

import copy
from typing import Any

import pytest

from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.api.walk.default import default
from dynamo_webhooks.conversion.legacy import RECORD
from dynamo_webhooks.conversion.request import ALONE, SECTIONS
from tests.conversion.test_request import LEFT, RIGHT, request, stored, to

KIND = "DynamoGraphDeploymentRequest"


def decoded(version: str, text: str) -> dict[str, Any]:
    """A stored request with the defaults of its version."""
    obj = stored(version, text)
    default(obj, load_schema(KIND, version))
    return obj


def other(version: str) -> str:
    return RIGHT if version == LEFT else LEFT


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
