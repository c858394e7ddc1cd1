"""Documents of earlier forms of the API: `check` says what they are, and nothing else of them."""

import pytest

from tests.cli.conftest import Command, Files

LEGACY = "apiVersion: nvidia.com/v1alpha1\nkind: {kind}\nmetadata: {{name: old}}\nspec: {spec}\n"


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("DynamoGraphDeployment", "{dynamoComponent: 'registry/graph:1', services: {}}"),
        ("DynamoDeployment", "{dynamoNim: 'graph:1'}"),
        ("DynamoNimDeployment", "{dynamoNim: 'graph:1'}"),
        ("DynamoComponent", "{dynamoComponent: 'graph:1'}"),
        ("DynamoNimRequest", "{bentoTag: 'graph:1'}"),
        ("DynamoComponentDeployment", "{dynamoComponent: 'graph:1', dynamoTag: x}"),
    ],
)
def test_a_legacy_document_is_one_finding(command: Command, files: Files, kind: str, spec: str) -> None:
    files(a=LEGACY.format(kind=kind, spec=spec))
    ran = command("check", "a.yaml", "-o", "json")
    (found,) = ran.json["findings"]
    assert ran.code == 1
    assert (found["rule"], found["code"], found["level"], found["stage"]) == ("legacy-kind", "DYN009", "error", "decode")
    assert (found["path"], found["line"]) == ("kind", 2)
    assert kind in found["message"]
    assert "dynamo-webhooks convert" in found["fix"]


def test_a_kind_of_today_is_none(command: Command, files: Files) -> None:
    files(a=LEGACY.format(kind="DynamoGraphDeployment", spec="{services: {w: {componentType: worker}}}"))
    assert command("check", "--line", "1.2", "a.yaml").code == 0
