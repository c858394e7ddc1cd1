"""`check --old` and `diff` with what `kubectl get -o yaml` printed: files are applied to it, as kubectl does."""

import json
from typing import Final

import pytest

from tests.cli.conftest import Command, Files

FILE: Final = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: chat, namespace: llm}
spec:
  components:
    - name: worker
      type: worker
      replicas: 2
      podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}}
"""
LIVE: Final = """\
apiVersion: v1
kind: List
items:
  - apiVersion: nvidia.com/v1beta1
    kind: DynamoGraphDeployment
    metadata:
      name: chat
      namespace: llm
      uid: 1a2b
      resourceVersion: "7"
      annotations:
        nvidia.com/workload-provider: grove
        nvidia.com/dynamo-operator-origin-version: 1.5.0
        kubectl.kubernetes.io/last-applied-configuration: |
          {last}
    spec:
      backendFramework: vllm
      components:
        - name: worker
          type: worker
          replicas: 1
          minAvailable: 1
          podTemplate: {{spec: {{containers: [{{name: main, image: "example/vllm:1.6.0"}}]}}}}
"""
GRAPH: Final = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "metadata": {"name": "chat", "annotations": {}}}
REPLICAS: Final = "~ spec.components[worker].replicas: 1 -> 2"
APPLIED_LIVE: Final = LIVE.format(last=json.dumps({**GRAPH, "spec": {"components": []}}))
DROPPED: Final = LIVE.format(last=json.dumps({**GRAPH, "spec": {"components": [], "backendFramework": "vllm"}}))


def _lines(out: str) -> list[str]:
    return [line.strip() for line in out.splitlines()[1:]]


def test_what_a_file_never_had_stays_as_the_cluster_has_it(command: Command, files: Files) -> None:
    files(chat=FILE, live=APPLIED_LIVE)
    ran = command("check", "chat.yaml", "--old", "live.yaml", "-o", "json")
    assert (ran.code, ran.json["findings"]) == (0, [])
    assert _lines(command("diff", "-q", "live.yaml", "chat.yaml").out) == [REPLICAS]


def test_what_a_file_had_when_it_was_applied_is_taken_away(command: Command, files: Files) -> None:
    files(chat=FILE, live=DROPPED)
    ran = command("check", "chat.yaml", "--old", "live.yaml", "-o", "json")
    assert [one["rule"] for one in ran.json["findings"] if one["level"] == "error"] == ["dgd-backend-immutable"]
    told = _lines(command("diff", "-q", "live.yaml", "chat.yaml").out)
    assert told[:2] == ['- spec.backendFramework: "vllm"', REPLICAS]
    assert "dgd-backend-immutable" in told[2]


@pytest.mark.parametrize("swapped", [False, True])
def test_what_only_webhooks_write_is_no_difference(command: Command, files: Files, swapped: bool) -> None:
    same = APPLIED_LIVE.replace("replicas: 1", "replicas: 2")
    files(chat=FILE.replace("spec:\n", "spec:\n  backendFramework: vllm\n", 1), live=same)
    sides = ("chat.yaml", "live.yaml") if swapped else ("live.yaml", "chat.yaml")
    ran = command("diff", "-q", *sides)
    assert (ran.code, ran.out) == (0, "")


def test_an_edited_copy_of_what_a_cluster_holds_replaces_it(command: Command, files: Files) -> None:
    files(edited=APPLIED_LIVE.replace("      backendFramework: vllm\n", ""), live=APPLIED_LIVE)
    ran = command("check", "edited.yaml", "--old", "live.yaml", "-o", "json")
    assert [one["rule"] for one in ran.json["findings"] if one["level"] == "error"] == ["dgd-backend-immutable"]
