"""Hints lead to files that are accepted: each is followed, and the file checked again."""

from typing import Final

import pytest

from tests.cli.conftest import Command, Files
from tests.cli.samples import GOOD, MAIN, graph, manifest

BETA: Final = graph(f"name: worker, type: worker, {MAIN}".replace("{spec: {", "{spec: {terminationGracePeriodSeconds: 30, "))
REQUEST: Final = manifest(
    "DynamoGraphDeploymentRequest", "v1beta1", "{model: Qwen/Qwen3-0.6B, image: example/profiler:1.6.0, sla: {ttft: 800, itl: 20}}"
)
# the file; what is written wrong in it; the hints of all errors
HINTS: Final = {
    "a misspelt list is no missing one": (BETA, ("components", "component"), {"Rename component to components", "Rename it to components"}),
    "a missing field is there by another name": (REQUEST, ("model:", "modell:"), {"Rename modell to model", "Rename it to model"}),
    "a number with its unit": (REQUEST, ("800", "800ms"), {"Write 800, without a unit: the field is in milliseconds"}),
    "seconds with their unit": (BETA, ("30", "30s"), {"Write 30, without a unit: the field is in seconds"}),
    "the other version's name of one field": (GOOD, ("replicas: 2", "replicas: 2\n      type: worker"), {"Write componentType"}),
    "the other version's fields alone": (
        BETA,
        ("v1beta1", "v1alpha1"),
        {"Write services, or apiVersion: nvidia.com/v1beta1", "Write services in place of components"},
    ),
    "a short name of a kind": (
        REQUEST,
        ("DynamoGraphDeploymentRequest", "DGDR"),
        {"Use one of the kinds and versions that `dynamo-webhooks version` lists"},
    ),
}


@pytest.mark.parametrize("name", HINTS)
def test_a_hint_leads_to_a_file_that_is_accepted(command: Command, files: Files, name: str) -> None:
    right, (written, wrong), hints = HINTS[name]
    files(right=right, wrong=right.replace(written, wrong, 1))
    errors = [finding for finding in command("check", "wrong.yaml", "-o", "json").json["findings"] if finding["level"] == "error"]
    assert {error["fix"] for error in errors} == hints
    assert [finding for finding in command("check", "right.yaml", "-o", "json").json["findings"] if finding["level"] == "error"] == []


def test_a_short_name_of_a_kind_is_known(command: Command, files: Files) -> None:
    files(wrong=REQUEST.replace("DynamoGraphDeploymentRequest", "DGDR"))
    assert "did you mean DynamoGraphDeploymentRequest?" in command("check", "wrong.yaml").out


def test_a_placeholder_in_braces_is_to_be_quoted(command: Command, files: Files) -> None:
    files(wrong=BETA.replace("namespace: llm", "namespace: ${SPACE}"), right=BETA.replace("namespace: llm", 'namespace: "${SPACE}"'))
    assert "wrong.yaml:3:33: a map in braces must be closed with }; put ${SPACE} in quotes" in command("check", "wrong.yaml").err
    assert "metadata.namespace\n  must hold no placeholder, got ${SPACE}" in command("check", "right.yaml").out
