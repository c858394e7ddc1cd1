"""The command `render`: formats, choice of kinds, folders, facts, problems with their places, and exit codes."""

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Command, Files
from tests.reconciler.checkpoint.objects import JOB, checkpoint
from tests.reconciler.rendering import component, graph, rendered, vllm
from tests.rows import run_each

GRAPH = graph(vllm(), component("fe", "frontend"))
KNOWN = ("--set-fact", "grove=false", "--set-fact", "lws=false", "--set-fact", "dra=true", "--set-fact", "istio=false")
VERSION = ("--set-fact", "operatorVersion=1.2.0")


def test_json_is_one_list_of_what_is_rendered(command: Command, files: Files) -> None:
    folder = files(a=json.dumps(GRAPH), b="{apiVersion: v1, kind: Secret, metadata: {name: s}}")
    ran = command("render", "-o", "json", *KNOWN, *VERSION, folder)
    assert (ran.code, ran.err) == (0, "")
    assert ran.json == rendered(GRAPH).children


def test_a_checkpoint_is_rendered_as_its_job(command: Command, files: Files) -> None:
    ran = command("render", "-o", "json", *KNOWN, *VERSION, files(a=json.dumps(checkpoint())))
    assert [(child["kind"], child["metadata"]["name"]) for child in ran.json] == [("Job", JOB)]
    wrong = files(a=json.dumps(checkpoint(targetContainerName="zz")))
    ran = command("render", "-o", "json", *KNOWN, *VERSION, wrong)
    assert (ran.code, ran.json) == (1, [])
    assert 'pod spec has no container named "zz"' in ran.err


def test_kinds_are_chosen_in_any_case_and_one_that_is_not_made_is_said_to_be_so(command: Command, files: Files) -> None:
    files(a=json.dumps(GRAPH))
    ran = command(
        "render", "-o", "json", *KNOWN, *VERSION, "--only", "SERVICE", "--only", "Role", "--only", "deploymnet", "--only", "Job", "a.yaml"
    )
    assert [child["kind"] for child in ran.json] == ["Role", "Service", "Service"]
    assert (ran.code, ran.err.splitlines()) == (
        0,
        ["--only deploymnet: no child of this kind is made; did you mean Deployment?", "--only Job: no child of this kind is made"],
    )


def test_each_child_is_a_file_in_a_folder(command: Command, files: Files) -> None:
    folder = files(a=json.dumps(GRAPH))
    ran = command("render", "-q", "-d", "out", *VERSION, "a.yaml")
    assert (ran.code, ran.out) == (0, "")
    named = ran.err.splitlines()
    assert "demo/deployment-g-fe.yaml" in named
    written = sorted(str(file.relative_to(folder / "out")) for file in (folder / "out").rglob("*.yaml"))
    assert written == sorted(named)
    assert [yaml.safe_load((folder / "out" / name).read_text()) for name in named] == rendered(GRAPH).children


def test_a_folder_that_is_none_is_wrong_usage(command: Command, files: Files) -> None:
    files(a=json.dumps(GRAPH), out="x")
    ran = command("render", "-q", "-d", "out.yaml", "a.yaml")
    assert ran.code == 2
    assert "-d out.yaml" in ran.err


@pytest.mark.parametrize(("namespace", "want"), [((), "default"), (("-n", "prod"), "prod")])
def test_an_object_without_a_namespace_gets_one(command: Command, files: Files, namespace: tuple[str, ...], want: str) -> None:
    obj = graph(component("fe", "frontend"))
    del obj["metadata"]["namespace"]
    files(a=json.dumps(obj))
    children = command("render", "-q", "-o", "json", *namespace, "a.yaml").json
    assert {child["metadata"]["namespace"] for child in children} == {want}
    command_env = next(child for child in children if child["kind"] == "Deployment")["spec"]["template"]["spec"]["containers"][0]["env"]
    assert {"name": "DYN_NAMESPACE", "value": f"{want}-g"} in command_env


def test_the_scope_of_the_operator_decides_on_shared_accounts(command: Command, files: Files) -> None:
    files(a=json.dumps(GRAPH))
    scoped = command("render", "-q", "-o", "json", "--set-fact", "operatorScope=namespace", "a.yaml").json
    assert not any(child["metadata"]["name"].startswith("planner") for child in scoped)


