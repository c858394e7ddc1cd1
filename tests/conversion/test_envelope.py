"""Requests of v1beta2, which other versions keep whole: E1 to E9d of what was measured of operator 1.7, and laws."""

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_webhooks.api.line import NEWEST
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.conversion.objects import convert_object, target

ALPHA, BETA, GAMMA = "v1alpha1", "v1beta1", "v1beta2"
NATIVE: dict[str, Any] = {
    "modelRef": {"name": "m"},
    "backends": ["vllm"],
    "hardware": {"gpu": {"sku": "gb300", "budget": 8}},
    "workload": {"static": {"isl": 1000, "osl": 100, "numRequestRatio": 1, "concurrency": 4}},
    "objective": {"mode": "optimize", "metric": "goodput"},
    "search": {"budget": {"maxRounds": 2, "parallelEvaluations": 1, "newLimit": 3}},
}


def request(version: str, spec: Any = ..., status: Any = ..., **metadata: Any) -> dict[str, Any]:
    parts = {name: part for name, part in (("spec", spec), ("status", status)) if part is not ...}
    return {"apiVersion": f"nvidia.com/{version}", "kind": "DynamoGraphDeploymentRequest", "metadata": {"name": "r", **metadata}, **parts}


def converted(obj: dict[str, Any], version: str) -> Any:
    before = deepcopy(obj)
    result = convert_object(obj, target(f"nvidia.com/{version}", NEWEST)).object
    assert obj == before
    return result


@pytest.mark.parametrize("metadata", [{}, {"uid": "u"}])
@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        (request(BETA, {"model": "m", "backend": "vllm"}), request(GAMMA, {"v1beta1": {"model": "m", "backend": "vllm"}})),  # E1
        (request(GAMMA, {"v1beta1": {"model": "m", "backend": "vllm"}}), request(BETA, {"model": "m", "backend": "vllm"})),  # E2
        (request(GAMMA, NATIVE), request(BETA, {"v1beta2": NATIVE})),  # E3, E9d
        (request(BETA, {"v1beta2": NATIVE}), request(ALPHA, {"v1beta2": NATIVE})),  # E4
        (request(GAMMA, NATIVE), request(ALPHA, {"v1beta2": NATIVE})),  # E4
        (request(ALPHA, {"v1beta2": NATIVE, "autoApply": False, "useMocker": False}), request(BETA, {"v1beta2": NATIVE})),  # E4a
        (request(ALPHA, {"v1beta2": NATIVE, "enableGpuDiscovery": True}), request(GAMMA, NATIVE)),  # E4a
        (request(GAMMA, NATIVE, {}), request(BETA, {"v1beta2": NATIVE}, {"v1beta2": {}})),  # E5
        (
            request(GAMMA, NATIVE, {"observedGeneration": 2}),
            request(BETA, {"v1beta2": NATIVE}, {"v1beta2": {"observedGeneration": 2}}),
        ),  # E6
        (request(BETA, {"v1beta2": None}), request(GAMMA, {"v1beta1": {}})),  # E9
        (request(BETA, {"v1beta2": {}}), request(GAMMA, {})),  # E9
        (request(BETA, {"model": "", "v1beta2": NATIVE}), request(GAMMA, NATIVE)),  # E9a
        (request(BETA, {"v1beta2": NATIVE}, {"phase": "Pending"}), request(GAMMA, NATIVE, {"v1beta1": {"phase": "Pending"}})),  # E9c
        (request(BETA), request(GAMMA)),
    ],
)
def test_a_request_is_kept_whole_in_the_other_version(source: dict[str, Any], wanted: dict[str, Any], metadata: dict[str, Any]) -> None:
    source, wanted = ({**obj, "metadata": {**obj["metadata"], **metadata}} for obj in (source, wanted))
    version = wanted["apiVersion"].rpartition("/")[2]
    assert converted(source, version) == wanted


@pytest.mark.parametrize(
    ("source", "version", "field"),
    [
        (request(ALPHA, {"v1beta2": NATIVE, "model": "x"}), BETA, "model"),  # E4b
        (request(BETA, {"model": "m", "v1beta2": NATIVE}), GAMMA, "model"),  # E7
        (request(GAMMA, {"v1beta1": {"model": "m"}, "backends": ["vllm"]}), BETA, "backends"),  # E8
        (request(BETA, {"autoApply": False, "v1beta2": NATIVE}), GAMMA, "autoApply"),  # E9b
    ],
)
def test_a_part_of_two_versions_is_refused_by_its_field(source: dict[str, Any], version: str, field: str) -> None:
    with pytest.raises(ConversionError, match="must not be beside spec") as refused:
        converted(source, version)
    assert refused.value.path == ("spec", field)


@pytest.mark.parametrize("version", [ALPHA, BETA])
def test_other_kinds_have_no_such_version(version: str) -> None:
    graph = {**request(version, {"restart": {"id": "a"}}), "kind": "DynamoGraphDeployment"}
    with pytest.raises(ConversionError, match="its spec can only be converted by a release of dynamo-webhooks that knows it") as refused:
        converted(graph, GAMMA)
    assert refused.value.reason.startswith("DynamoGraphDeployment exists as nvidia.com/v1alpha1 or nvidia.com/v1beta1, not as")
    with pytest.raises(ConversionError, match="its spec can only be converted"):
        converted({**graph, "apiVersion": "nvidia.com/v1"}, version)
    with pytest.raises(ConversionError, match="exists as"):
        converted(graph, "v0")


@pytest.mark.parametrize("later", ["v1", "v2alpha1", "v1beta3"])
def test_a_version_of_a_later_release_is_converted_where_nothing_but_metadata_is(later: str) -> None:
    """Or where it is the version asked for."""
    metadata = {"name": "r", "labels": {"a": "b"}}
    graph = {"apiVersion": f"nvidia.com/{BETA}", "kind": "DynamoGraphDeployment", "metadata": metadata}
    assert converted(graph, later) == {**graph, "apiVersion": f"nvidia.com/{later}"}
    assert converted({**graph, "apiVersion": f"nvidia.com/{later}", "spec": {}}, BETA) == {**graph, "spec": {}}
    whole = {**graph, "apiVersion": f"nvidia.com/{later}", "spec": {"unknown": 1}}
    assert converted(whole, later) == whole


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=2), max_leaves=4
)
MEMBERS = st.dictionaries(
    st.sampled_from(["model", "modelRef", "backends", "autoApply", "phase", "conditions", "other"]), VALUES, max_size=4
)
PARTS = st.one_of(MEMBERS, MEMBERS.map(lambda own: {"v1beta2": own}))


@given(spec=PARTS, status=PARTS)
def test_a_round_trip_loses_nothing(spec: dict[str, Any], status: dict[str, Any]) -> None:
    beta = request(BETA, spec, status, uid="u", annotations={"a": "b"})
    gamma = converted(beta, GAMMA)
    assert converted(gamma, BETA) == beta
    assert converted(converted(gamma, BETA), GAMMA) == gamma
    assert json.dumps(converted(gamma, GAMMA)) == json.dumps(gamma)
