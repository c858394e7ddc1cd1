"""Templates: each place that they leave open is said, and charts are passed over."""

from typing import Final

import pytest

from tests.cli.conftest import Command, Files
from tests.cli.samples import BAD, BAD_RULE, BY_DEFAULT, GOOD, MAIN, graph

OPEN: Final = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: "${NAME}", namespace: llm}
spec:
  services:
    worker:
      componentType: <type>
      replicas: ${REPLICAS}
      envs: [{name: A, value: $(POD_IP)}]
      extraPodSpec: {mainContainer: {image: x, args: ["--model ${MODEL}", "${MODEL}"]}}
---
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: b, namespace: llm}
spec: {services: {worker: {componentType: worker, replicas: "{{ .Values.n }}"}}}
"""
TEMPLATE: Final = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: {{ .Release.Name }}
---
metadata: {{ include "x" . }}
"""


def test_each_placeholder_is_one_finding_with_its_own_remedy(command: Command, files: Files) -> None:
    files(a=OPEN, b=BAD)
    rows = command("check", "--line", "1.2", ".", "-o", "json").json["findings"]
    flag = "Fill it first, and check the result: envsubst < FILE | dynamo-webhooks check -"
    assert [(row["file"], row["line"], row["rule"], row["level"], row["path"], row["message"], row["fix"]) for row in rows[:-1]] == [
        ("a.yaml", line, "unfilled-placeholder", level, path, f"must hold no placeholder, got {text}", fix)
        for line, level, path, text, fix in (
            (3, "error", "metadata.name", "${NAME}", flag),
            (7, "warning", "spec.services[worker].componentType", "<type>", "Write a value for <type>"),
            (8, "error", "spec.services[worker].replicas", "${REPLICAS}", flag),
            (15, "error", "spec.services[worker].replicas", "{{ .Values.n }}", "Render the template first, and check the result"),
        )
    ]
    assert (rows[-1]["file"], rows[-1]["rule"], rows[-1]["line"]) == ("b.yaml", BAD_RULE, 10)


@pytest.mark.parametrize(
    ("image", "shown"),
    [
        ("x/vllm:<TAG>", "<TAG>"),
        ("x/vllm:${TAG}", "${TAG}"),
        ("x/vllm:{{ .Values.tag }}", "{{ .Values.tag }}"),
        ("${REGISTRY}/vllm:${TAG}", "${REGISTRY}, ${TAG}"),
        ("${IMAGE}", "${IMAGE}"),
    ],
)
def test_a_placeholder_inside_a_text_is_seen_and_rules_that_read_it_wait(command: Command, files: Files, image: str, shown: str) -> None:
    """Of the rules about images none speaks; what others find stays."""
    parts = [f"name: w{number}, type: worker, {MAIN}" for number in range(6)]
    text = graph(*parts[:5], f"{parts[5]},\n       frontendSidecar: side").replace("x/vllm:1.5.0", image)
    files(a=text.replace("namespace: llm", "namespace: <your-namespace>"))
    ran = command("check", "a.yaml", "--set-fact", "grove=true", "-o", "json")
    first, *images, last = ran.json["findings"]
    assert (first["line"], first["message"], first["fix"]) == (
        3,
        "must hold no placeholder, got <your-namespace>",
        "Write a value for <your-namespace>",
    )
    assert [(row["rule"], row["line"], row["level"], row["message"]) for row in images] == [
        ("unfilled-placeholder", 6 + number, "warning", f"must hold no placeholder, got {shown}") for number in range(6)
    ]
    assert (last["rule"], last["line"]) == ("frontend-sidecar-unknown", 12)
    [note] = [note for note in ran.json["notEvaluated"] if note["rule"] == "policies"]
    assert note["reason"].startswith("rules that read <your-namespace> and ")


def test_what_waits_is_said_only_where_something_waits(command: Command, files: Files) -> None:
    files(a=GOOD.replace("name: good", "name: good\n  labels: {team: <team>, '${KEY}': b}"))
    ran = command("check", "--line", "1.2", "a.yaml", "-o", "json")
    assert [(row["path"], row["level"]) for row in ran.json["findings"]] == [
        ("metadata.labels[team]", "error"),
        ("metadata.labels[${KEY}]", "error"),
    ]
    assert [note for note in ran.json["notEvaluated"] if note["rule"] == "policies"] == []


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace("replicas: 2", "eppConfig: {config: {plugins: [{type: a, parameters: {text: 'use <b> and {{ x }}'}}]}}"),
        GOOD.replace('"x/vllm:1.5.0"', 'x:1.5.0, args: ["${A}"], env: [{name: B, value: "${C}"}]'),
        GOOD.replace("replicas: 2", 'envs: [{name: B, value: "${C}"}]'),
        GOOD.replace("replicas: 2", "dynamoNamespace: $(NS)"),
    ],
    ids=["free form", "for a shell", "for a container", "a variable of a container"],
)
def test_words_for_others_are_no_placeholders(command: Command, files: Files, text: str) -> None:
    files(a=text)
    assert "unfilled-placeholder" not in command("check", "a.yaml").out


def test_a_comment_ignores_a_placeholder(command: Command, files: Files) -> None:
    text = f"{GOOD}    s0: {{componentType: worker, replicas: '${{R}}'}}\n"
    files(a=text)
    (row,) = command("check", "--line", "1.2", "a.yaml", "-o", "json").json["findings"]
    assert (row["line"], row["message"]) == (12, "must hold no placeholder, got ${R}")
    assert command("check", "a.yaml", "--select", BAD_RULE).code == 1, "it kept the rule from being read"
    files(a=text.replace("    s0:", "    # dynamo-webhooks: ignore[unfilled-placeholder] the pipeline fills it\n    s0:"))
    assert command("check", "--line", "1.2", "a.yaml", "-o", "json").json["findings"] == []


def test_a_file_that_is_a_template_is_said_in_one_line(command: Command, files: Files) -> None:
    files(a=TEMPLATE, b="groups: ['{{ $labels.x }}']\na: [\n")
    ran = command("check", "a.yaml", "-q")
    assert (ran.code, ran.out) == (4, "")
    assert ran.err == "a.yaml:4:10: is a template ({{ .Release.Name }} on line 4); render it first, for example with helm template\n"
    assert "is a template" not in command("check", "b.yaml").err, "a text in quotes"


def test_a_chart_is_passed_over_with_a_note(command: Command, files: Files) -> None:
    files(deploy__good=GOOD, deploy__chart__Chart="name: x\n", deploy__chart__templates__a=TEMPLATE, deploy__chart__values="a: 1\n")
    ran = command("check", "deploy")
    note = "deploy/chart: is a Helm chart, and is skipped; check its output: helm template deploy/chart | dynamo-webhooks check -\n"
    assert (ran.code, ran.err) == (0, note + f"1 object {BY_DEFAULT}: nothing found\n")
    assert command("check", "deploy/chart").code == 3
    ran = command("check", "deploy/chart/templates/a.yaml", "deploy/good.yaml")  # as a shell or a hook names them
    passed = "deploy/chart/templates/a.yaml:4:10: is a template ({{ .Release.Name }} on line 4) of a Helm chart, and is skipped"
    assert (ran.code, ran.err.startswith(passed)) == (0, True)
    assert command("check", "deploy/chart/templates", "-q").err == "no Dynamo object (group nvidia.com) found; --allow-empty accepts that\n"
