"""The annotations of operators 1.0 and 1.1: read where nothing newer speaks, written for them to follow, gone where they never were."""

from typing import Any

import orjson
import pytest

from dynamo_webhooks.conversion.bounds import MOST, annotation_size
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.legacy import RECORD
from dynamo_webhooks.conversion.remainder import aside_key
from dynamo_webhooks.conversion.request import ALONE, REQUEST
from dynamo_webhooks.conversion.request_legacy import KEYS
from tests.conversion.test_request import LEFT, RIGHT, request, stored, to

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
