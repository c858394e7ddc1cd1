"""The generated schemas are up to date and carry every constraint and default of the API; embedded types resolve."""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from dynamo_webhooks.api.kinds import BY_ALIAS, list_kind_versions
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.schema import load_schema, resolve
from tests.api.constraint_table import TABLE, Node, nodes
from tools import schemas

ROWS: Final = [(kind, path, facets) for kind, rows in TABLE.items() for path, facets in rows]


def at(node: Node, path: str) -> Node:
    """Finds the node at a path such as `spec.services{}.envs[]`; embedded types are not entered."""
    for part in path.replace("[]", ".[]").replace("{}", ".{}").split("."):
        if part == "[]":
            node = node["items"]
        elif part == "{}":
            node = node["additionalProperties"]
        elif part:
            node = node["properties"][part]
    return node


def loaded(label: str) -> Node:
    alias, version = label.split()
    return load_schema(BY_ALIAS[alias].name, version, Line.V1_2)


def test_check_fails_when_a_file_is_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`--check` names changed, missing and surplus files, and is content after writing."""
    monkeypatch.setattr(schemas, "GENERATED", tmp_path)
    assert schemas.main([]) == 0
    assert schemas.main(["--check"]) == 0
    (tmp_path / "DynamoModel.v1alpha1.json").write_text("{}")
    (tmp_path / "DynamoCheckpoint.v1alpha1.json").unlink()
    (tmp_path / "Stranger.v1.json").write_text("{}")
    assert schemas.main(["--check"]) == 1
    assert {line.split()[0] for line in capsys.readouterr().err.splitlines()} == {
        "DynamoModel.v1alpha1.json",
        "DynamoCheckpoint.v1alpha1.json",
        "Stranger.v1.json",
    }


def test_every_kind_and_version_has_its_table() -> None:
    """No schema escapes the table of constraints."""
    assert {(BY_ALIAS[label.split()[0]].name, label.split()[1]) for label in TABLE} == set(list_kind_versions())


def test_constraints_stand_where_they_belong(subtests: pytest.Subtests) -> None:
    """Type, enum, pattern, bounds, default, required members, list type and CEL rules of each path; None means absent."""
    for label, path, facets in ROWS:
        with subtests.test(f"{label} {path} {next(iter(facets))}"):
            node = at(loaded(label), path)
            assert {key: node.get(key) for key in facets} == facets


ASKED_FOR: Final = {"default", "x-kubernetes-validations", "x-kubernetes-list-type"}


def test_every_default_rule_and_key_of_a_list_is_in_the_table() -> None:
    """The other way round: what the schemas default, check by CEL or merge by a key was asked for by a row."""
    for label, rows in TABLE.items():
        said = {(id(at(loaded(label), path)), key) for path, facets in rows for key in facets}
        for node in nodes(loaded(label)):
            assert all((id(node), key) in said for key in ASKED_FOR & node.keys()), f"{label}: {node}"


def test_roots_require_nothing(subtests: pytest.Subtests) -> None:
    """An object without a spec is admitted by the schema, as it always was; metadata is left to the API server."""
    for kind, version in list_kind_versions():
        with subtests.test(kind=kind, version=version):
            root = load_schema(kind, version, Line.V1_2)
            assert root["type"] == "object"
            assert "required" not in root
            assert root["properties"]["metadata"] == {"type": "object"}
            assert {"apiVersion", "kind", "spec"} <= root["properties"].keys()


def test_loading_needs_no_pydantic() -> None:
    """The command and the server read schemas without the models."""
    code = "import sys; from dynamo_webhooks.api import crd, kinds, schema; from dynamo_webhooks.api.models import constraints"
    code += "; schema.load_schema('DynamoModel', 'v1alpha1', '1.6')"
    code += "; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_unknown_schemas_are_an_error() -> None:
    """Asking for a kind or version that doesn't exist names it."""
    with pytest.raises(KeyError, match="DynamoModel v1beta1"):
        load_schema("DynamoModel", "v1beta1", Line.V1_2)


def test_resolved_types_are_shared() -> None:
    """Equal references give the identical type, so that compilers can memoise by identity."""
    one = resolve(at(load_schema("DynamoComponentDeployment", "v1alpha1", Line.V1_2), "spec.livenessProbe"))
    two = resolve(at(load_schema("DynamoGraphDeployment", "v1alpha1", Line.V1_2), "spec.services{}.readinessProbe"))
    assert one is two
    assert "httpGet" in one["properties"]
