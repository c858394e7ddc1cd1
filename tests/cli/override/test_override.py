"""The command `override`: formats, what stays of the text, requests as patches, refusals, and exit codes."""

import json
from typing import Any

import yaml

from tests.cli.conftest import Command, Files
from tests.rows import run_each

BLUEPRINT = """\
# what the profiler chose
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: chat}
spec:
  components:
    - name: worker   # decodes
      type: worker
      podTemplate:
        spec:
          containers:
            - {name: main, image: "img:1.5.0", args: [--model, m], env: [{name: A, value: "1"}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: data}   # stays
"""
PATCH = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
spec: {services: {worker: {replicas: 3, extraPodSpec: {mainContainer: {env: [{name: B, value: "2"}]}}}}}
"""
FACTS = ("--set-fact", "grove=false", "--set-fact", "lws=false", "--set-fact", "dra=true")


def test_a_patch_of_another_version_changes_its_fields_alone(command: Command, files: Files) -> None:
    files(a=BLUEPRINT, b=PATCH)
    ran = command("override", "a.yaml", "b.yaml", *FACTS)
    assert (ran.code, ran.err) == (0, "")
    graph, config = yaml.safe_load_all(ran.out)
    (worker,) = graph["spec"]["components"]
    assert worker["replicas"] == 3
    assert worker["podTemplate"]["spec"]["containers"][0]["env"] == [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    assert config["metadata"] == {"name": "data"}
    assert "# what the profiler chose" in ran.out
    assert "name: worker   # decodes" in ran.out
    assert ran.out.endswith("metadata: {name: data}   # stays\n")


def test_json_is_the_graph_and_diff_what_changes_and_only_one_side_is_standard_input(command: Command, files: Files) -> None:
    files(a=BLUEPRINT, b=PATCH)
    assert command("override", "-", "-").code == 2
    found = command("override", "a.yaml", "b.yaml", "-o", "json", *FACTS).json
    assert (found["kind"], found["metadata"]["name"]) == ("DynamoGraphDeployment", "chat")
    out = command("override", "a.yaml", "b.yaml", "-o", "diff", *FACTS).out
    assert [line for line in out.splitlines() if line[:1] in "+-" and "replicas" in line] == ["+      replicas: 3"]


def test_the_patch_may_be_a_request_and_the_graph_an_item_of_a_list(command: Command, files: Files) -> None:
    graph, config = yaml.safe_load_all(BLUEPRINT)
    request: dict[str, Any] = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeploymentRequest", "metadata": {"name": "r"}}
    said: dict[str, Any] = {**yaml.safe_load(PATCH), "metadata": {"name": "other", "labels": {"team": "a"}}}
    said["spec"]["services"]["wroker"] = {"replicas": 1}
    request["spec"] = {"model": "m", "overrides": {"dgd": said}}
    files(a=json.dumps({"apiVersion": "v1", "kind": "List", "items": [config, graph]}), b=json.dumps(request))
    ran = command("override", "a.yaml", "b.yaml", *FACTS)
    assert ran.code == 0
    kept, merged = yaml.safe_load(ran.out)["items"]
    assert kept == config
    assert (merged["metadata"]["name"], merged["metadata"]["labels"]) == ("chat", {"team": "a"})
    assert merged["spec"]["components"][0]["replicas"] == 3
    assert ran.err.startswith("b.yaml: spec.overrides.dgd: spec.services[wroker]: is dropped, since the graph has no such component")
    assert command("override", "a.yaml", "b.yaml", "-q", *FACTS).err == ""


def test_a_graph_that_would_be_refused_is_printed_with_the_reasons(command: Command, files: Files) -> None:
    refused = PATCH.replace("replicas: 3", "replicas: -3, multinode: {nodeCount: 2}")
    files(a=BLUEPRINT, b=refused)
    ran = command("override", "a.yaml", "b.yaml", *FACTS)
    assert ran.code == 1
    assert "replicas: -3" in ran.out
    lines = ran.err.splitlines()
    assert all(line.startswith("a.yaml: the merged graph would be refused: spec.components[0].") for line in lines)
    assert any(".replicas: " in line for line in lines)
    assert any("multinode" in line for line in lines)


@run_each(
    ("blueprint", "patch", "code", "said"),
    [
        (BLUEPRINT, "apiVersion: v1\nkind: Pod\n", 3, "b.yaml: must hold a DynamoGraphDeployment, or a DynamoGraphDeploymentRequest"),
        ("apiVersion: v1\nkind: Pod\n", PATCH, 3, "a.yaml: must hold one DynamoGraphDeployment, found none"),
        (BLUEPRINT + "---\n" + BLUEPRINT, PATCH, 2, "a.yaml: must hold one DynamoGraphDeployment, found 2"),
        (BLUEPRINT, PATCH + "---\n" + PATCH, 2, "b.yaml: must hold one partial graph, found 2"),
        ("{", PATCH, 4, "a.yaml:2:1: "),
        (BLUEPRINT, "{", 4, "b.yaml:2:1: "),
        (BLUEPRINT, PATCH.replace("replicas: 3", "replicas: three"), 1, "b.yaml: spec.services[worker].replicas: "),
        (BLUEPRINT.replace("type: worker", "type: {}"), PATCH, 1, "b.yaml: the graph's spec.components[0].type: "),
    ],
)
def test_what_cannot_be_merged(command: Command, files: Files, blueprint: str, patch: str, code: int, said: str) -> None:
    files(a=blueprint, b=patch)
    ran = command("override", "a.yaml", "b.yaml", *FACTS)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
