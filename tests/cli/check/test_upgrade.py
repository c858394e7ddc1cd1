"""`check --upgrade-to`: what each line on the way finds first, in their order, with its remedy."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Command, Files

GRAPH = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: g, namespace: ns}
spec:
  components:
    - name: picker
      type: epp
      eppConfig: {configMapRef: {name: c, key: k}}
      podTemplate: {spec: {containers: [{name: main, image: "x/y:1.5.0"}]}}
    - name: front
      type: frontend
      multinode: {nodeCount: 2}
      podTemplate: {spec: {containers: [{name: main, image: "x/y:latest"}]}}
"""
CHECKPOINT = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoCheckpoint
metadata: {name: c, namespace: ns}
spec:
  identity: {model: m, backendFramework: vllm}
  job: {podTemplateSpec: {spec: {containers: [{name: main, image: "x/y:1.5.0"}]}}}
"""
FACTS = ("--set-fact", "grove=true", "--set-fact", "inferencePool=true", "--set-fact", "checkpoint=true")


def test_each_line_on_the_way_says_what_it_finds_first(files: Files, command: Command) -> None:
    files(a=GRAPH, b=CHECKPOINT)
    done = command("check", ".", "--line", "1.2", "--upgrade-to", "1.6", *FACTS, "-o", "json")
    found = [(one["rule"], one["message"].partition(" on ")[0], bool(one["fix"])) for one in done.json["findings"]]
    assert found == [
        ("epp-runtime-config-forbidden", "from line 1.5", True),
        ("runtime-version-required", "from line 1.5", True),
        ("ckpt-kind-gone", "from line 1.5", True),
        ("multinode-type-unsupported", "from line 1.6", True),
    ]
    assert done.code == 1
    assert command("check", ".", "--line", "1.2", *FACTS).code == 0


def test_what_an_earlier_line_says_is_not_repeated(files: Files, command: Command) -> None:
    files(a=GRAPH)
    said = command("check", ".", "--line", "1.5", "--upgrade-to", "1.6", *FACTS, "-o", "json").json["findings"]
    assert [one["rule"] for one in said if not one["message"].startswith("from line")] == [
        "epp-runtime-config-forbidden",
        "runtime-version-required",
    ]
    assert [one["rule"] for one in said if one["message"].startswith("from line 1.6 on ")] == ["multinode-type-unsupported"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--line", "1.6", "--upgrade-to", "1.5"], "--upgrade-to 1.5: must be a line after 1.6, by which files are judged"),
        (["--line", "1.6", "--upgrade-to", "1.6"], "--upgrade-to 1.6: must be a line after 1.6"),
        (["--upgrade-to", "1.6", "--fix"], "--upgrade-to lists what later lines find: leave out --fix"),
        (["--upgrade-to", "1.9"], "must be one of 1.2, 1.3, 1.4, 1.5, 1.6, got 1.9"),
    ],
)
def test_a_way_that_leads_nowhere_is_refused(words: list[str], said: str, files: Files, command: Command) -> None:
    files(a=GRAPH)
    done = command("check", ".", *words)
    assert (done.code, said in done.err) == (2, True)
