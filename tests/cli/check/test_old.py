"""`check --old` and `diff` with what `kubectl get -o yaml` printed: files are applied to it, as kubectl does."""

import json
from typing import Any

import pytest

from tests.cli.conftest import Command, Files
from tests.cli.samples import MAIN, graph
from tests.rows import run_each

FILE = graph(f"name: worker, type: worker, replicas: 2, {MAIN}")
REPLICAS = "~ spec.components[worker].replicas: 1 -> 2"
IMMUTABLE = "dgd-backend-immutable"


def live(**spec: Any) -> str:
    """What a cluster holds of a graph whose file had some spec when it was applied last."""
    head = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "metadata": {"name": "g", "annotations": {}}}
    last = json.dumps({**head, "spec": {"components": [], **spec}})
    added = "nvidia.com/workload-provider: grove, nvidia.com/dynamo-operator-origin-version: 1.5.0"
    applied = f"kubectl.kubernetes.io/last-applied-configuration: '{last}'"
    text = graph(f"name: worker, type: worker, replicas: 1, minAvailable: 1, {MAIN}", more="  backendFramework: vllm\n")
    return text.replace("namespace: llm", f'namespace: llm, uid: 1a2b, resourceVersion: "7", annotations: {{{added}, {applied}}}')


@run_each(
    ("spec", "rules", "expected"),
    [
        ({}, [], [REPLICAS]),  # what the file never had stays as the cluster has it
        ({"backendFramework": "vllm"}, [IMMUTABLE, "warn-backend-framework-change"], ['- spec.backendFramework: "vllm"', REPLICAS]),
    ],
)
def test_a_file_is_applied_to_what_a_cluster_holds(
    command: Command, files: Files, spec: dict[str, Any], rules: list[str], expected: list[str]
) -> None:
    files(file=FILE, live=live(**spec))
    assert [finding["rule"] for finding in command("check", "file.yaml", "--old", "live.yaml", "-o", "json").json["findings"]] == rules
    lines = [line.strip() for line in command("diff", "-q", "live.yaml", "file.yaml").out.splitlines()[1:]]
    assert lines[: len(expected)] == expected
    assert all(rule in line for rule, line in zip(rules, lines[len(expected) :], strict=True))


@pytest.mark.parametrize("swapped", [False, True])
def test_what_only_webhooks_write_is_no_difference(command: Command, files: Files, swapped: bool) -> None:
    files(file=FILE.replace("spec:", "spec:\n  backendFramework: vllm", 1), live=live().replace("replicas: 1", "replicas: 2"))
    ran = command("diff", "-q", *(("file.yaml", "live.yaml") if swapped else ("live.yaml", "file.yaml")))
    assert (ran.code, ran.out) == (0, "")


def test_an_edited_copy_of_what_a_cluster_holds_replaces_it(command: Command, files: Files) -> None:
    files(edited=live().replace("  backendFramework: vllm\n", ""), live=live())
    findings = command("check", "edited.yaml", "--old", "live.yaml", "-o", "json").json["findings"]
    assert IMMUTABLE in {finding["rule"] for finding in findings}
