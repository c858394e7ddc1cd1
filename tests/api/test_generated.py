"""The generated schemas are found to be stale when they are, load without the models, and resolve embedded types."""

import subprocess
import sys
from pathlib import Path

import pytest

from dynamo_webhooks.api.kinds import list_kind_versions
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.schema import load_schema, resolve
from tools import schemas


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
    alone, graph = (
        load_schema(f"Dynamo{kind}", "v1alpha1", Line.V1_2)["properties"]["spec"]["properties"]
        for kind in ("ComponentDeployment", "GraphDeployment")
    )
    one = resolve(alone["livenessProbe"])
    two = resolve(graph["services"]["additionalProperties"]["properties"]["readinessProbe"])
    assert one is two
    assert "httpGet" in one["properties"]
