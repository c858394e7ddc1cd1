"""Every worked example of the operator's lines gets the answer of its line, through all stages of a write."""

import copy
import json
from typing import Any, Final

import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.paths import format_path
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.kinds import kind_of
from dynamo_webhooks.policies.annotations import ORIGIN_VERSION, WORKLOAD_PROVIDER
from dynamo_webhooks.policies.answer import REFUSING
from dynamo_webhooks.policies.facts import Facts, facts_from
from tests.admission.line_examples import BOTH, EXAMPLES, GUESSED, LEADER, TARGET, WORKER, Example, bare, graph, lpx, spread, worker
from tests.admission.writes import defaulted, sent

FACTS: Final[dict[str, Any]] = {
    "operatorScope": "cluster",
    "operatorPrincipal": "system:serviceaccount:dynamo-system:operator",
    "grove": True,
    "inferencePool": True,
    "clusterTopologies": {"default": ["zone", "rack"]},
    "gpuDiscovery": True,
    "dra": True,
    "lws": True,
    "istio": False,
    "checkpoint": True,
    "allowGmsSnapshot": True,
    "excludedNamespaces": [],
    "switchedOff": [],
}
UNCHECKED: Final = "Invalid <nil>"  # beside wrong values: that rules were left out because of them


def answer(example: Example, line: str) -> set[str]:
    """The reasons and fields of a refusal; of an update, whose old object is created first."""
    of_row = {name: known for name, known in (example.facts or {}).items() if name in Facts._fields}
    facts = facts_from({**FACTS, "operatorVersion": f"{line}.0", **of_row})
    obj, old = copy.deepcopy(example.obj), example.old
    if old is not None:
        old = defaulted(old, facts=facts).object
        obj["metadata"]["annotations"] = {**old["metadata"].get("annotations", {}), **obj["metadata"].get("annotations", {})}
    write = defaulted(obj, old, facts=facts)
    if errors := write.conform():
        return {f"{error.reason.value.removeprefix('FieldValue')} {error.field}" for error in errors} - {UNCHECKED}
    refusals = [finding for finding in write.judge() if finding.level in REFUSING]
    return {f"{finding.cause.value.removeprefix('FieldValue')} {format_path(finding.path)}" for finding in refusals}


def test_a_line_answers_as_it_should(subtests: pytest.Subtests) -> None:
    for example in EXAMPLES:
        for line, wanted in example.answers.items():
            with subtests.test(f"{example.number} on {line}" + " (a guess)" * (example.number in GUESSED)):
                reported = answer(example, line)
                assert bool(reported) == bool(wanted) if line == "1.2" else reported == wanted, reported


def test_operator_1_7_answers_as_1_6_but_for_sidecars_on_several_nodes_or_with_more() -> None:
    rows = {row.number: (answer(row, "1.7"), row.answers["1.6"]) for row in EXAMPLES if "1.6" in row.answers}
    assert {number: now for number, (now, before) in rows.items() if now != before} == {"E45": set(), "S17": set()}
    assert len(rows) > 80


def test_a_graph_that_is_being_deleted_gets_no_provider_that_there_is_none_of() -> None:
    old = graph(worker())
    ending = {**old["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x/y"]}
    for provider, wanted in (("lws", ["workload-provider-enum"]), ("grove", [])):
        new = {**old, "metadata": {**ending, "annotations": {WORKLOAD_PROVIDER: provider}}}
        facts = facts_from({**FACTS, "operatorVersion": "1.6.0", "operatorPrincipal": ""})
        findings = sent(new, {**old, "metadata": ending}, facts=facts).judge()
        assert [finding.rule.name for finding in findings] == wanted


def _stored(number: str, line: str) -> dict[str, Any]:
    """The first component of a new graph of an example, as a line stores it."""
    [row] = [example for example in EXAMPLES if example.number == number]
    spec: dict[str, Any] = defaulted(row.obj, facts=facts_from({**FACTS, "operatorVersion": f"{line}.0"})).object["spec"]
    component: dict[str, Any] = spec["components"][0] if "components" in spec else spec
    return component


@pytest.mark.parametrize(
    ("number", "line", "roles"),
    [
        ("E1", "1.2", None),
        ("E1", "1.5", [LEADER, WORKER]),
        ("E1", "1.6", [{**LEADER, "replicas": 1}, {**WORKER, "replicas": 3}]),
        ("E2", "1.5", [WORKER, LEADER]),
        ("E2", "1.6", [{**WORKER, "replicas": 3}, {**LEADER, "replicas": 1}]),
        ("E6", "1.2", None),
        ("E8", "1.2", None),
        ("E8", "1.5", [{**LEADER, "providerOverride": TARGET}, WORKER]),
        ("E8", "1.6", [{**LEADER, "providerOverride": TARGET, "replicas": 1}, {**WORKER, "replicas": 3}]),
        ("E9", "1.2", None),
        ("E9", "1.5", [LEADER, WORKER]),
        ("E9", "1.6", [{**LEADER, "replicas": 1}, {**WORKER, "replicas": 3}]),
        ("E35", "1.5", [LEADER, WORKER]),
        ("E36", "1.5", [LEADER, WORKER]),
        ("E38", "1.5", [LEADER, WORKER]),
    ],
)
def test_a_line_stores_of_roles_what_its_definition_has(number: str, line: str, roles: list[Any] | None) -> None:
    assert _stored(number, line).get("roles") == roles


def test_a_line_stores_neither_the_roles_of_no_release_nor_a_number_of_lpx_components() -> None:
    """E7, E47 and ND1; what E59 asks of a request is kept since line 1.6."""
    assert [_stored("E7", line)["multinode"] for line in ("1.2", "1.5", "1.6")] == [{"nodeCount": 2}] * 3
    assert "replicas" not in _stored("E47", "1.6")
    assert [_stored("E59", line).get("features") for line in ("1.2", "1.5", "1.6")] == [{}, {}, {"kvRouter": {"enabled": True}}]


def test_line_1_6_writes_its_version_over_what_a_new_graph_says() -> None:
    [row] = [example for example in EXAMPLES if example.number == "E60"]
    for line, wanted in (("1.2", "0.9.0"), ("1.5", "0.9.0"), ("1.6", "1.6.0")):
        write = defaulted(row.obj, facts=facts_from({**FACTS, "operatorVersion": f"{line}.0"}))
        assert write.object["metadata"]["annotations"][ORIGIN_VERSION] == wanted


@pytest.mark.parametrize("part", [bare(spread(*BOTH)), lpx()], ids=["E65", "E66"])
def test_templates_of_roles_and_lpx_convert_without_a_remainder(part: dict[str, Any]) -> None:
    beta, kind = graph(part), kind_of("DynamoGraphDeployment", Line.V1_6)
    alpha = convert(kind, copy.deepcopy(beta), "v1alpha1").object
    assert [json.loads(text)["spec"] for text in alpha["metadata"].get("annotations", {}).values()] == [{}]
    assert alpha["spec"]["services"][part["name"]]["roles"] == part["roles"]
    again = convert(kind, alpha, "v1beta1").object
    assert again == beta
    assert convert(kind, again, "v1alpha1").object == alpha
