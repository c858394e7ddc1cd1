"""The command `default`: named edits, patches, diffs and new files, and its exit codes."""

import json
import subprocess

import jsonpatch
import pytest
import yaml

from tests.cli.check.reports.official import complaints, ours
from tests.cli.conftest import Command, Files
from tests.cli.samples import GOOD, MODEL, OTHER_KIND

VERSION = ("--set-fact", "operatorVersion=1.2.0")
BARE = """\
# a graph
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: bare  # its name
  namespace: llm
spec:
  services:
    worker:  # no number
      componentType: worker
    parked: {replicas: 0}
"""
FILLED = """\
# a graph
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: bare  # its name
  namespace: llm
  annotations:
    nvidia.com/dynamo-operator-origin-version: 1.2.0
spec:
  services:
    worker:  # no number
      componentType: worker
      replicas: 1
    parked: {replicas: 0}
"""
BETA = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: beta, namespace: llm}
spec:
  components:
  - name: front
    type: frontend
    replicas: 2
  - name: worker
    type: worker
"""
FOREIGN = "# not ours\napiVersion: v1\nkind:   ConfigMap\nmetadata: {name: 'x'}\n\n"


def test_a_field_that_the_server_drops_is_told(command: Command, files: Files) -> None:
    files(a=BARE.replace("componentType:", "componentTyp:"))
    note = "a.yaml:10:7: DynamoGraphDeployment llm/bare: spec.services[worker].componentTyp: is not a field of this kind, and is dropped"
    for name in ("default", "render"):
        assert note in command(name, "a.yaml").err


def test_an_unknown_fact_is_told_once_with_the_flag_that_helps(command: Command, files: Files) -> None:
    files(a=BARE, b=BARE.replace("bare", "other"))
    ran = command("default", ".")
    note = "mut-dgd-origin-version is not evaluated for 2 objects: the fact operatorVersion is not known; --set-fact operatorVersion="
    assert f"{note}1.6.0 would supply it\n" in ran.err
    assert f"{note}1.2.0 would supply it\n" in command("default", "--line", "1.2", ".").err
    assert command("default", "-q", ".").err == ""
    assert command("default", "--require-facts", ".").code == 5
    assert command("default", "--require-facts", *VERSION, ".").code == 0


def test_check_is_a_verdict(command: Command, files: Files) -> None:
    files(a=BARE, b=GOOD)
    assert command("default", "--check", "a.yaml").code == 1
    assert command("default", "--check", "b.yaml").code == 0
    assert command("default", "--check", "b.yaml", *VERSION).code == 1


def test_the_patch_makes_the_defaulted_object(command: Command, files: Files) -> None:
    files(a=BARE, b=BETA)
    patches = [json.loads(line) for line in command("default", *VERSION, "-o", "patch", "a.yaml", "b.yaml").out.splitlines()]
    made = [jsonpatch.apply_patch(yaml.safe_load(text), patch) for text, patch in zip((BARE, BETA), patches, strict=True)]
    assert made == list(yaml.safe_load_all(command("default", *VERSION, "-o", "yaml", ".").out))
    assert made[0] == yaml.safe_load(FILLED)
    assert made[1]["spec"]["components"][1]["replicas"] == 1


def test_an_object_that_nothing_is_to_be_done_for_has_an_empty_patch(command: Command, files: Files) -> None:
    files(a=MODEL)
    assert command("default", "-o", "patch", "a.yaml").out == "[]\n"
    assert command("default", "a.yaml").err == "1 object for operator 1.6: nothing to fill in\n"


def test_write_changes_nothing_but_what_is_filled_in(command: Command, files: Files) -> None:
    folder = files(a=f"{FOREIGN}---\n{BARE}---\n{OTHER_KIND}", b=GOOD)
    untouched = (folder / "b.yaml").stat().st_mtime_ns
    ran = command("default", "--write", "--set-fact", "operatorVersion=1.2.0", "a.yaml")
    assert (ran.code, (folder / "a.yaml").read_text()) == (0, f"{FOREIGN}---\n{FILLED}---\n{OTHER_KIND}")
    assert "a.yaml: written\n" in ran.err
    again = command("default", "--write", *VERSION, "a.yaml")
    assert (again.out, again.err) == ("", "1 object for operator 1.2: nothing to fill in\n")
    assert command("default", "--write", "b.yaml").code == 0
    assert (folder / "b.yaml").stat().st_mtime_ns == untouched


def test_a_diff_is_one_that_patch_takes(command: Command, files: Files) -> None:
    folder = files(a=BARE.rstrip("\n"), b=GOOD)
    ran = command("default", "-q", *VERSION, "-o", "diff", "a.yaml")
    assert ran.out.startswith("--- a/a.yaml\n+++ b/a.yaml\n@@ -")
    subprocess.run(["git", "apply", "-"], input=ran.out, text=True, cwd=folder, check=True)
    assert yaml.safe_load((folder / "a.yaml").read_text()) == yaml.safe_load(FILLED)


def test_an_update_gets_back_what_the_stored_object_had(command: Command, files: Files) -> None:
    files(old=FILLED.replace("1.2.0", "1.0.0"), new=BARE)
    ran = command("default", "-q", *VERSION, "--old", "old.yaml", "new.yaml")
    assert 'origin-version]: set to "1.0.0"' in ran.out
    assert 'set to "1.2.0"' in command("default", "-q", *VERSION, "--op", "create", "--old", "old.yaml", "new.yaml").out
    missing = command("default", "-q", "--op", "update", "--old", "old.yaml", "new.yaml", "-")
    assert missing.code != 0


def test_a_namespace_of_another_operator_is_left_alone(command: Command, files: Files) -> None:
    files(a=BARE)
    leased = ("--set-fact", "operatorScope=cluster", "--set-fact", "excludedNamespaces=[llm]")
    assert command("default", "--check", *leased, "a.yaml").code == 0


def test_the_schemas_defaults_are_no_edits(command: Command, files: Files) -> None:
    """The API server sets them itself; they are neither told nor written."""
    request = "apiVersion: nvidia.com/v1beta1\nkind: DynamoGraphDeploymentRequest\nmetadata: {name: r}\nspec: {model: m}\n"
    folder = files(a=request)
    ran = command("default", "--write", *VERSION, "a.yaml")
    assert len(ran.out.splitlines()) == 1
    image = "nvcr.io/nvidia/ai-dynamo/dynamo-planner:1.2.0"
    assert yaml.safe_load((folder / "a.yaml").read_text())["spec"] == {"model": "m", "image": image}


ODD = [
    "metadata: 3\nspec: {}",
    "metadata: {name: x}\nspec: {services: {a: 3}}",
    "metadata: {name: x}\nspec: {services: [1]}",
    "spec: {services: {a: {replicas: '1'}}}",
]


@pytest.mark.parametrize("body", ODD)
def test_a_wrong_type_fails_one_object_with_its_field(command: Command, files: Files, body: str) -> None:
    folder = files(a=f"apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\n{body}\n---\n{BARE}")
    before = (folder / "a.yaml").read_text()
    ran = command("default", "--write", "a.yaml")
    assert ran.code == 1
    assert ran.err.startswith("a.yaml:1: DynamoGraphDeployment")
    assert "spec.services[worker].replicas: set to 1" in ran.out
    assert "a.yaml: left unchanged, because part of it can't be read or checked\n" in ran.err
    assert "2 objects for operator 1.6: 1 edit in 1, 1 could not be checked\n" in ran.err
    assert (folder / "a.yaml").read_text() == before


@pytest.mark.parametrize("body", ["metadata:\nspec:", "spec: {services: {a: }}", "metadata: {name: }\nspec: {services: }", "status: 3"])
def test_nulls_and_missing_parts_are_no_errors(command: Command, files: Files, body: str) -> None:
    files(a=f"apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\n{body}\n")
    ran = command("default", "--write", *VERSION, "a.yaml")
    assert ran.code == (1 if "status" in body else 0), ran.err
    if ran.code == 0:
        assert command("default", "--check", *VERSION, "a.yaml").code == 0


def test_other_kinds_versions_and_older_forms_are_told(command: Command, files: Files) -> None:
    older = "apiVersion: nvidia.com/v1alpha1\nkind: DynamoDeployment\nmetadata: {name: x}\nspec: {dynamoNim: y}\n"
    files(a=BARE.replace("v1alpha1", "v9"), b=older, c=OTHER_KIND)
    assert "must be nvidia.com/v1alpha1 or nvidia.com/v1beta1" in command("default", "a.yaml").err
    assert "older form" in command("default", "b.yaml").err
    empty = command("default", "c.yaml")
    assert (empty.code, empty.err) == (3, "no Dynamo object (group nvidia.com) found; --allow-empty accepts that\n")
    assert command("default", "--allow-empty", "c.yaml").code == 0


def test_json_is_as_its_schema_says(command: Command, files: Files) -> None:
    files(a=BARE, b="x: [", c=BARE.replace("worker:  #", "w\u00f6rker:  #"), d=BARE.replace("name: bare", "name: 3"), e=BETA)
    ran = command("default", *VERSION, "-o", "json", ".")
    assert complaints(ours("default"), ran.json) == []
    assert [len(obj["edits"]) for obj in ran.json["objects"]] == [2, 2, 0, 2]
    assert ran.json["objects"][1]["edits"][1]["path"] == "spec.services[w\u00f6rker].replicas"
    assert ran.json["exit"] == ran.code == 4


def test_thousands_of_services_take_a_moment(command: Command, files: Files) -> None:
    """Every edit is placed on its own, so that cost must not grow with the square."""
    many = "".join(f"  - {{name: s{number}, type: worker}}\n" for number in range(2_000))
    files(a=f"apiVersion: nvidia.com/v1beta1\nkind: DynamoGraphDeployment\nmetadata: {{name: x}}\nspec:\n  components:\n{many}")
    assert len(command("default", "-q", "a.yaml").out.splitlines()) == 2_000
