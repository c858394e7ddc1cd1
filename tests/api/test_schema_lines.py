"""The operator's lines: what tells which one it is, and that what each adds and changes is what is known of its definitions."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from dynamo_webhooks.api.crd import build, by_service, manifest
from dynamo_webhooks.api.kinds import BY_NAME, KINDS, list_kind_versions
from dynamo_webhooks.api.line import DEFAULT_LINE, NEWEST, Line, decide_line, is_beyond, of_definition, of_definitions
from dynamo_webhooks.api.schema import MARKS, load_schema
from dynamo_webhooks.api.walk.validate import rule_of
from tests.api.test_crd import LAST_APPLIED_LIMIT

Node = dict[str, Any]
ADDED: Final = [(Line.V1_2, Line.V1_5), (Line.V1_5, Line.V1_6), (Line.V1_6, Line.V1_7)]
GRAPH, REQUEST = "DynamoGraphDeployment", "DynamoGraphDeploymentRequest"
RULES: Final = "x-kubernetes-validations"
_FREE: Final = "x-kubernetes-preserve-unknown-fields"
_STRUCTURE: Final = ("properties", "items", "additionalProperties", "description", RULES)


def _nodes(node: Node, path: str = "") -> Iterator[tuple[str, Node]]:
    yield path, node
    for name, member in node.get("properties", {}).items():
        yield from _nodes(member, f"{path}.{name}" if path else name)
    for key, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(node.get(key), dict):
            yield from _nodes(node[key], path + mark)


def _schema(kind: str, line: Line) -> dict[str, dict[str, Node]]:
    """The nodes of every version by path; none of a kind that comes later."""
    versions = build(kind, line=line)["spec"]["versions"] if BY_NAME[kind].since <= line else []
    return {version["name"]: dict(_nodes(version["schema"]["openAPIV3Schema"])) for version in versions}


def _facets(node: Node) -> Node:
    return {key: value for key, value in node.items() if key not in _STRUCTURE}


def test_line_1_2_has_the_known_fields_and_no_others() -> None:
    """With their facets and rules; Kubernetes' types are named, and not entered."""
    fields = []
    for kind, version in list_kind_versions(Line.V1_2):
        for path, node in _nodes(load_schema(kind, version, Line.V1_2)):
            rules = {"rules": [{**entry, "rule": _id(entry)} for entry in node[RULES]]} if RULES in node else {}
            fields.append(f"{kind} {version} {path or '.'} {json.dumps(_facets(node) | rules)}")
    known = Path(__file__).with_name("line-1.2-fields.txt").read_text().splitlines()[1:]
    assert sorted({*fields} ^ {*known}) == []
    assert len(fields) == len(known)


def test_a_line_adds_the_known_fields_and_takes_none_away(subtests: pytest.Subtests) -> None:
    for older, newer in ADDED:
        for kind in (kind.name for kind in KINDS):
            with subtests.test(older=older, newer=newer, kind=kind):
                wanted: dict[tuple[str, str], Node] = {}
                for line in Path(__file__).with_name(f"line-{newer}-fields.txt").read_text().splitlines()[1:]:
                    name, version, path, facets = line.split(" ", 3)
                    if name == kind:
                        wanted[version, path] = json.loads(facets)
                fields: dict[tuple[str, str], Node] = {}
                before, since = _schema(kind, older), _schema(kind, newer)
                for version, nodes in since.items():
                    known = before.get(version, {})
                    assert known.keys() <= nodes.keys()
                    added = {path: node for path, node in nodes.items() if path not in known and "roles[].podTemplate." not in path}
                    fields |= {(version, path): _facets(node) for path, node in added.items()}
                assert fields == wanted, f"what is meant belongs into tests/api/line-{newer}-fields.txt: KIND VERSION PATH FACETS"


def _changes(kind: str, older: Line, newer: Line) -> dict[str, Any]:
    """Of what both lines have: what changes, by version and path."""
    before, since = _schema(kind, older), _schema(kind, newer)
    changes: dict[str, Any] = {}
    for version, nodes in since.items():
        for path, node in nodes.items():
            old = before.get(version, {}).get(path)
            if old is None:
                continue
            earlier, other = _facets(old), _facets(node)
            changed = {key: (earlier.get(key), other.get(key)) for key in {*earlier, *other} if earlier.get(key) != other.get(key)}
            texts = [[_id(entry) for entry in each.get(RULES, ())] for each in (old, node)]
            if texts[0] != texts[1]:
                changed["rules"] = (sorted({*texts[0]} - {*texts[1]}), sorted({*texts[1]} - {*texts[0]}))
            if changed:
                changes[f"{version} {path}"] = changed
    return changes


def _id(entry: Node) -> str:
    return rule_of(entry["rule"]).id


def test_a_line_changes_the_known_constraints_and_no_others(subtests: pytest.Subtests) -> None:
    for older, newer in ADDED:
        with subtests.test(newer=newer):
            rows = [(kind.name, *row) for kind in KINDS for row in _changes(kind.name, older, newer).items()]
            changes = {f"{name} {place} {json.dumps(changed, sort_keys=True)}" for name, place, changed in rows}
            known = Path(__file__).with_name(f"line-{newer}-changes.txt").read_text().splitlines()[1:]
            assert sorted(changes ^ {*known}) == []


