"""What an apply makes of a stored object: the file over it, what others wrote, and without what was applied before and is gone."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dynamo_webhooks.cli.objects.apply import LAST, simulate_apply
from tests.rows import run_each

KIND = "DynamoGraphDeployment"
BETA = "nvidia.com/v1beta1"


def graph(**fields: Any) -> dict[str, Any]:
    """A graph of v1beta1; `metadata` and `spec` are what is given."""
    metadata = {"name": "g", **fields.pop("metadata", {})}
    return {"apiVersion": BETA, "kind": KIND, "metadata": metadata, **fields}


def component(name: str, **fields: Any) -> dict[str, Any]:
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


def fields(owned: Any, **more: Any) -> dict[str, Any]:
    """An entry of managedFields."""
    return {"manager": "kubectl", "operation": "Apply", "apiVersion": BETA, "fieldsV1": owned, **more}


def test_what_nobody_applied_before_stays() -> None:
    made = simulate_apply(FILE, STORED, held(managedFields=[fields({})]), KIND)
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


def test_what_a_server_side_apply_is_refused_for_stays() -> None:
    spec = {"backendFramework": None, "components": [component("a"), component("a", replicas=2)]}
    assert simulate_apply(graph(spec=spec), STORED, held(managedFields=[fields({})]), KIND)["spec"] == spec


def test_what_was_applied_before_and_is_left_out_goes() -> None:
    parts = {
        'k:{"name":"a"}': {".": {}, "f:name": {}, "f:multinode": {".": {}, "f:nodeCount": {}}},
        'k:{"name":"c"}': {".": {}, "f:name": {}},
    }
    owned = {"f:metadata": {"f:annotations": {"f:theirs": {}}}, "f:spec": {"f:backendFramework": {}, "f:components": parts}}
    made = simulate_apply(FILE, STORED, held(managedFields=[fields(owned)]), KIND)
    assert made["metadata"]["annotations"] == {"ours": "9"}
    assert made["spec"] == {"components": [component("b", type="decode"), component("a", replicas=3), component("d")]}


def test_what_others_own_stays() -> None:
    """A component that another manager has a field of keeps that field; what no manager owns goes with its component."""
    whole: dict[str, Any] = {".": {}, "f:name": {}}
    ours = {"f:spec": {"f:backendFramework": {}, "f:components": {'k:{"name":"a"}': {**whole, "f:multinode": {}}, 'k:{"name":"c"}': whole}}}
    theirs: dict[str, Any] = {"f:spec": {"f:backendFramework": {}, "f:components": {'k:{"name":"c"}': {"f:name": {}, "f:replicas": {}}}}}
    stored = {
        **STORED,
        "spec": {**STORED["spec"], "components": [component("a", minAvailable=1), component("c", replicas=2, minAvailable=1)]},
    }
    both = [fields(ours), fields(theirs, manager="scaler", operation="Update")]
    made = simulate_apply(graph(spec={"restart": {"id": "1"}}), stored, {**stored, "metadata": {"managedFields": both}}, KIND)
    assert made["spec"] == {"backendFramework": "vllm", "restart": {"id": "1"}, "components": [component("c", replicas=2)]}


def test_kubectl_has_only_its_own_fields_removed() -> None:
    """Who updates, writes a status or applies another version says nothing, and neither does a damaged annotation."""
    both = [fields({}), fields({"f:spec": {"f:backendFramework": {}}}, manager="argocd")]
    assert simulate_apply(FILE, STORED, held(managedFields=both), KIND)["spec"]["backendFramework"] == "vllm"
    assert "backendFramework" not in simulate_apply(FILE, STORED, held(managedFields=both[1:]), KIND)["spec"]
    owned: dict[str, Any] = {"f:spec": {"f:backendFramework": {}}}
    others = [fields(owned, operation="Update"), fields(owned, subresource="status"), fields(owned, apiVersion="nvidia.com/v1alpha1")]
    assert simulate_apply(FILE, STORED, held(managedFields=others), KIND)["spec"]["backendFramework"] == "vllm"
    for text in ("[]", "{", "[" * 100_000):
        assert simulate_apply(FILE, STORED, held(annotations={LAST: text}), KIND)["spec"]["backendFramework"] == "vllm"


ELSEWHERE = {"apiVersion": "nvidia.com/v1alpha1", "spec": {"backendFramework": "vllm", "services": {"a": {}}}}
THEIRS = {"theirs": "2", "example.com/more": "3"}


@run_each(
    ("last", "file", "annotations", "spec"),
    [
        # lists are replaced, whatever anybody applied before
        (None, FILE, {"ours": "9", **THEIRS}, {"backendFramework": "vllm", "components": FILE["spec"]["components"], "envs": []}),
        (
            graph(metadata={"annotations": {"theirs": "2"}}, spec={"backendFramework": "vllm", "envs": [1]}),
            FILE,
            {"ours": "9", "example.com/more": "3"},
            {"components": FILE["spec"]["components"]},
        ),
        # kubectl wrote `annotations: {}` there for a file without any
        (graph(metadata={"annotations": {}}), graph(spec={"envs": []}), {"ours": "1", **THEIRS}, {**STORED["spec"], "envs": []}),
        (graph(), graph(metadata={"annotations": None}), {"ours": "1", **THEIRS}, {**STORED["spec"], "envs": []}),
        # of a manifest of the other version, the fields that both versions have
        (ELSEWHERE, graph(spec={}), {"ours": "1", **THEIRS}, {"components": STORED["spec"]["components"], "envs": []}),
        # null removes, unless it was applied before
        (None, graph(spec={"backendFramework": None}), {"ours": "1", **THEIRS}, {"components": STORED["spec"]["components"], "envs": []}),
        (
            graph(spec={"backendFramework": None}),
            graph(spec={"backendFramework": None}),
            {"ours": "1", **THEIRS},
            {**STORED["spec"], "envs": []},
        ),
    ],
)
def test_a_client_side_apply_is_kubectls_three_way_merge(
    last: dict[str, Any] | None, file: dict[str, Any], annotations: dict[str, str], spec: dict[str, Any]
) -> None:
    stored = {**STORED, "spec": {**STORED["spec"], "envs": []}}
    stored["metadata"] = {**STORED["metadata"], "annotations": {"ours": "1", **THEIRS}}
    holder = {**stored, "metadata": {**stored["metadata"], "annotations": {} if last is None else {LAST: json.dumps(last)}}}
    made = simulate_apply(file, stored, holder, KIND)
    assert (made["metadata"]["annotations"], made["spec"]) == (annotations, spec)


def test_what_only_a_server_writes_is_not_applied() -> None:
    """But for what it compares with its own."""
    exported = graph(metadata={"uid": "x", "generation": 7, "managedFields": []}, spec={"backendFramework": None}, status={"a": 1})
    made = simulate_apply(exported, STORED, held(), KIND)
    assert made["metadata"] == {**STORED["metadata"], "uid": "x"}
    assert made["status"] == {**STORED["status"], "a": 1}


VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=2),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.sampled_from(("spec", "components", "name", "metadata")), one, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(("metadata", "spec", "status", "x")), VALUES), VALUES)
def test_no_file_raises_or_changes_what_is_stored(file: dict[str, Any], owned: Any) -> None:
    before = json.dumps(STORED)
    simulate_apply({**file, "apiVersion": BETA}, STORED, held(managedFields=[fields(owned)], annotations={LAST: json.dumps(owned)}), KIND)
    assert json.dumps(STORED) == before


def test_a_file_that_is_nested_deeply_is_taken_as_it_is() -> None:
    deep: Any = 1
    for _ in range(900):
        deep = {"spec": deep}
    assert simulate_apply({**graph(), **deep}, {**STORED, **deep}, held(), KIND)["spec"] == deep["spec"]
