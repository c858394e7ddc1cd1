"""Every CEL rule of the schemas has an id, and tells good from bad as its message says."""

import re
from typing import Any

import pytest

from dynamo_webhooks.api.kinds import list_kind_versions
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.models.constraints import (
    ALL,
    GMS_ALPHA,
    GMS_BETA,
    REQUEST_MODEL,
    REQUEST_MODEL_ALPHA,
    SHM_SIZE,
    Constraint,
    validations,
)
from dynamo_webhooks.api.paths import MISSING
from dynamo_webhooks.api.schema import load_schema, resolve
from dynamo_webhooks.api.walk.validate import rule_of
from tests.api.test_crd import nodes

BY_ID = {constraint.id: constraint for constraint in ALL}
ALPHA_SOURCE, BETA_SOURCE = (constraint for constraint in ALL if constraint.id == "cel-ckpt-source")
_EXECUTOR = "nvidia.com/vllm-distributed-executor-backend"
POD = {"name": "a", "podTemplate": {}}
# what schemas require beside the members that a rule looks at
OFF, ZONE, EPP, KEY = {"enabled": False}, {"domain": "z"}, {"name": "a", "type": "epp"}, {"key": "k"}
PICKER = {"plugins": [{"type": "t"}], "schedulingProfiles": [{"name": "p", "plugins": [{"pluginRef": "t"}]}]}
PICKS = {"eppConfig": {"configMapRef": KEY}}
TEMPLATE = {"spec": {"containers": [{"name": "main"}]}}
LEADER, WORKER, WITH, LPX = {"name": "leader"}, {"name": "worker"}, {"name": "leader", "podTemplate": TEMPLATE}, {"buildId": "b"}
# what the type is called, a part of a graph of it, and what switches its adapter off, where that can be said
LPX_PARTS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("componentType", {"services": {"w": {"componentType": "lpx"}}}, {"enabled": False}),
    ("type", {"components": [{"name": "w", "type": "lpx"}]}, {}),
]
NATIVE: dict[str, Any] = {
    "modelRef": {"name": "m"},
    "backends": ["vllm"],
    "hardware": {"gpu": {"sku": "my-chip", "budget": 8}},  # E19
    "workload": {"static": {"isl": 1000, "osl": 100, "numRequestRatio": 1, "concurrency": 4}},
    "objective": {"mode": "optimize", "metric": "goodput"},
    "search": {"budget": {"maxRounds": 2, "parallelEvaluations": 1}},
}
TRUSTED = {"name": "m", "remoteCode": "TrustCacheAndRevision"}
CLAIM, FILE = {"name": "c", "modelPath": "p", "mountPath": "/m"}, {"claimName": "c", "path": "p"}
EVEN, TRACE = NATIVE["workload"]["static"], {"source": {"uri": "u"}}
RATED = {name: value for name, value in EVEN.items() if name != "concurrency"}
TWO = ["throughput", "e2eLatency"]
LONG = ".".join(["a" * 63] * 3)  # 191 characters


def _of(name: str, field: str) -> Constraint:
    """The rule of that id which speaks of the type by that name."""
    return next(each for each in ALL if each.id == name and ("componentType" in each.rule) is (field == "componentType"))


def _rules(kind: str, version: str, line: Line) -> set[str]:
    entries = (entry for node in nodes(load_schema(kind, version, line)) for entry in resolve(node).get("x-kubernetes-validations") or ())
    return {entry["rule"] for entry in entries}


RULES = {constraint.rule: rule_of(constraint.rule) for constraint in ALL}


def _holds(text: str, value: Any, old: object = MISSING) -> bool:
    return RULES[text].broken(value, old, ".hasValue()" in text) is None


def test_the_schemas_have_the_rules_that_have_an_id() -> None:
    assert set().union(*(_rules(*pair, line) for pair in list_kind_versions() for line in Line)) == set(RULES)
    assert len(RULES) == 59, "a rule of a schema has a case of good and bad values in CASES or TRANSITIONS; then change the number here"


