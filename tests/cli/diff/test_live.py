"""`diff --cluster`: what an apply would change of a cluster's objects, and what it would be told; nothing is written there."""

import asyncio
from collections.abc import Callable
from typing import Final

import pytest

from dynamo_webhooks.kube.errors import UnavailableError
from dynamo_webhooks.kube.resources import NAMESPACES
from tests.cli.clusters import cluster
from tests.cli.conftest import Command, Files
from tests.cli.samples import BAD, BAD_RULE, GOOD, OTHER_KIND

LIVE: Final = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: chat
  namespace: llm
  labels: {argocd: app}
  annotations: {nvidia.com/dynamo-operator-origin-version: 1.2.0}
spec:
  backendFramework: vllm
  services:
    frontend: {componentType: frontend, replicas: 3}
    worker:
      componentType: worker
      multinode: {nodeCount: 2}
      envs: [{name: HF_TOKEN, value: s3cr3t-one}]
"""
FILE: Final = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: chat}
spec:
  backendFramework: sglang
  services:
    frontend: {componentType: frontend}
    worker:
      componentType: worker
      multinode: {nodeCount: 2}
      envs: [{name: HF_TOKEN, value: s3cr3t-two}]
"""
Connected = Callable[..., list[tuple[str, ...]]]
CLUSTER: Final = ("--cluster", "-n", "llm", "--line", "1.2")


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
def test_what_an_apply_would_change_and_be_told(command: Command, files: Files, connected: Connected, version: str) -> None:
    made = cluster(LIVE, GOOD)
    made.writes.clear()
    calls = connected(made)
    folder = files(chat=FILE)
    (folder / "chat.yaml").write_text(command("convert", "chat.yaml", "--to", version).out)
    ran = command("diff", "chat.yaml", *CLUSTER, "--context", "c")
    assert (ran.code, made.writes, made.closed, calls[0][1:]) == (1, [], True, ("", "c"))
    head, *lines = [line.strip() for line in ran.out.splitlines()]
    assert head == "DynamoGraphDeployment llm/chat  cluster:dynamographdeployments/llm/chat:1 -> chat.yaml:1"
    assert '~ spec.backendFramework: "vllm" -> "sglang"' in lines
    [variable] = [line for line in lines if "HF_TOKEN" in line]
    assert variable.endswith('"<hidden>", another value')
    changes = [line for line in lines if line[0] in "~+-"]  # not the labels and annotations that others wrote, nor replicas in a map
    assert len(changes) == (2 if version == "v1alpha1" else 3), "kubectl replaces lists"
    assert [line for line in lines if "dgd-backend-immutable" in line]
    assert "s3cr3t" not in ran.out + ran.err + command("diff", "chat.yaml", *CLUSTER, "-o", "json").out


def test_what_is_not_there_is_new_and_what_no_file_names_stays(command: Command, files: Files, connected: Connected) -> None:
    connected(cluster(LIVE, GOOD))
    files(chat=FILE.replace("sglang", "vllm").replace("two", "one"), new=GOOD.replace("good", "new"), other=OTHER_KIND)
    ran = command("diff", ".", *CLUSTER)
    assert (ran.code, ran.err) == (1, "2 objects: 1 added, 1 equal\n")
    assert ran.out == "DynamoGraphDeployment llm/new  only in new.yaml:1\n"
    assert command("diff", "chat.yaml", *CLUSTER).code == 0


def test_what_the_cluster_would_refuse_is_told_of_new_objects_and_where_nothing_differs(
    command: Command, files: Files, connected: Connected
) -> None:
    connected(cluster(LIVE))
    same = FILE.replace("sglang", "vllm").replace("two", "one")
    files(chat=same.replace("spec:\n", "spec:\n  replicass: 2\n"), new=BAD)
    ran = command("diff", ".", *CLUSTER)
    findings = [line.split()[1:4:2] for line in ran.out.splitlines() if line.startswith("  ! ")]
    assert findings == [["new.yaml:10:7", BAD_RULE], ["chat.yaml:5:3", "unknown-field"]]
    assert (ran.code, ran.err) == (1, "2 objects: 1 added, 1 changed (1 of them written differently)\n")


def test_a_refusal_of_what_means_the_same_and_of_a_namespace_is_told(command: Command, files: Files, connected: Connected) -> None:
    made = cluster(LIVE)
    for name, phase in (("llm", "Active"), ("going", "Terminating")):
        asyncio.run(made.create(NAMESPACES, {"metadata": {"name": name}, "status": {"phase": phase}}))
    connected(made)
    same = FILE.replace("sglang", "vllm").replace("two", "one").replace("name: chat", "name: chat, namespace: llm, resourceVersion: '77'")
    files(same=same, new=GOOD.replace("namespace: llm", "namespace: nowhere"), going=GOOD.replace("llm", "going"))
    ran = command("diff", ".", "--cluster", "--line", "1.2")
    findings = [line.split()[1:4:2] for line in ran.out.splitlines() if line.startswith("  ! ")]
    missing = [["going.yaml:5:14", "namespace-missing"], ["new.yaml:5:14", "namespace-missing"]]
    assert sorted(findings) == [*missing, ["same.yaml:3:57", "object-conflict"]]
    assert ran.code == 1


def test_a_cluster_that_does_not_answer_is_code_6_and_what_may_not_be_listed_code_4(
    command: Command, files: Files, connected: Connected
) -> None:
    files(chat=FILE)
    made = cluster(LIVE)
    connected(made)
    made.denied.add(("list", "dynamographdeployments"))
    ran = command("diff", "chat.yaml", *CLUSTER)
    assert (ran.code, ran.out, "can't be listed" in ran.err) == (4, "", True)
    made.fail(lambda *_: UnavailableError(0, "", "nobody there"))
    assert command("diff", "chat.yaml", *CLUSTER) == (6, "", "the cluster can't be asked: nobody there\n")


def test_an_object_that_can_not_be_read_is_said(command: Command, files: Files, connected: Connected) -> None:
    connected(cluster(LIVE))
    files(chat=FILE.replace("replicas: 3", "replicas: three").replace("{componentType: frontend}", "[]"))
    ran = command("diff", "chat.yaml", *CLUSTER)
    assert (ran.code, "can't be compared" in ran.out) == (1, True)
