"""Requests: what the worked examples (tests/conversion/worked) don't show.

The annotations of operators 1.0 and 1.1 are read where nothing newer speaks, written for them to follow, and gone where they never were.
Of requests as API servers have them, what a schema's defaults say is never kept, and both versions have their own.
"""

import copy
from typing import Any

import pytest
import yaml

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.api.walk.default import default
from dynamo_webhooks.conversion.bounds import MAX_ANNOTATION_BYTES, annotation_size
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.legacy import RECORD
from dynamo_webhooks.conversion.remainder import aside_key
from dynamo_webhooks.conversion.request import ALONE, REQUEST, SECTIONS
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


def fragment(version: str, text: str) -> dict[str, Any]:
    """What is left of a stored request without one manager's fields."""
    obj = stored(version, text)
    obj["metadata"]["resourceVersion"] = "1"
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
    obj = fragment(version, text)
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


def test_paths_are_translated_to_the_other_version(subtests: pytest.Subtests) -> None:
    """The most exact place of the other version, or None where there is none."""
    for version, path, wanted in PATHS:
        with subtests.test(f"{version} {path}"):
            struct = REQUEST.spec if path[0] == "spec" else REQUEST.status
            place = struct.to_left(path[1:], {}, {}) if version == RIGHT else struct.to_right(path[1:], {})
            assert (None if place is None else (path[0], *place)) == wanted


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


PREFIX = "nvidia.com/dgdr-"


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


def test_a_damaged_record_is_set_aside_and_comes_home(subtests: pytest.Subtests) -> None:
    rows: list[str] = ["{oops", "3", "{}", '{"legacy":[]}', '{"legacy":[["k",3,""]]}', '{"packed":"!","spec":{},"version":1}']
    for text in rows:
        with subtests.test(text=text):
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
    assert annotation_size(there["metadata"]["annotations"]) < MAX_ANNOTATION_BYTES
    assert there["metadata"]["annotations"][RECORD].startswith('{"packed":')
    assert to(RIGHT, there) == obj


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
    default(obj, load_schema(KIND, version, Line.V1_2))
    return obj


@pytest.mark.parametrize("version", [LEFT, RIGHT])
def test_the_defaults_are_those_of_the_schema(version: str) -> None:
    """Those of members that only one version has, and those below members that v1alpha1 has in its free-form configuration."""
    members = {"spec": {"model": "m", **({section: {} for section in SECTIONS} if version == RIGHT else {})}}
    default(members, load_schema(KIND, version, Line.V1_2))
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


def test_what_is_stored_decodes_to_itself_in_both_versions_and_comes_home(subtests: pytest.Subtests) -> None:
    """Whatever it says beside the defaults: a read in the other version, decoded there and written again, is the same object."""
    rows: list[tuple[str, str]] = [
        (LEFT, "useMocker: true, enableGpuDiscovery: false"),
        (LEFT, "deploymentOverrides: {name: n}, profilingConfig: {profilerImage: i, outputPVC: c}"),
        (LEFT, "profilingConfig: {config: {sla: {isl: 4000, osl: 1000}}}"),
        (RIGHT, "searchStrategy: thorough, hardware: {totalGpus: 8}, autoApply: false"),
        (RIGHT, "workload: {isl: 3000}, modelCache: {pvcName: c}, features: {mocker: {enabled: false}}"),
    ]
    for version, spec in rows:
        with subtests.test(version=version, spec=spec):
            obj = decoded(version, f"spec: {{model: m, backend: vllm, {spec}}}")
            there = to(other(version), obj)
            again = copy.deepcopy(there)
            default(again, load_schema(KIND, other(version), Line.V1_2))
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
    obj = fragment(version, f"spec: {{{spec}}}")
    wanted = fragment(other(version), f"spec: {{{converted}}}")
    assert to(other(version), obj) == wanted
    assert to(version, wanted) == fragment(version, f"spec: {{{converted}}}")


@pytest.mark.parametrize(
    ("spec", "applied"),
    [
        ("model: m, searchStrategy: rapid", True),
        ("model: m, backend: vllm", True),
        ("model: m, autoApply: false", False),
    ],
)
def test_a_request_that_lost_its_defaults_is_read_as_what_it_means(spec: str, applied: bool) -> None:
    """Since operator 1.7 an update may remove them, and v1alpha1 means the contrary without autoApply.

    An API server converts the object that it reads before it gives it a resourceVersion; parts in server-side apply have one.
    """
    obj = stored(RIGHT, f"spec: {{{spec}}}")
    there = convert(REQUEST._replace(line=Line.V1_7), obj, LEFT).object
    again = copy.deepcopy(there)
    default(again, load_schema(KIND, LEFT, Line.V1_7))
    assert again == there
    assert there["spec"]["autoApply"] is applied
    assert "annotations" not in there["metadata"]
    home = convert(REQUEST._replace(line=Line.V1_7), there, RIGHT).object
    assert home["spec"] == {**obj["spec"], "autoApply": applied, "searchStrategy": "rapid"}
    assert "autoApply" not in to(LEFT, fragment(RIGHT, "spec: {model: m, searchStrategy: rapid}"))["spec"]


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