# rule, values that it lets through and that it refuses; tests/cluster/webhooks/test_cel.py puts each wherever its rule stands
CASES: list[tuple[Constraint, list[Any], list[Any]]] = [
    (
        BY_ID["cel-pvc-create"],
        [
            {"name": "a"},
            {"name": "a", "create": False},
            {"name": "a", "create": True, "size": 5, "storageClass": "", "volumeAccessMode": ""},
        ],
        [{"name": "a", "create": True}, {"name": "a", "create": True, "size": "1Gi", "storageClass": "a"}],
    ),
    (
        SHM_SIZE,
        [{"disabled": True}, {"size": "1"}, {"size": "1n"}, {"size": "1e-15"}, {"size": ".5"}, {"disabled": True, "size": 5}],
        [{}, {"size": "0"}, {"size": "-1Gi"}],
    ),
    (
        ALPHA_SOURCE,
        [
            {"enabled": False},
            {"enabled": True, "checkpointRef": "a"},
            {"enabled": True, "identity": {"model": "", "backendFramework": "vllm"}},
        ],
        [{"enabled": True}, {"enabled": True, "checkpointRef": ""}, {"enabled": True, "identity": {"model": "m"}}, {}],
    ),
    (BETA_SOURCE, [{"checkpointRef": "a"}, {"identity": {}}], [{}, {"checkpointRef": ""}]),
    (
        BY_ID["cel-ckpt-job-ref"],
        [{}, {"job": {}}, {"checkpointRef": "a"}, {"job": {}, "checkpointRef": ""}],
        [{"job": {}, "checkpointRef": "a"}],
    ),
    (BY_ID["cel-ckpt-job-auto"], [{"mode": "Manual"}, {"job": {}, "mode": "Auto"}, {"job": {}}], [{"job": {}, "mode": "Manual"}]),
    (
        GMS_ALPHA[0],
        [{**OFF, "extraClientContainers": ["a"], "mode": "intraPod"}, {**OFF, "extraClientContainers": [], "mode": "interPod"}, OFF],
        [{**OFF, "extraClientContainers": ["a"], "mode": "interPod"}],
    ),
    (GMS_BETA[0], [{"extraClientContainers": ["a"], "mode": "IntraPod"}], [{"extraClientContainers": ["a"], "mode": "InterPod"}]),
    (GMS_ALPHA[1], [OFF, {**OFF, "extraClientPods": [POD], "mode": "interPod"}], [{**OFF, "extraClientPods": [POD], "mode": "intraPod"}]),
    (GMS_BETA[1], [{"extraClientPods": [POD], "mode": "InterPod"}], [{"extraClientPods": [POD]}]),
    (GMS_ALPHA[2], [OFF, {**OFF, "extraClientPods": []}], [{**OFF, "extraClientPods": [POD]}]),
    (BY_ID["cel-kvt-label-required"], [{**ZONE, "labelKey": "a"}], [ZONE]),
    (
        BY_ID["cel-kvt-weight-required"],
        [{**ZONE, "enforcement": "required"}, {**ZONE, "enforcement": "preferred", "preferredWeight": 0}],
        [{**ZONE, "enforcement": "preferred"}],
    ),
    (
        BY_ID["cel-kvt-weight-only-preferred"],
        [{**ZONE, "enforcement": "required"}, {**ZONE, "enforcement": "preferred", "preferredWeight": 0.5}],
        [{**ZONE, "enforcement": "required", "preferredWeight": 0.5}],
    ),
    (BY_ID["cel-kvt-prefix-length"], ["a", "a/b", f"{LONG}.{'b' * 61}/b", "a" * 300], [f"{LONG}.{'b' * 62}/b"]),
    (BY_ID["cel-one-epp"], [[], [EPP, {"name": "b", "type": "worker"}, {"name": "c"}]], [[EPP, {**EPP, "name": "b"}]]),
    (BY_ID["cel-unique-names"], [[], [{"name": "a"}, {"name": "b"}], [{"name": "É"}, {"name": "é"}]], [[{"name": "w"}, {"name": "W"}]]),
    (BY_ID["cel-epp-type"], [{}, {**PICKS, "type": "epp"}], [PICKS, {**PICKS, "type": "worker"}]),
    (
        BY_ID["cel-kvt-one-source"],
        [{**ZONE, "labelKey": "a"}, {**ZONE, "clusterTopologyName": "t"}],
        [ZONE, {**ZONE, "labelKey": "a", "clusterTopologyName": "t"}],
    ),
    (
        BY_ID["cel-min-available-replicas"],
        [{}, {"minAvailable": 1}, {"minAvailable": 2, "replicas": 2}, {"minAvailable": 2, "replicas": 0}],
        [{"minAvailable": 2}, {"minAvailable": 3, "replicas": 2}],
    ),
    (BY_ID["cel-sidecar-image"], [{"name": "main"}, {"name": "a", "image": "i"}], [{"name": "a"}, {"name": "a", "image": ""}]),
    (BY_ID["cel-init-image"], [{"name": "s", "image": "i"}], [{"name": "s"}, {"name": "s", "image": ""}]),
    (BY_ID["cel-pod-vllm-executor"], [{}, {_EXECUTOR: "mp"}, {_EXECUTOR: "RAY"}], [{_EXECUTOR: ""}, {_EXECUTOR: "rays"}]),
    (BY_ID["cel-epp-one-source"], [{"config": PICKER}, {"configMapRef": KEY}], [{}, {"config": PICKER, "configMapRef": KEY}]),
    (
        BY_ID["cel-local-partitions"],
        [{"mode": "All"}, {"mode": "IDs", "ids": [0]}],
        [{"mode": "All", "ids": [0]}, {"mode": "IDs"}],
    ),
    (
        BY_ID["cel-request-members"],
        [NATIVE, {**NATIVE, "image": "i"}, {"v1beta1": {"model": "m"}}, {**NATIVE, "v1beta1": {}}],
        [{}, {"rerun": {"reason": "r"}}, {name: value for name, value in NATIVE.items() if name != "search"}],  # E24
    ),
    (
        BY_ID["cel-request-owner"],
        [NATIVE, {"v1beta1": {}}],
        [{**NATIVE, "v1beta1": {}}, {"v1beta1": {}, "backends": ["vllm"]}, {"v1beta1": {}, "rerun": {"reason": "r"}}],  # E8
    ),
    (
        BY_ID["cel-request-status-owner"],
        [{}, {"v1beta1": {}}, {"observedGeneration": 2}],
        [{"v1beta1": {}, "observedGeneration": 2}, {"v1beta1": {}, "conditions": []}],
    ),
    (REQUEST_MODEL, [{"model": "m"}, {"v1beta2": {}}], [{}, {"backend": "vllm"}]),
    (
        REQUEST_MODEL_ALPHA,
        [{"v1beta2": {}}, {"model": "m", "profilingConfig": {"profilerImage": "i"}}],
        [{}, {"model": "m", "backend": "vllm"}],
    ),
    (
        BY_ID["cel-remote-code"],
        [{"name": "m"}, {**TRUSTED, "revision": "r", "cache": {"pvc": CLAIM}}],
        [TRUSTED, {**TRUSTED, "revision": "r", "cache": {}}, {**TRUSTED, "cache": {"pvc": CLAIM}}],  # E23
    ),
    (BY_ID["cel-search-workload"], [{"static": EVEN}, {"trace": TRACE}], [{}, {"static": EVEN, "trace": TRACE}]),  # E22
    (BY_ID["cel-trace-source"], [{"uri": "u"}, {"pvc": FILE}], [{}, {"uri": "u", "pvc": FILE}]),
    (
        BY_ID["cel-search-rate"],
        [EVEN, {**RATED, "requestRate": 0.5}, {**RATED, "kvLoadRatio": [0.5, 1]}],
        [RATED, {**EVEN, "requestRate": 1}, {**EVEN, "kvLoadRatio": [1]}],
    ),
    (
        BY_ID["cel-search-metric"],
        [{"mode": "optimize", "metric": "goodput"}, {"mode": "pareto"}, {"mode": "pareto", "metrics": TWO}],  # E21b
        [{"mode": "optimize"}, {"mode": "optimize", "metric": "goodput", "metrics": TWO}],
    ),
    (BY_ID["cel-search-pareto"], [{"mode": "pareto", "metrics": TWO}], [{"mode": "pareto", "metric": "goodput"}]),  # E20
    (
        BY_ID["cel-search-sla"],
        [{"e2eMs": 500}, {"ttftMs": 100, "itlMs": 10}, {"e2eMs": 500, "ttftMs": 100}],  # E21
        [{}, {"ttftMs": 100}, {"e2eMs": 500, "ttftMs": 100, "itlMs": 10}],  # E21a
    ),
    (
        BY_ID["cel-lpx-template"],
        [{"type": "worker", "podTemplate": TEMPLATE}, {"type": "lpx"}],
        [{"type": "lpx", "podTemplate": TEMPLATE}],
    ),
    (
        BY_ID["cel-role-templates"],
        [{}, {"podTemplate": TEMPLATE, "roles": [LEADER]}, {"roles": [WITH]}, {"type": "lpx", "roles": [WITH, WORKER]}],
        [{"roles": [WITH, WORKER]}, {"podTemplate": TEMPLATE, "roles": [WITH]}],
    ),
    *(
        case
        for field, part, off in LPX_PARTS
        for case in (
            (
                _of("cel-min-available-most", field),
                [{}, {"minAvailable": 2, "replicas": 2}, {"minAvailable": 2, "replicas": 0}, {"minAvailable": 2, field: "lpx"}],
                [{"minAvailable": 2}, {"minAvailable": 3, "replicas": 2}, {"minAvailable": 3, "replicas": 2, field: "lpx"}],
            ),
            (_of("cel-lpx-only", field), [{}, {"lpx": LPX, field: "lpx"}], [{"lpx": LPX}, {"lpx": LPX, field: "worker"}]),
            (_of("cel-lpx-needed", field), [{}, {"lpx": LPX, field: "lpx"}], [{field: "lpx"}]),
            (
                _of("cel-lpx-replicas", field),
                [{"replicas": 0}, {field: "lpx"}, {field: "lpx", "replicas": 9}],
                [{field: "lpx", "replicas": 0}],
            ),
            (
                _of("cel-lpx-adapter", field),
                [{"scalingAdapter": {}}, {field: "lpx"}, *([{field: "lpx", "scalingAdapter": off}] if off else [])],
                [{field: "lpx", "scalingAdapter": {"enabled": True} if off else {}}],
            ),
            (_of("cel-lpx-alone", field), [{}, {field: "worker"}], [{field: "lpx"}]),
            (
                _of("cel-lpx-restart", field),
                [{}, part, {**part, "restart": {"id": "a", "strategy": {"type": "Parallel"}}}],
                [{**part, "restart": {"id": "a"}}, {**part, "restart": {"id": "a", "strategy": {"type": "Sequential"}}}],
            ),
        )
    ),
]


