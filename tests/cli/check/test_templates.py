"""Templates: each place that they leave open is said, values fill it and are never printed, charts are passed over or rendered by helm."""

from pathlib import Path
from typing import Final
from unittest.mock import Mock

import pytest

from dynamo_webhooks.cli.files.placeholder_values import _read_block
from dynamo_webhooks.cli.yaml.load import Document, Source, read_text
from dynamo_webhooks.cli.yaml.substitute import Fill
from tests.cli.conftest import Command, Files, write_program
from tests.cli.repository import Repository
from tests.cli.samples import BAD, BAD_RULE, BARE, GOOD
from tests.cluster.assets.build import build_helm
from tests.rows import run_each

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
SECRET: Final = "hunter2-hunter2"  # noqa: S105 - nobody's


def scalars(text: str, **values: str) -> object:
    """What a text of one document says with values."""
    (found,) = read_text(Source("x", text, Fill(values, _read_block)))
    assert isinstance(found, Document)
    return found.data


def test_each_placeholder_is_one_finding_with_its_own_remedy(command: Command, files: Files) -> None:
    files(a=OPEN, b=BAD)
    rows = command("check", "--line", "1.2", ".", "-o", "json").json["findings"]
    flag = "Fill it with --set {}=VALUE or --env-file FILE, or check what your templates render"
    assert [(row["file"], row["line"], row["rule"], row["level"], row["path"], row["message"], row["fix"]) for row in rows[:-1]] == [
        ("a.yaml", line, "unfilled-placeholder", level, path, f"must hold no placeholder, got {text}", fix)
        for line, level, path, text, fix in (
            (3, "error", "metadata.name", "${NAME}", flag.format("NAME")),
            (7, "warning", "spec.services[worker].componentType", "<type>", "Write a value for <type>"),
            (8, "error", "spec.services[worker].replicas", "${REPLICAS}", flag.format("REPLICAS")),
            (15, "error", "spec.services[worker].replicas", "{{ .Values.n }}", "Render the template first, and check the result"),
        )
    ]
    assert (rows[-1]["file"], rows[-1]["rule"], rows[-1]["line"]) == ("b.yaml", BAD_RULE, 10)


PARTS: Final = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata:
  name: g
  namespace: <your-namespace>
spec:
  components:
