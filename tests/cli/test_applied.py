"""What an apply makes of a stored object: the file over it, what others wrote, and without what was applied before and is gone."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dynamo_webhooks.cli.check.applied import LAST, applied

KIND = "DynamoGraphDeployment"
BETA = "nvidia.com/v1beta1"


def graph(**fields: Any) -> dict[str, Any]:
    """A graph of v1beta1; `metadata` and `spec` are what is given."""
    metadata = {"name": "g", **fields.pop("metadata", {})}
    return {"apiVersion": BETA, "kind": KIND, "metadata": metadata, **fields}


def component(name: str, **fields: Any) -> dict[str, Any]:
    """One of its components."""
    return {"name": name, **fields}


STORED = graph(
    metadata={"uid": "u", "annotations": {"ours": "1", "theirs": "2"}, "finalizers": ["f"], "resourceVersion": "7"},
    spec={
        "backendFramework": "vllm",
        "components": [component("a", replicas=3, multinode={"nodeCount": 2}), component("b", type="worker"), component("c")],
    },
    status={"state": "successful"},
)
FILE = graph(metadata={"annotations": {"ours": "9"}}, spec={"components": [component("b", type="decode"), component("a"), component("d")]})


def held(**metadata: Any) -> dict[str, Any]:
    """The stored object as a cluster gives it."""
    return {**STORED, "metadata": {**STORED["metadata"], **metadata}}


def fields(said: Any, **more: Any) -> dict[str, Any]:
    """An entry of managedFields."""
    return {"manager": "kubectl", "operation": "Apply", "apiVersion": BETA, "fieldsV1": said, **more}


def test_what_nobody_applied_before_stays() -> None:
    made = applied(FILE, STORED, held(), KIND)
    assert made["metadata"] == {**STORED["metadata"], "annotations": {"ours": "9", "theirs": "2"}}
    assert made["spec"] == {
        "backendFramework": "vllm",
        "components": [
            component("b", type="decode"),
            component("a", replicas=3, multinode={"nodeCount": 2}),
            component("d"),
            component("c"),
        ],
    }
    assert made["status"] == STORED["status"]


def test_what_was_applied_before_and_is_left_out_goes() -> None:
    parts = {
        'k:{"name":"a"}': {".": {}, "f:name": {}, "f:multinode": {".": {}, "f:nodeCount": {}}},
        'k:{"name":"c"}': {".": {}, "f:name": {}},
    }
    said = {"f:metadata": {"f:annotations": {"f:theirs": {}}}, "f:spec": {"f:backendFramework": {}, "f:components": parts}}
    made = applied(FILE, STORED, held(managedFields=[fields(said)]), KIND)
    assert made["metadata"]["annotations"] == {"ours": "9"}
    assert made["spec"] == {"components": [component("b", type="decode"), component("a", replicas=3), component("d")]}


def test_kubectl_replaces_lists_and_removes_what_it_applied_before() -> None:
    last = graph(metadata={"annotations": {"theirs": "2"}}, spec={"backendFramework": "vllm", "restart": {}})
    stored = {**STORED, "spec": {**STORED["spec"], "restart": {"id": "others"}, "envs": []}}
    made = applied(FILE, stored, held(annotations={LAST: json.dumps(last)}), KIND)
    assert made["metadata"]["annotations"] == {"ours": "9"}
    assert made["spec"] == {"components": FILE["spec"]["components"], "envs": []}


def test_who_updates_writes_a_status_or_applies_another_version_says_nothing() -> None:
    said: dict[str, Any] = {"f:spec": {"f:backendFramework": {}}}
    others = [fields(said, operation="Update"), fields(said, subresource="status"), fields(said, apiVersion="nvidia.com/v1alpha1")]
    assert applied(FILE, STORED, held(managedFields=others), KIND)["spec"]["backendFramework"] == "vllm"
    elsewhere = {"apiVersion": "nvidia.com/v1alpha1", "spec": {"backendFramework": "vllm"}}
    for text in (json.dumps(elsewhere), "[]", "{", "[" * 100_000):
        assert applied(FILE, STORED, held(annotations={LAST: text}), KIND)["spec"]["backendFramework"] == "vllm"


def test_what_only_a_server_writes_is_not_applied_and_null_removes() -> None:
    exported = graph(metadata={"uid": "x", "resourceVersion": "1", "annotations": None}, spec={"backendFramework": None}, status={"a": 1})
    made = applied(exported, STORED, held(), KIND)
    assert made["metadata"] == {"name": "g", "uid": "u", "finalizers": ["f"], "resourceVersion": "7"}
    assert "backendFramework" not in made["spec"]
    assert made["status"] == STORED["status"]


VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=2),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.sampled_from(("spec", "components", "name", "metadata")), one, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(("metadata", "spec", "status", "x")), VALUES), VALUES)
def test_no_file_raises_or_changes_what_is_stored(file: dict[str, Any], said: Any) -> None:
    before = json.dumps(STORED)
    applied({**file, "apiVersion": BETA}, STORED, held(managedFields=[fields(said)], annotations={LAST: json.dumps(said)}), KIND)
    assert json.dumps(STORED) == before


def test_a_file_that_is_nested_deeply_is_taken_as_it_is() -> None:
    deep: Any = 1
    for _ in range(900):
        deep = {"spec": deep}
    assert applied({**graph(), **deep}, {**STORED, **deep}, held(), KIND)["spec"] == deep["spec"]