def test_a_rule_tells_good_from_bad(subtests: pytest.Subtests) -> None:
    for constraint, good, bad in CASES:
        with subtests.test(constraint.id):
            assert RULES[constraint.rule].id == constraint.id
            assert [value for value in good if not _holds(constraint.rule, value)] == []
            assert [value for value in bad if _holds(constraint.rule, value)] == []


def _immutable(value: Any, other: Any, unset: list[Any]) -> tuple[list[tuple[Any, Any]], list[tuple[Any, Any]]]:
    """Writes that keep a value or set it first, and those that change it or take it away."""
    return [(value, value), ({}, {}), *((value, old) for old in unset)], [(other, value), *((new, value) for new in unset)]


_IDENTITY = {name: {"spec": {"identity": {"model": name}}} for name in "mn"}
# rules that compare: pairs of a new and an old value that they let through and that they refuse
TRANSITIONS: list[tuple[Constraint, list[tuple[Any, Any]], list[tuple[Any, Any]]]] = [
    (BY_ID["cel-ckpt-identity-immutable"], *_immutable(_IDENTITY["m"], _IDENTITY["n"], [{}, {"spec": {}}])),
    (BY_ID["cel-spec-immutable"], *_immutable({"spec": {"a": 1}}, {"spec": {"a": 2}}, [{}])),  # E25
    (BY_ID["cel-restart-on-create"], [({}, MISSING), ({"restart": {}}, {})], [({"restart": {"id": "a"}}, MISSING)]),
    (BY_ID["cel-min-available-immutable"], *_immutable({"minAvailable": 1}, {"minAvailable": 2}, [{}])),
    *((_of("cel-type-immutable", field), *_immutable({field: "worker"}, {field: "decode"}, [{}])) for field in ("componentType", "type")),
]