""" + "".join(
    f"    - name: w{number}\n      type: worker\n      podTemplate:\n        spec:\n          containers:\n            - name: main\n"
    "              image: IMAGE\n"
    for number in range(6)
)


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
    files(a=PARTS.replace("IMAGE", image) + "      frontendSidecar: side\n")
    ran = command("check", "a.yaml", "--set-fact", "grove=true", "-o", "json")
    first, *images, last = ran.json["findings"]
    assert (first["line"], first["message"], first["fix"]) == (
        5,
        "must hold no placeholder, got <your-namespace>",
        "Write a value for <your-namespace>",
    )
    assert [(row["rule"], row["line"], row["level"], row["message"]) for row in images] == [
        ("unfilled-placeholder", 14 + 7 * number, "warning", f"must hold no placeholder, got {shown}") for number in range(6)
    ]
    assert (last["rule"], last["line"]) == ("frontend-sidecar-unknown", 50)
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
    assert ran.err == "a.yaml:4:10: is a template ({{ .Release.Name }} on line 4); render it first, for example with --helm DIR\n"
    assert "is a template" not in command("check", "b.yaml").err, "a text in quotes"


@run_each(
    ("text", "wanted"),
    [
        ("a: ${X}", 3),
        ("a: $(X)", 3),
        ('a: "${X}"', "3"),
        ("a: '${X}'", "3"),
        ("a: n-${X}", "n-3"),
        ("a: ${Y}", None),
        ("a: ${YES}", True),
        ("a: ${OTHER}", "${OTHER}"),
        ("a: $X", "$X"),
        ("a: ${X:-4}", "${X:-4}"),
        ("${X}: 1", {"3": 1}),
        ("{b: ${X}, c: [$(X), -${X}]}", {"b": 3, "c": [3, -3]}),
        ('{"a": "${X}",\n "b": ${X}}', {"a": "3", "b": 3}),
        ("a: |\n  x ${X}\n", "x 3\n"),
    ],
)
def test_a_value_stands_as_if_it_were_written_there(text: str, wanted: object) -> None:
    found = scalars(text, X="3", Y="", YES="yes")
    assert found == (wanted if text.startswith(("$", "{")) else {"a": wanted})


def test_positions_and_source_are_those_of_the_file(command: Command, files: Files) -> None:
    files(a=GOOD.replace("replicas: 2", "replicas: ${REPLICAS}  # dynamo-webhooks: ignore[x] y"))
    ran = command("check", "a.yaml", "--set", "REPLICAS=-17")
    assert "a.yaml:10:17 error replicas-non-negative" in ran.out
    assert "10 |       replicas: ${REPLICAS}" in ran.out
    assert "must be 0 or more, got ${REPLICAS}" in ran.out
    assert "-17" not in ran.out + ran.err
    assert command("check", "a.yaml", "--set", "REPLICAS=3").code == 0


@run_each("form", ["text", "json", "sarif", "github", "junit", "gitlab"])
def test_no_value_is_ever_printed(command: Command, files: Files, form: str) -> None:
    Path("secrets.env").write_text(f"S={SECRET}\n")
    files(a=GOOD.replace("replicas: 2", "replicas: ${S}\n      failover: {enabled: true, mode: ${S}}"))
    files(b=GOOD.replace("services:", "backendFramework: ${S}\n  services:").replace("name: good", "name: good\n  labels: ${S}"))
    files(c=GOOD.replace("good", "${S}_").replace("replicas: 2", "${S}: 1\n      ${S}: 2"))
    for name in ("a", "b"):
        ran = command("check", f"{name}.yaml", "--env-file", "secrets.env", "-o", form, "--answer", "-v")
        assert ran.code == 1
        assert "hunter2" not in ran.out + ran.err, name
    broken = command("check", "c.yaml", "--env-file", "secrets.env", "-o", form)
    assert (broken.code, "duplicate key" in broken.err, "hunter2" in broken.out + broken.err) == (4, True, False)


BLOCKS = BARE.replace(
    "replicas: 2",
    "replicas: 2\n      envs: ${ENV}\n      resources: $(RESOURCES)\n"
    "      extraPodSpec: {mainContainer: {image: 'x/vllm:1.5.0', args: ${ARGS}}}",
)


def test_a_text_is_searched_for_names_once_however_much_is_told_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    long = Fill({"A": "ab" * 100, "B": "1"}, _read_block)
    assert long.masked(f'must be x, got "{"ab" * 30}…" there', "${A}") == 'must be x, got "${A}" there'
    assert long.masked("must be 1 or more, got 1", "$(B)") == "must be 1 or more, got ${B}"
    fill = Fill({"A": "hello", "B": "[world]"}, _read_block)
    found = Mock(side_effect=fill._found)
    monkeypatch.setattr(fill, "_found", found)
    text = "a: ${A}\nb: ${B}\n"
    assert [fill.masked("got hello", text) for _ in range(9)] == ["got ${A}"] * 9
    found.assert_called_once_with(text)
    assert fill.masked("got hello", "a: b") == "got hello"
    list(read_text(Source("a", text, fill)))  # now the items of a list are known, too
    assert fill.masked('got "world"', text) == 'got "${B}"'


def test_lists_and_maps_fill_what_stands_alone(command: Command, files: Files) -> None:
    files(a=BLOCKS)
    values = ("--set", "ENV=[{name: A, value: b}]", "--set", 'RESOURCES={"limits": {"gpu": "1"}}', "--set", 'ARGS=["--model", "x"]')
    assert command("check", "a.yaml", *values).code == 0
    wrong = ("--set", "ENV=[{name: A, value: 1}]", "--set", "RESOURCES={limits: {cpu: s3cr3t-cpu}}", "--set", "ARGS=[s3cr3t]")
    ran = command("check", "a.yaml", *wrong, "-o", "json")
    told = {(one["path"], one["line"]) for one in ran.json["findings"]}
    assert ("spec.services[worker].envs[0].value", 11) in told
    assert {one["line"] for one in ran.json["findings"]} <= {11, 12}
    assert "s3cr3t" not in ran.out + ran.err
    files(a=GOOD.replace('"x/vllm:1.5.0"', '"x/vllm:1.5.0", workingDir: "${X}", args: ["a-${X}"]'))
    assert command("check", "a.yaml", "--set", "X=[1, 2]").code == 0, "in quotes or beside other text it is text"
    files(a=GOOD.replace("  namespace: llm", "  namespace: llm\n  ${X}: b"))
    ran = command("check", "a.yaml", "--set", "X=[a]")
    assert (ran.code, "a key must be one word or text, found a map or list" in ran.err) == (4, True)


@pytest.mark.parametrize("value", ["[s3cr3t", "{s3cr3t", "[1]\n---\n[2]", "{" * 500, "[" + "[" * 150 + "]" * 151])
def test_a_list_that_can_not_be_read_is_said_without_its_text(command: Command, files: Files, value: str) -> None:
    deep = BARE.replace("replicas: 2", "replicas: 2\n      extraPodSpec: " + "{a: " * 60 + "${X}" + "}" * 60)
    files(a=deep)
    ran = command("check", "a.yaml", "--set", f"X={value}")
    assert (ran.code, "s3cr3t" in ran.out + ran.err) == (4, False)
    assert "a.yaml:11:" in ran.err


def test_values_fill_the_stored_objects_too(command: Command, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    text = GOOD.replace("name: good", "name: ${N}").replace("replicas: 2", "replicas: ${R}")
    folder = files(a=text, old=text)
    assert command("check", "a.yaml", "--old", "old.yaml", "--op", "update", "--set", "N=g", "--set", "R=2").code == 0
    repository = Repository(folder)
    repository.commit()
    ran = command("check", "a.yaml", "--against", "HEAD", "--answer", "--set", "N=g", "--set", "R=2", "-o", "json")
    assert [answer["operation"] for answer in ran.json["answers"]] == ["UPDATE"]


def test_files_of_values_may_hold_comments_quotes_and_export(command: Command, files: Files) -> None:
    files(a=GOOD.replace("replicas: 2", "replicas: ${R}").replace("name: good", "name: ${N}"))
    Path("one.env").write_text("# note\n\nexport R=x\nN='a-b'\n")
    Path("two.env").write_text('R="1"\n')
    ran = command("check", "a.yaml", "--env-file", "one.env", "--env-file", "two.env", "--answer", "-o", "json")
    assert [(answer["object"]["name"], answer["accepted"]) for answer in ran.json["answers"]] == [("a-b", True)]
    assert command("check", "a.yaml", "--env-file", "two.env", "--set", "N=a", "--set", "R=x").code == 1


def test_a_chart_is_passed_over_with_a_note(command: Command, files: Files) -> None:
    files(deploy__good=GOOD, deploy__chart__Chart="name: x\n", deploy__chart__templates__a=TEMPLATE, deploy__chart__values="a: 1\n")
    ran = command("check", "deploy")
    said = "deploy/chart: is a Helm chart, and is skipped; check its output with check --helm deploy/chart\n"
    assert (ran.code, ran.err) == (0, said + "1 object checked for operator 1.6 (the default; --line names another): nothing found\n")
    assert command("check", "deploy/chart").code == 3
    ran = command("check", "deploy/chart/templates/a.yaml", "deploy/good.yaml")  # as a shell or a hook names them
    passed = "deploy/chart/templates/a.yaml:4:10: is a template ({{ .Release.Name }} on line 4) of a Helm chart, and is skipped"
    assert (ran.code, ran.err.startswith(passed)) == (0, True)
    assert command("check", "deploy/chart/templates", "-q").err == "no Dynamo object (group nvidia.com) found; --allow-empty accepts that\n"


def test_a_chart_is_rendered_by_helm_without_a_shell(command: Command, files: Files, programs: Path) -> None:
    files(chart__Chart="name: x\n", chart__out=BAD, prod="a: 1\n")
    assert "--helm needs helm, which can't be found" in command("check", "--helm", "chart").err
    Path("more $(x).yaml").write_text("")
    write_program(
        programs,
        "helm",
        'for word; do echo "$word"; done > called\nwhile IFS= read -r line; do printf "%s\\n" "$line"; done < "$2/out.yaml"',
    )
    ran = command("check", "--helm", "chart", "--values", "prod.yaml", "--values", "more $(x).yaml")
    assert (ran.code, ran.out.startswith(f"helm:chart:10:7 error {BAD_RULE}")) == (1, True)
    assert Path("called").read_text() == "template\nchart\n--values=prod.yaml\n--values=more $(x).yaml\n"


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo 'Error: no such file' >&2; exit 1", "helm:chart: can't be rendered: no such file\n"),
        ("while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done", "helm:chart: renders to more than 0 MiB\n"),
        ("while :; do :; done", "helm:chart: helm did not finish within 1 seconds\n"),
    ],
)
def test_helm_is_bounded_in_time_and_output(
    command: Command, files: Files, programs: Path, monkeypatch: pytest.MonkeyPatch, script: str, told: str
) -> None:
    from dynamo_webhooks.cli.files import programs as running

    monkeypatch.setattr(running, "LIMIT", 1 << 18)
    monkeypatch.setattr(running, "_PROGRAM_TIMEOUT_SECONDS", 1)
    files(chart__Chart="name: x\n")
    write_program(programs, "helm", script)
    ran = command("check", "--helm", "chart", "-q")
    assert (ran.code, ran.err) == (4, told)


@pytest.mark.cluster
def test_real_helm_renders_a_chart_that_asks_for_values(command: Command, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(build_helm().parent))
    graph = GOOD.replace("replicas: 2", "replicas: {{ .Values.replicas }}").replace("name: good", "name: {{ .Release.Name }}")
    files(chart__Chart="apiVersion: v2\nname: x\nversion: 0.1.0\n", chart__values="replicas: 1\n", chart__templates__a=graph)
    files(bad="replicas: -1\n", wrong="a: {{\n")
    assert command("check", "--helm", "chart").code == 0
    ran = command("check", "--helm", "chart", "--values", "bad.yaml")
    assert (ran.code, "DynamoGraphDeployment llm/release-name" in ran.out) == (1, True)
    broken = command("check", "--helm", "chart", "--values", "wrong.yaml", "-q")
    assert (broken.code, broken.err.startswith("helm:chart: can't be rendered: ")) == (4, True)
