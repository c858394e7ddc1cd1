"""The command `diff`: what really changes, across versions and without noise, what an update is told, and its exit codes."""

from typing import Any

import yaml

from tests.cli.check.reports.official import complaints, ours
from tests.cli.conftest import Command, Files
from tests.cli.repository import Repository
from tests.cli.samples import BAD, GOOD, MODEL, OTHER_KIND
from tests.rows import run_each

GRAPH = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: graph
  namespace: llm
spec:
  backendFramework: vllm
  services:
    front:
      componentType: frontend
      replicas: 1
      ingress: {enabled: true, host: a.example}
    worker:
      componentType: worker
      resources: {limits: {cpu: "1000m", gpu: "1"}}
      extraPodSpec:
        mainContainer:
          image: x:1
          args: ["--api-key", "s3cr3t-one", "--model=x"]
          env: [{name: HF_TOKEN, value: s3cr3t-one}, {name: B, value: b}]
"""


def _lines(out: str) -> list[str]:
    return [line.strip() for line in out.splitlines()[1:]]


def _changes(out: str) -> list[str]:
    """The lines that are no findings."""
    return [line for line in _lines(out) if not line.startswith("!")]


def test_what_is_only_written_differently_is_no_difference(command: Command, files: Files) -> None:
    data = yaml.safe_load(GRAPH)
    services = data["spec"]["services"]
    services["worker"] = {**services["worker"], "replicas": 1, "resources": {"limits": {"gpu": "1", "cpu": "1"}}}
    data["spec"]["services"] = {name: services[name] for name in ("worker", "front")}
    data["metadata"] |= {
        "resourceVersion": "7",
        "uid": "u",
        "generation": 3,
        "creationTimestamp": "2024-01-01T00:00:00Z",
        "annotations": {},
    }
    data["status"] = {"state": "ready"}
    files(old=GRAPH, new=yaml.safe_dump(dict(reversed(data.items()))))
    ran = command("diff", "old.yaml", "new.yaml")
    assert (ran.code, ran.out, ran.err) == (0, "", "1 object: 1 equal (1 of them written differently)\n")
    (obj,) = command("diff", "old.yaml", "new.yaml", "-o", "json").json["objects"]
    assert [(change["path"], change["before"], change["after"]) for change in obj["spelling"]] == [
        ("spec.services[worker].resources.limits.cpu", "1000m", "1")
    ]


CHANGES = [
    ("replicas: 1", "replicas: 2", "~ spec.components[front].replicas: 1 -> 2"),
    ("host: a.example", "host: b.example", '~ spec.services[front].ingress.host: "a.example" -> "b.example" (a field of v1alpha1)'),
    ("backendFramework: vllm", "backendFramework: sglang", '~ spec.backendFramework: "vllm" -> "sglang"'),
    ("image: x:1", "image: x:2", '~ spec.components[worker].podTemplate.spec.containers[main].image: "x:1" -> "x:2"'),
    ("name: B, value: b", "name: B, value: c", '~ spec.components[worker].podTemplate.spec.containers[main].env[B].value: "b" -> "c"'),
    (", {name: B, value: b}", "", '- spec.components[worker].podTemplate.spec.containers[main].env[B]: {"name": "B", "value": "b"}'),
]


@run_each(("before", "after", "change"), CHANGES)
def test_a_change_is_told_once_across_versions(command: Command, files: Files, before: str, after: str, change: str) -> None:
    """The old object is converted, the new one is not, and the one change is found: also in fields that the version compared hasn't got."""
    folder = files(old=GRAPH, other=GRAPH.replace(before, after))
    (folder / "new.yaml").write_text(command("convert", "-q", "--to", "v1beta1", "other.yaml").out)
    ran = command("diff", "-q", "old.yaml", "new.yaml")
    assert ran.code == 1
    assert _changes(ran.out) == [change]
    assert _changes(command("diff", "-q", "--to", "v1beta1", "old.yaml", "other.yaml").out) == [change]
    assert command("diff", "-q", "other.yaml", "new.yaml").code == 0


def test_secrets_are_never_printed(command: Command, files: Files) -> None:
    files(old=GRAPH, new=GRAPH.replace("s3cr3t-one", "s3cr3t-two"), none=GRAPH.replace("    worker:", "    other:"))
    for words in (("old.yaml", "new.yaml"), ("old.yaml", "none.yaml"), ("none.yaml", "new.yaml")):
        for form in (("-o", "json"), ("-o", "text"), ("--to", "v1beta1")):
            ran = command("diff", *form, *words)
            assert ran.code == 1
            assert "s3cr3t" not in ran.out + ran.err
    lines = _lines(command("diff", "-q", "old.yaml", "new.yaml").out)
    field = "spec.services[worker].extraPodSpec.mainContainer"
    assert lines == [f'~ {field}.args[1]: "<hidden>", another value', f'~ {field}.env[HF_TOKEN].value: "<hidden>", another value']


def test_objects_of_one_side_are_listed(command: Command, files: Files) -> None:
    files(a__one=f"{GRAPH}---\n{OTHER_KIND}", a__two=GOOD, b__three=GRAPH, b__four=f"{OTHER_KIND}---\n{MODEL}")
    ran = command("diff", "a", "b")
    assert ran.out.splitlines() == ["DynamoGraphDeployment llm/good  only in a/two.yaml:1", "DynamoModel llm/m  only in b/four.yaml:5"]
    assert (ran.code, ran.err) == (1, "3 objects: 1 added, 1 removed, 1 equal\n")