def test_a_transition_tells_good_from_bad(subtests: pytest.Subtests) -> None:
    for constraint, good, bad in TRANSITIONS:
        with subtests.test(constraint.id):
            assert [pair for pair in good if not _holds(constraint.rule, *pair)] == []
            assert [pair for pair in bad if _holds(constraint.rule, *pair)] == []


def test_every_rule_has_a_case_and_only_rules_that_compare_are_transitions() -> None:
    compare = {case[0].rule for case in TRANSITIONS}
    assert {case[0].rule for case in CASES} | compare == set(RULES)
    assert {text for text, rule in RULES.items() if rule.transition} == compare


@pytest.mark.parametrize("size", [5, "many", "1e1.5"])
def test_a_size_that_is_no_text_or_no_quantity_cannot_be_evaluated(size: object) -> None:
    """The API server refuses a bare number although the schema admits it."""
    assert RULES[SHM_SIZE.rule].broken({"size": size}, MISSING, False)


def test_constraints_have_distinct_texts_and_messages() -> None:
    """Twins are found by their text, so no two may share one."""
    assert len(ALL) == len({item.rule for item in ALL}) == len(RULES)
    assert all(re.search(r"\bmust\b", item.message) and not item.message.endswith(".") for item in ALL)
    assert validations(ALL[0]) == {"x-kubernetes-validations": [{"rule": ALL[0].rule, "message": ALL[0].message}]}