def test_a_problem_has_a_place_in_the_authors_words_and_the_rest_is_printed(command: Command, files: Files) -> None:
    files(
        a="""
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  backendFramework: sglang
  services:
    fe: {componentType: frontend}
    w:
      componentType: worker
      extraPodSpec: {mainContainer: {command: [python3, -m, dynamo.vllm]}}
"""
    )
    ran = command("render", "-q", "-o", "json", "a.yaml")
    assert ran.code == 1
    assert ran.err == (
        "a.yaml:11:7: DynamoGraphDeployment g: spec.services[w].extraPodSpec: "
        'must run what backendFramework says, "sglang"; its command calls dynamo.vllm\n'
    )
    assert [child["metadata"]["name"] for child in ran.json if child["kind"] == "Deployment"] == ["g-fe"]


@run_each(
    ("text", "code", "message"),
    [
        ("{apiVersion: nvidia.com/v1beta1, kind: DynamoGraphDeployment, spec: 1}", 1, "spec: "),
        ("{apiVersion: nvidia.com/v1beta1, kind: DynamoGraphDeploymnt}", 1, "did you mean DynamoGraphDeployment?"),
        ("{apiVersion: nvidia.com/v1beta1, kind: DynamoGraphDeployment, spec: {}}", 1, "metadata.name: "),
        ("a: [", 4, "a.yaml:"),
        ("{apiVersion: v1, kind: Secret}", 3, "no Dynamo object (group nvidia.com) found"),
        ("{apiVersion: nvidia.com/v1alpha1, kind: DynamoModel, metadata: {name: m}, spec: {modelName: m, baseModelName: b}}", 0, ""),
    ],
)
def test_exit_codes(command: Command, files: Files, text: str, code: int, message: str) -> None:
    files(a=text)
    ran = command("render", "-q", "-o", "json", "a.yaml")
    assert ran.code == code
    assert message in ran.err
    assert ran.json == []


def test_files_that_can_be_read_are_rendered_beside_those_that_can_not(command: Command, files: Files) -> None:
    folder = files(a="a: [", b=json.dumps(GRAPH))
    ran = command("render", "-q", "-o", "json", folder, "missing.yaml")
    assert ran.code == 4
    assert "missing.yaml" in ran.err
    assert len(ran.json) > 5


def test_odd_names_stay_inside_the_folder(tmp_path: Path) -> None:
    from dynamo_webhooks.cli.commands.render.run import RenderedChild, write_children

    child = {"kind": "Service", "metadata": {"namespace": "..", "name": "../../x"}}
    assert write_children([RenderedChild("a.yaml", child)], str(tmp_path), "json") == ["_/service-.._.._x.json"]
    assert [file.name for file in tmp_path.rglob("*.json")] == ["service-.._.._x.json"]


def test_children_of_one_name_are_not_written_over_one_another(command: Command, files: Files) -> None:
    folder = files(dev__g=json.dumps(GRAPH), prod__g=json.dumps({**GRAPH, "spec": {**GRAPH["spec"], "env": [{"name": "A", "value": "b"}]}}))
    ran = command("render", "-q", "-d", "out", "dev", "prod")
    assert (ran.code, (folder / "out").exists()) == (2, False)
    assert "would be written for dev/g.yaml and for prod/g.yaml; render one of them at a time" in ran.err
    files(prod__g=json.dumps(GRAPH))
    assert command("render", "-q", "-d", "out", "dev", "prod").code == 0


_SUB_TYPE = "nvidia.com/dynamo-sub-component-type"


@pytest.mark.parametrize("line", ["1.2", "1.5"])
@pytest.mark.parametrize("kind", ["frontend", "default"])
def test_a_sub_type_beside_its_type_is_a_label_on_each_line(command: Command, files: Files, kind: str, line: str) -> None:
    """Line 1.5 saves it in a way that only its own conversion reads back."""
    spec = {"componentType": kind, "subComponentType": "router", "extraPodSpec": {"mainContainer": {"image": "i:1.5.0"}}}
    obj = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoComponentDeployment", "metadata": {"name": "c"}, "spec": spec}
    files(a=json.dumps(obj), b=json.dumps({**obj, "kind": "DynamoGraphDeployment", "spec": {"services": {"c": spec}}}))
    for file in ("a.yaml", "b.yaml"):
        for grove in ("true", "false"):
            made = command("render", "-q", "-o", "json", "--line", line, "--set-fact", f"grove={grove}", file).json
            workloads = [each for each in made if each["kind"] in ("Deployment", "PodCliqueSet")]
            assert workloads
            assert all(f'"{_SUB_TYPE}": "router"' in json.dumps(each) for each in workloads), (file, grove)