def test_a_namespace_that_one_side_leaves_out_is_the_same(command: Command, files: Files) -> None:
    files(old=GRAPH, new=GRAPH.replace("  namespace: llm\n", ""), other=GRAPH.replace("namespace: llm", "namespace: other"))
    assert command("diff", "old.yaml", "new.yaml").code == 0
    assert command("diff", "new.yaml", "old.yaml").code == 0
    assert len(command("diff", "old.yaml", "other.yaml").out.splitlines()) == 2
    files(both=f"{GRAPH}---\n{GRAPH.replace('namespace: llm', 'namespace: other')}")
    assert command("diff", "both.yaml", "new.yaml").err == "3 objects: 1 added, 2 removed\n"


def test_what_defaults_fill_in_is_no_difference_and_other_values_are(command: Command, files: Files) -> None:
    stamp = "  annotations: {nvidia.com/dynamo-operator-origin-version: 1.0.0}\nspec:"
    files(old=GRAPH.replace("spec:", stamp, 1), new=GRAPH.replace("      replicas: 1\n", ""))
    assert command("diff", "old.yaml", "new.yaml", "--set-fact", "operatorVersion=1.2.0").code == 0
    files(old=GRAPH.replace("replicas: 1", "replicas: 3"))
    assert _lines(command("diff", "-q", "old.yaml", "new.yaml").out) == ["~ spec.services[front].replicas: 3 -> 1"]


def test_an_update_is_judged_too(command: Command, files: Files) -> None:
    files(old=GOOD.replace("good", "bad"), new=BAD)
    ran = command("diff", "old.yaml", "new.yaml")
    finding = "! new.yaml:10:7 error ingress-host-required (DYN202): spec.services[worker].ingress.host: must name a host"
    assert any(line.startswith(finding) for line in _lines(ran.out)), ran.out
    files(same=BAD.replace("bad", "bad # as before"))
    assert command("diff", "new.yaml", "same.yaml").out == ""


def test_a_revision_of_git_is_a_side(command: Command, files: Files) -> None:
    folder = files(deploy__a=GRAPH, deploy__b=MODEL)
    Repository(folder).commit()
    (folder / "deploy/b.yaml").unlink()
    files(deploy__a=GRAPH.replace("x:1", "x:2"))
    ran = command("diff", "HEAD:deploy", "deploy")
    assert "DynamoGraphDeployment llm/graph  HEAD:deploy/a.yaml:1 -> deploy/a.yaml:1" in ran.out
    assert "DynamoModel llm/m  only in HEAD:deploy/b.yaml:1" in ran.out
    assert command("diff", "HEAD:deploy/a.yaml", "HEAD:deploy/a.yaml").code == 0
    assert command("diff", "HEAD:deploy/missing.yaml", "deploy").code == 4
    assert command("diff", "nowhere:deploy", "deploy").code == 2


@run_each(
    ("words", "code", "message"),
    [
        (("old.yaml",), 2, "name two files"),
        (("-", "-"), 2, "only one side"),
        (("--cluster",), 2, "--cluster is the old side: name one file, folder or REVISION:PATH, the new objects"),
        (("a.yaml", "b.yaml", "--cluster"), 2, "--cluster is the old side"),
        (("old.yaml", "missing.yaml"), 4, "missing.yaml: does not exist"),
        (("foreign.yaml", "foreign.yaml"), 3, "no Dynamo object"),
        (("foreign.yaml", "foreign.yaml", "--allow-empty"), 0, "0 objects"),
        (("broken.yaml", "old.yaml"), 4, "broken.yaml:"),
        (("older.yaml", "older.yaml"), 1, "1 failed"),
        (("wrong.yaml", "wrong.yaml"), 1, "1 failed"),
    ],
)
def test_exit_codes_and_kind_sentences(command: Command, files: Files, words: tuple[str, ...], code: int, message: str) -> None:
    older = "apiVersion: nvidia.com/v1alpha1\nkind: DynamoDeployment\nmetadata: {name: x}\nspec: {dynamoNim: y}\n"
    files(old=GRAPH, foreign=OTHER_KIND, broken="a: [", older=older, wrong=GRAPH.replace("replicas: 1", "replicas: many"))
    ran = command("diff", *words)
    assert ran.code == code
    assert message in ran.err
    assert "only in" not in ran.out


def test_json_is_as_its_schema_says(command: Command, files: Files) -> None:
    wrong = GRAPH.replace("graph", "wrong").replace("replicas: 1", "replicas: many")
    files(a__g=GRAPH, a__w=wrong, a__b=GOOD.replace("good", "bad"), a__s=MODEL, b__x="x: [")
    files(b__g=GRAPH.replace("1000m", "1").replace("x:1", "x:\u00fc"), b__w=wrong, b__b=BAD, b__m=MODEL.replace("name: m", "name: q"))
    ran = command("diff", "a", "b", "-o", "json")
    assert complaints(ours("diff"), ran.json) == []
    what: Any = {entry["object"]["name"]: entry["what"] for entry in ran.json["objects"]}
    assert what == {"bad": "changed", "graph": "changed", "wrong": "failed", "m": "removed", "q": "added"}
    assert (ran.code, ran.json["summary"]["exit"]) == (4, 4)
    assert ran.json["objects"][0]["findings"][0]["rule"] == "ingress-host-required"
