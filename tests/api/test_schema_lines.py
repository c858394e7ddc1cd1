"""The schemas of both lines of the operator: what 1.5 adds and changes is what its own definitions say, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from dynamo_webhooks.api.cel.rules import TWINS
from dynamo_webhooks.api.crd import build
from dynamo_webhooks.api.crd_manifest import by_service, manifest
from dynamo_webhooks.api.kinds import KINDS
from dynamo_webhooks.api.line import Line, of_definition
from dynamo_webhooks.api.schema import MARKS
from tests.api.test_crd import LAST_APPLIED_LIMIT

Node = dict[str, Any]
ADDED: Final = Path(__file__).with_name("line-1.5-fields.txt")
RULES: Final = "x-kubernetes-validations"
_STRUCTURE: Final = ("properties", "items", "additionalProperties", "description", RULES)


def _nodes(node: Node, path: str = "") -> Iterator[tuple[str, Node]]:
    yield path, node
    for name, member in node.get("properties", {}).items():
        yield from _nodes(member, f"{path}.{name}" if path else name)
    for key, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(node.get(key), dict):
            yield from _nodes(node[key], path + mark)


def _schema(kind: str, line: Line) -> dict[str, dict[str, Node]]:
    """The nodes of every version by path."""
    versions = build(kind, line=line)["spec"]["versions"]
    return {version["name"]: dict(_nodes(version["schema"]["openAPIV3Schema"])) for version in versions}


def _facets(node: Node) -> Node:
    return {key: value for key, value in node.items() if key not in _STRUCTURE}


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_line_1_5_adds_the_measured_fields_and_takes_none_away(kind: str) -> None:
    wanted: dict[tuple[str, str], Node] = {}
    for line in ADDED.read_text().splitlines()[1:]:
        name, version, path, facets = line.split(" ", 3)
        if name == kind:
            wanted[version, path] = json.loads(facets)
    found: dict[tuple[str, str], Node] = {}
    before, since = _schema(kind, Line.V1_2), _schema(kind, Line.V1_5)
    for version, nodes in since.items():
        assert before[version].keys() <= nodes.keys()
        found |= {(version, path): _facets(node) for path, node in nodes.items() if path not in before[version]}
    assert found == wanted


# of what both lines have: what changes, by version and path (one component stands for all)
_CHECKPOINT: Final = {"v1alpha1": "checkpoint", "v1beta1": "experimental.checkpoint"}


def _changes(kind: str) -> dict[str, Any]:
    before, since = _schema(kind, Line.V1_2), _schema(kind, Line.V1_5)
    found: dict[str, Any] = {}
    for version, nodes in since.items():
        for path, node in nodes.items():
            old = before[version].get(path)
            if old is None:
                continue
            one, other = _facets(old), _facets(node)
            changed = {key: (one.get(key), other.get(key)) for key in {*one, *other} if one.get(key) != other.get(key)}
            texts = [[_id(entry) for entry in each.get(RULES, ())] for each in (old, node)]
            if texts[0] != texts[1]:
                changed["rules"] = ({*texts[0]} - {*texts[1]}, {*texts[1]} - {*texts[0]})
            if changed:
                found[f"{version} {path}"] = changed
    return found


def _id(entry: Node) -> str:
    return next(twin.id for twin in TWINS if twin.rule == entry["rule"])


def _component(version: str, prefix: str) -> dict[str, Any]:
    block = f"{version} {prefix}.{_CHECKPOINT[version]}"
    gone = {"cel-ckpt-source", "cel-ckpt-job-auto"}
    rows: dict[str, Any] = {
        f"{version} {prefix}": {"rules": (set(), {"cel-min-available-immutable", "cel-min-available-replicas"})},
        f"{block}.mode": {"default": ("Auto", None)},
        block: {"rules": (gone, set())},
    }
    if version == "v1beta1":
        rows[block]["required"] = (None, ["enabled"])
        pod = f"{version} {prefix}.podTemplate"
        rows[f"{pod}.metadata.annotations"] = {"rules": (set(), {"cel-pod-vllm-executor"})}
        rows[f"{pod}.metadata.annotations{{}}"] = {"maxLength": (None, 262144)}
        rows[f"{pod}.spec.containers[]"] = {"rules": (set(), {"cel-sidecar-image"})}
        rows[f"{pod}.spec.initContainers[]"] = {"rules": (set(), {"cel-init-image"})}
    return rows


def test_line_1_5_changes_the_measured_constraints_and_no_other() -> None:
    graph: dict[str, Any] = {}
    for version in ("v1alpha1", "v1beta1"):
        graph[f"{version} spec"] = {"rules": (set(), {"cel-restart-on-create"})}
        graph[f"{version} spec.experimental.kvTransferPolicy"] = {"rules": ({"cel-kvt-label-required"}, {"cel-kvt-one-source"})}
    assert _changes("DynamoGraphDeployment") == (
        graph | _component("v1alpha1", "spec.services{}") | _component("v1beta1", "spec.components[]")
    )
    assert _changes("DynamoComponentDeployment") == _component("v1alpha1", "spec") | _component("v1beta1", "spec")
    conditions = "v1beta1 spec.overrides.profilingJob.podFailurePolicy.rules[].onPodConditions[]"
    assert _changes("DynamoGraphDeploymentRequest") == {conditions: {"required": (["status", "type"], ["type"])}}
    for kind in ("DynamoGraphDeploymentScalingAdapter", "DynamoCheckpoint", "DynamoModel", "DynamoWorkerMetadata"):
        assert _changes(kind) == {}


def test_a_rule_about_the_first_write_sees_optional_old_values() -> None:
    for version in _schema("DynamoGraphDeployment", Line.V1_5).values():
        assert [entry.get("optionalOldSelf") for entry in version["spec"][RULES]] == [True]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.alias)
def test_the_definitions_of_line_1_5_store_the_newest_version_and_fit_an_annotation(kind: Any) -> None:
    crd = manifest(kind.name, by_service(), "test", Line.V1_5)
    assert (
        [version["name"] for version in crd["spec"]["versions"] if version["storage"]]
        == [kind.stored(Line.V1_5)]
        == [kind.versions[-1].name]
    )
    assert len(orjson.dumps(crd)) < LAST_APPLIED_LIMIT
    assert not any(mark in node for version in _schema(kind.name, Line.V1_5).values() for node in version.values() for mark in MARKS)
    for version in crd["spec"]["versions"]:
        for column in version["additionalPrinterColumns"]:
            assert column["name"] != "Hash"


def test_a_definition_tells_its_line() -> None:
    assert [of_definition(build("DynamoGraphDeployment", line=line)) for line in Line] == list(Line)