def test_templates_of_roles_are_those_of_components_but_for_their_longest_parts() -> None:
    nodes = _schema("DynamoGraphDeployment", Line.V1_6)["v1beta1"]
    whole, brief = "spec.components[].podTemplate.", "spec.components[].roles[].podTemplate."
    known = {path.removeprefix(brief) for path in nodes if path.startswith(brief)}
    left_out = {path.removeprefix(whole) for path in nodes if path.startswith(whole)} - known
    open_parts = {path.removeprefix(brief) for path, node in nodes.items() if path.startswith(brief) and node.get(_FREE)}
    assert open_parts
    assert all(any(path.startswith((f"{part}.", f"{part}{{", f"{part}[")) for part in open_parts) for path in left_out)


def test_a_rule_about_the_first_write_sees_optional_old_values() -> None:
    for version in _schema("DynamoGraphDeployment", Line.V1_5).values():
        assert [entry.get("optionalOldSelf") for entry in version["spec"][RULES]] == [True]


def test_definitions_fit_the_annotation_of_kubectl_apply() -> None:
    assert [
        f"{kind.alias} {line}"
        for line in Line
        for kind in KINDS
        if len(orjson.dumps(manifest(kind.name, by_service(), "test", line))) >= LAST_APPLIED_LIMIT
    ] == []


def test_the_definitions_since_line_1_5_store_the_newest_version(subtests: pytest.Subtests) -> None:
    rows: list[Line] = [Line.V1_5, Line.V1_6, Line.V1_7]
    for line in rows:
        for kind in KINDS:
            with subtests.test(kind.alias):
                crd = manifest(kind.name, by_service(), "test", line)
                assert (
                    [version["name"] for version in crd["spec"]["versions"] if version["storage"]]
                    == [kind.stored(line)]
                    == [kind.versions[-1].name]
                )
                assert not any(mark in node for version in _schema(kind.name, line).values() for node in version.values() for mark in MARKS)
                for version in crd["spec"]["versions"]:
                    for column in version["additionalPrinterColumns"]:
                        assert column["name"] != "Hash"


def test_definitions_tell_their_line() -> None:
    made = {(name, line): build(name, line=line) for name in (GRAPH, REQUEST) for line in Line}
    assert [of_definitions(made[GRAPH, line], made[REQUEST, line]) for line in Line] == list(Line)
    assert [of_definition(made[GRAPH, line]) for line in Line] == [*list(Line)[:-1], Line.V1_6]
    left_over = [of_definitions(made[GRAPH, line], made[REQUEST, Line.V1_7]) for line in Line if line < Line.V1_6]
    assert left_over == [line for line in Line if line < Line.V1_6]


def test_requests_tell_line_1_7_with_and_without_a_version_of_their_own() -> None:
    graphs = build(GRAPH, line=Line.V1_7)
    unserved, switched_off, neither = (build(REQUEST, line=Line.V1_7) for _ in range(3))
    unserved["spec"]["versions"] = [{"name": "v1beta2", "served": False}]  # E40
    switched_off["spec"]["versions"] = [each for each in switched_off["spec"]["versions"] if each["name"] == "v1beta1"]  # E41
    neither["spec"]["versions"] = build(REQUEST, line=Line.V1_6)["spec"]["versions"]
    rows: list[Any] = [unserved, switched_off, neither, None, {"spec": {"versions": [{"name": []}]}}]
    lines = [of_definitions(graphs, each) for each in rows]
    assert lines == [Line.V1_7, Line.V1_7, Line.V1_6, Line.V1_6, Line.V1_6]


def test_a_version_tells_its_line() -> None:
    rows: list[tuple[str, Line]] = [
        ("1.2.0", Line.V1_2),
        ("v1.2", Line.V1_2),
        ("1", Line.V1_2),
        ("1.3.1", Line.V1_3),
        ("1.4.9", Line.V1_4),
        ("1.4.0-rc1", Line.V1_4),
        ("1.5.0", Line.V1_5),
        ("v1.5.0-rc.1+x", Line.V1_5),
        ("1.6.1", Line.V1_6),
        ("1.7.0-rc1", Line.V1_7),
        ("1.10.0", NEWEST),
        ("2", NEWEST),
        ("0.9.0", Line.V1_2),
        ("", DEFAULT_LINE),
        ("0.0.0", DEFAULT_LINE),
        ("0.0.0-dev", DEFAULT_LINE),
        ("main", DEFAULT_LINE),
    ]
    assert [(version, line, decided) for version, line in rows if (decided := decide_line(version)) is not line] == []


def test_a_released_version_goes_before_the_definition_and_a_development_build_behind_it() -> None:
    assert [decide_line(version, Line.V1_3) for version in ("1.2.0", "0.0.0", "dev", "")] == [Line.V1_2, *[Line.V1_3] * 3]


def test_versions_beyond_the_newest_line_are_known_to_be() -> None:
    assert [is_beyond(version) for version in (f"{NEWEST}.9", "1.99.0", "dev", "")] == [False, True, False, False]


def test_a_definition_without_a_schema_tells_none() -> None:
    rows: list[Any] = [
        None,
        [],
        {},
        {"spec": None},
        {"spec": {"versions": {"name": "v1beta1"}}},
        {"spec": {"versions": [None, 1, {"name": "v1alpha1"}]}},
        {"spec": {"versions": [{"name": "v1beta1", "schema": {"openAPIV3Schema": [1]}}]}},
    ]
    assert [(crd, line) for crd in rows if (line := of_definition(crd)) is not None] == []
