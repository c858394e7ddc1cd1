"""`convert`: documents of files in another version, the others byte for byte."""

import io
import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from dynamo_webhooks.api.line import DEFAULT_LINE, Line
from dynamo_webhooks.cli.commands.convert.run import convert_text
from dynamo_webhooks.cli.yaml.load import load_documents, split_documents
from dynamo_webhooks.conversion.translate import Translation
from tests.cli.conftest import Command, Files
from tests.cli.samples import BARE as GOOD
from tests.cli.samples import GOOD as WHOLE
from tests.cli.samples import MODEL, OTHER_KIND
from tests.rows import run_each

LOSSY = GOOD.replace("spec:\n", "spec:\n  pvcs: [{name: cache}]\n")


def test_there_through_a_file_and_back_through_standard_input(command: Command, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    files(a=LOSSY)
    ran = command("convert", "a.yaml", "--to", "v1beta1")
    assert ran.code == 0
    (there,) = load_documents(ran.out)
    assert (there.data["apiVersion"], there.data["spec"]["components"][0]["name"]) == ("nvidia.com/v1beta1", "worker")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(ran.out.encode())))
    (back,) = load_documents(command("convert", "-", "--to", "v1alpha1").out)
    assert back.data == yaml.safe_load(LOSSY)


def test_what_goes_into_the_remainder_is_said(command: Command, files: Files) -> None:
    files(a=LOSSY, b=GOOD)
    ran = command("convert", "a.yaml", "--to", "v1beta1")
    note = "kept in the annotation nvidia.com/dgd-spec, restored when converted back from v1beta1: spec.pvcs"
    summary = f"1 object for operator {DEFAULT_LINE}: 1 converted to v1beta1\n"
    assert ran.err == f"a.yaml:1: DynamoGraphDeployment llm/good: {note}\n{summary}"
    assert command("convert", "a.yaml", "--to", "v1beta1", "-q").err == ""
    assert command("convert", "b.yaml", "--to", "v1beta1").err == summary


@pytest.mark.parametrize(
    ("adapter", "noted"), [("{}", True), ("{enabled: null}", True), ("{enabled: false}", False), ("{enabled: true}", False)]
)
def test_an_empty_scaling_adapter_that_v1beta1_would_switch_on_is_said_to_be_off(
    command: Command, files: Files, adapter: str, *, noted: bool
) -> None:
    files(a=GOOD.replace("componentType:", f"scalingAdapter: {adapter}\n      componentType:"))
    ran = command("convert", "a.yaml", "--to", "v1beta1")
    note = (
        "spec.services[worker].scalingAdapter: is off without enabled: true, and left out, since v1beta1 has the block only where it is on"
    )
    assert ran.code == 0
    assert (f"a.yaml:1: DynamoGraphDeployment llm/good: {note}\n" in ran.err) is noted
    (there,) = load_documents(ran.out)
    assert ("scalingAdapter" in there.data["spec"]["components"][0]) is (adapter == "{enabled: true}")


ODD = "# first\r\n---   \napiVersion: v1\nkind:   ConfigMap  # odd\nmetadata: {name: x}\n\n\n--- # more\n"


@run_each(
    "text",
    [
        ODD,
        ODD + GOOD,
        "",
        "\n",
        "---\n---\n",
        "%YAML 1.1\n---\n" + GOOD,
        "--- {a: b}\n--- {c: d}",
        "a: 1\n...\n---\nb: 2\n",
        "\ufeff" + GOOD,
    ],
)
def test_pieces_are_the_text(text: str) -> None:
    pieces = list(split_documents("x", text))
    assert "".join(piece.text for piece in pieces) == text
    begins = [len("".join(piece.text for piece in pieces[:index])) for index in range(len(pieces))]
    assert [piece.line for piece in pieces] == [text.count("\n", 0, begin) + 1 for begin in begins]


@pytest.mark.parametrize("form", ["--- {graph}", "--- # more\n{graph}", "---\n{graph}\n...\n"])
def test_converted_documents_stay_documents_of_their_own(command: Command, files: Files, form: str) -> None:
    graph = json.dumps(yaml.safe_load(GOOD))
    files(a=OTHER_KIND + form.replace("{graph}", graph) + "\n---\n" + OTHER_KIND)
    out = command("convert", "a.yaml", "--to", "v1beta1").out
    assert [document.data["apiVersion"] for document in load_documents(out)] == ["v1", "nvidia.com/v1beta1", "v1"]


def test_json_stays_json_and_lists_are_converted_inside(command: Command, files: Files) -> None:
    items = [yaml.safe_load(text) for text in (GOOD, OTHER_KIND, MODEL)]
    files(a=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), b=json.dumps(items[0]) + "\n" + json.dumps(items[1]))
    listed = command("convert", "a.yaml", "--to", "v1beta1").json
    assert [item["apiVersion"] for item in listed["items"]] == ["nvidia.com/v1beta1", "v1", "nvidia.com/v1alpha1"]
    stream = [document.data for document in load_documents(command("convert", "b.yaml", "--to", "v1beta1").out)]
    assert [obj["apiVersion"] for obj in stream] == ["nvidia.com/v1beta1", "v1"]


def test_one_format_for_all(command: Command, files: Files) -> None:
    files(a=GOOD, b=OTHER_KIND, c=json.dumps(yaml.safe_load(GOOD)))
    listed = command("convert", "a.yaml", "b.yaml", "--to", "v1beta1", "-o", "json").json
    assert [item["apiVersion"] for item in listed["items"]] == ["nvidia.com/v1beta1", "v1"]
    assert command("convert", "a.yaml", "--to", "v1beta1", "-o", "json").json["kind"] == "DynamoGraphDeployment"
    assert command("convert", "c.yaml", "--to", "v1beta1", "-o", "yaml").out == command("convert", "a.yaml", "--to", "v1beta1").out


def test_several_files_are_documents_of_one_output(command: Command, files: Files) -> None:
    files(a=GOOD.rstrip("\n"), b=OTHER_KIND)
    documents = load_documents(command("convert", ".", "--to", "v1beta1").out)
    assert [document.data["apiVersion"] for document in documents] == ["nvidia.com/v1beta1", "v1"]


def test_check_and_write(command: Command, files: Files) -> None:
    folder = files(a=GOOD, b=OTHER_KIND)
    (folder / "a.yaml").chmod(0o640)
    ran = command("convert", ".", "--to", "v1beta1", "--check")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == f"a.yaml: 1 of 1 objects would change\n1 object for operator {DEFAULT_LINE}: 1 would change\n"
    assert (folder / "a.yaml").read_text() == GOOD
    assert command("convert", ".", "--to", "v1beta1", "--write", "--verify").code == 0
    assert "nvidia.com/v1beta1" in (folder / "a.yaml").read_text()
    assert stat.S_IMODE((folder / "a.yaml").stat().st_mode) == 0o640
    assert (folder / "b.yaml").read_text() == OTHER_KIND
    assert sorted(file.name for file in folder.iterdir()) == ["a.yaml", "b.yaml"]
    written = (folder / "a.yaml").stat().st_mtime_ns
    assert command("convert", ".", "--to", "v1beta1", "--check").code == 0
    summary = f"1 object for operator {DEFAULT_LINE}: nothing to do, no object needs conversion to v1beta1\n"
    assert command("convert", ".", "--to", "v1beta1", "--write") == (0, "", summary)
    assert command("convert", ".", "--to", "v1beta1", "--write", "-q") == (0, "", "")
    assert (folder / "a.yaml").stat().st_mtime_ns == written


def test_verify_refuses_what_does_not_come_home(command: Command, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = files(a=GOOD)
    assert command("convert", "a.yaml", "--to", "v1beta1", "--verify").code == 0
    monkeypatch.setattr("dynamo_webhooks.cli.commands.convert.run._same", lambda home, data, line: False)
    ran = command("convert", "a.yaml", "--to", "v1beta1", "--verify", "--write")
    assert ran.code == 1
    assert "does not round-trip through v1beta1" in ran.err
    assert (folder / "a.yaml").read_text() == GOOD


TWINS = "apiVersion: nvidia.com/v1beta1\nkind: DynamoGraphDeployment\nmetadata: {name: t}\nspec: {components: [{name: a}, {name: a}]}\n"


@run_each(
    ("text", "code", "message"),
    [
        (OTHER_KIND, 3, "no Dynamo object (group nvidia.com) found"),
        (MODEL, 0, ""),
        (TWINS, 1, "a.yaml:1: DynamoGraphDeployment t: spec.components[1].name: must be"),
        (TWINS.replace("v1beta1", "v7"), 1, "a.yaml:1: DynamoGraphDeployment t: apiVersion: must be nvidia.com/v1alpha1 or"),
        (TWINS.replace("{components", "[components"), 4, "a.yaml:4:"),
        (OTHER_KIND + "---\na: [\n---\n" + GOOD.replace("v1alpha1", "v1beta1").replace("services", "components"), 4, "a.yaml:"),
    ],
)
def test_exit_codes(command: Command, files: Files, text: str, code: int, message: str) -> None:
    """What can't be converted or read is printed as it was, beside a sentence that says where and why."""
    files(a=text)
    ran = command("convert", "a.yaml", "--to", "v1alpha1")
    assert ran.code == code
    assert message in ran.err
    if code in (1, 3) or text is MODEL:
        assert ran.out == text


def test_comments_that_are_lost_are_said(command: Command, files: Files) -> None:
    files(a="# stays\n" + GOOD.replace("spec:", "spec: # stays too\n  # goes\n  pvcs: [{name: a}] # as well"))
    ran = command("convert", "a.yaml", "--to", "v1beta1")
    assert ran.out.startswith("# stays\n")
    assert "\nspec: # stays too\n  components:\n" in ran.out
    assert 'a.yaml:8: the comment "# goes" could not be kept\n' in ran.err
    assert 'a.yaml:9: the comment "# as well" could not be kept\n' in ran.err
    assert "comment" not in command("convert", "a.yaml", "--to", "v1beta1", "-q").err


COMMENTED = """\
# of the file
apiVersion: nvidia.com/v1alpha1  # the version
kind: DynamoGraphDeployment
metadata:
    name: "good"
spec:
    # for all
    envs:
    - {name: A, value: 'b'}   # a
    services:
        # the front
        Frontend:  # front
            componentType: frontend
            # one is enough
            replicas: 1
        Worker:
            componentType: worker
            # where it runs
            extraPodSpec:  # pod
                mainContainer:
                    image: "x:1"  # pinned
                    args:
                    - --model   # which
                    - m
                # - commented out
"""

CONVERTED = """\
# of the file
apiVersion: nvidia.com/v1beta1  # the version
kind: DynamoGraphDeployment
metadata:
    name: "good"
spec:
    # for all
    env:
    - {name: A, value: 'b'}   # a
    components:
    # the front
    - name: Frontend  # front
      type: frontend
      # one is enough
      replicas: 1
    - name: Worker
      type: worker
      # where it runs
      podTemplate:  # pod
          spec:
              containers:
              - name: main
                image: "x:1"  # pinned
                args:
                - --model   # which
                - m
              # - commented out
"""


def test_comments_and_habits_stay_there_and_back(command: Command, files: Files) -> None:
    folder = files(a=COMMENTED)
    summary = f"1 object for operator {DEFAULT_LINE}: 1 converted to v1beta1\n"
    assert command("convert", "a.yaml", "--to", "v1beta1", "--write") == (0, "", summary)
    assert (folder / "a.yaml").read_text() == CONVERTED
    assert command("convert", "a.yaml", "--to", "v1alpha1", "--write") == (0, "", summary.replace("v1beta1", "v1alpha1"))
    assert (folder / "a.yaml").read_text() == COMMENTED


def test_what_comes_back_from_an_annotation_has_no_comments_of_its_neighbours(command: Command, files: Files) -> None:
    block = "    worker:\n      componentType: worker\n      ingress: {enabled: false}\n      sharedMemory:\n        size: 8Gi  # in May\n"
    folder = files(a=GOOD.partition("    worker:")[0] + block)
    assert command("convert", "a.yaml", "--to", "v1beta1", "--write").code == 0
    assert command("convert", "a.yaml", "--to", "v1alpha1", "--write").code == 0
    text = (folder / "a.yaml").read_text()
    assert text.count("# in May") == 1
    assert "        size: 8Gi  # in May\n" in text
    assert "      ingress:\n        enabled: false\n" in text


def test_bytes_of_others_stay(command: Command, files: Files) -> None:
    before = b"\xef\xbb\xbf" + ODD.encode() + b"---\r\n  \n#\xc3\xa9\r\n---\n"
    folder = files(a=before + GOOD.encode() + b"---\n" + MODEL.rstrip().encode())
    assert command("convert", "a.yaml", "--to", "v1beta1", "--write").code == 0
    converted = GOOD.replace("v1alpha1", "v1beta1").partition("spec:")[0]
    converted += "spec:\n  components:\n    - name: worker\n      type: worker\n      replicas: 2\n---\n"
    assert (folder / "a.yaml").read_bytes() == before + (converted + MODEL.rstrip()).encode()


def test_links_stay_links_and_failing_files_stay_as_they_are(command: Command, files: Files) -> None:
    bad = GOOD.replace("v1alpha1", "v1beta1").replace("services", "components").partition("    worker")[0] + "    - name: w\n---\n" + TWINS
    folder = files(bad=bad, good=GOOD)
    (folder / "link.yaml").symlink_to("good.yaml")
    assert command("convert", "link.yaml", "--to", "v1beta1", "--write").code == 0
    assert (folder / "link.yaml").is_symlink()
    assert (folder / "good.yaml").read_text() != GOOD
    ran = command("convert", "bad.yaml", "link.yaml", "--to", "v1alpha1", "--write")
    assert (ran.code, (folder / "bad.yaml").read_text()) == (1, bad)
    assert load_documents((folder / "good.yaml").read_text())[0].data == yaml.safe_load(GOOD)


LEGACY = """\
# to be moved
apiVersion: nvidia.com/v1alpha1
kind: DynamoDeployment
metadata: {name: old}
spec:
  dynamoNim: graph:1
  services:
    Frontend:  # front
      replicas: 2  # two
"""
BUILD = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoNimRequest
metadata: {name: graph--1}
spec: {bentoTag: "graph:1", image: "registry/graph:1.5.0"}
"""


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
def test_documents_of_the_first_releases_become_current_ones(command: Command, files: Files, version: str) -> None:
    folder = files(a=LEGACY + "---\n" + BUILD)
    ran = command("convert", "a.yaml", "--to", version, "--write", "--verify", "-q")
    assert ran.code == 0
    assert "a.yaml:1: DynamoDeployment old (a kind of the first releases) becomes DynamoGraphDeployment" in ran.err
    assert "you must decide: spec" in ran.err
    text = (folder / "a.yaml").read_text()
    now, build = load_documents(text)
    assert (now.data["kind"], now.data["apiVersion"]) == ("DynamoGraphDeployment", f"nvidia.com/{version}")
    assert text.startswith("# to be moved\n")
    assert "Frontend:  # front" if version == "v1alpha1" else "- name: Frontend  # front" in text
    assert "replicas: 2  # two" in text
    assert build.data == yaml.safe_load(BUILD)  # nothing takes its place, so it is not taken away
    assert command("convert", "a.yaml", "--to", version, "--check").code == 0


def test_builds_are_found_in_the_other_files_of_a_run(command: Command, files: Files) -> None:
    files(a=LEGACY, b=BUILD)
    alone, together = (command("convert", *paths, "--to", "v1alpha1").out for paths in (["a.yaml"], ["a.yaml", "b.yaml"]))
    assert "image: registry/graph:1.5.0" in together.partition("---")[0]
    assert "image" not in alone


def test_items_of_lists_are_converted_where_they_stand(command: Command, files: Files) -> None:
    before, after = ("".join(f"  {line}\n" for line in text.splitlines()[1:]).lstrip() for text in (COMMENTED, CONVERTED))
    around = "apiVersion: v1\nkind: List  # all\nitems:\n# one\n- {}# other\n- {{apiVersion: v1, kind: ConfigMap}}\n"
    files(a=around.format(before))
    assert command("convert", "a.yaml", "--to", "v1beta1").out == around.format(after)


@run_each("annotation", ['"text"', "[" * 5000, '{"kept":[1]}', '{"kept":[["a"]],"spec":{"a":1}}', "1", "{", '{"spec":[]}'])
def test_annotations_that_are_nobodys_remainder_do_no_harm(command: Command, files: Files, annotation: str) -> None:
    text = GOOD.replace("  name:", f"  annotations: {{nvidia.com/dgd-spec: '{annotation}'}}\n  name:")
    files(a=text, b=text.replace("v1alpha1", "v1beta1").replace("services", "components").partition("    worker")[0] + "    - name: w\n")
    assert command("convert", "a.yaml", "--to", "v1beta1").code == 0
    assert command("convert", "b.yaml", "--to", "v1alpha1").code == 0


def test_a_file_that_changes_meanwhile_keeps_the_change(command: Command, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    from dynamo_webhooks.cli.commands.convert import run

    folder, real = files(a=GOOD, b=GOOD), run.convert_text

    def edited(name: str, text: str, version: str, **more: Any) -> run.ConvertedText:
        if name == "a.yaml":
            (folder / "a.yaml").write_text("edited: meanwhile\n")
        return real(name, text, version, **more)

    monkeypatch.setattr(run, "convert_text", edited)
    ran = command("convert", ".", "--to", "v1beta1", "--write")
    note = "a.yaml is left as it is: it has changed since it was read; run the command again\n"
    assert (ran.code, ran.err) == (1, f"{note}2 objects for operator {DEFAULT_LINE}: 1 converted to v1beta1\n")
    assert (folder / "a.yaml").read_text() == "edited: meanwhile\n"
    assert "nvidia.com/v1beta1" in (folder / "b.yaml").read_text()


def test_a_list_that_is_copied_whole_gives_no_comment_to_what_else_was_made_of_it() -> None:
    """Found by the laws: `mainContainer` comes from the item that `containers` holds, too."""
    kept = (
        '{"kept":[[["spec","services","a","extraPodSpec","mainContainer"],{}]],'
        '"spec":{"services":{"a":{"extraPodSpec":{"containers":[{"name":"main"}]}}}},"version":1}'
    )
    text = (
        "apiVersion: nvidia.com/v1beta1\nkind: DynamoGraphDeployment\n"
        f"metadata:\n  name: x\n  annotations:\n    nvidia.com/dgd-spec: '{kept}'\n"
        "spec:\n  components:\n  - name: a\n    podTemplate:\n      spec:\n        containers: # one\n"
        "        # two\n        - name: main # three\n          # four\n        resources: {} # five\n"
    )
    back = convert_text("x", text, "v1alpha1", verify=False, line=Line.V1_2).text
    assert [back.count(f"# {word}") for word in ("one", "two", "three", "four", "five")] == [1, 1, 1, 1, 1]
    assert "mainContainer: {}\n" in back


def test_a_read_only_file_stays_and_the_answer_is_no(command: Command, files: Files) -> None:
    files(a=GOOD, b=GOOD)
    Path("a.yaml").chmod(0o444)
    ran = command("convert", "a.yaml", "b.yaml", "--to", "v1beta1", "--write", "-q")
    assert (ran.code, ran.err) == (1, "a.yaml can't be written: permission denied\n")
    assert Path("a.yaml").read_text() == GOOD
    assert "v1beta1" in Path("b.yaml").read_text()
    assert sorted(file.name for file in Path().iterdir()) == ["a.yaml", "b.yaml"]


def test_what_check_would_refuse_is_said_and_the_answer_is_no(command: Command, files: Files) -> None:
    """A name that v1alpha1 takes as a map's key is none in v1beta1; the object was good, or was refused for other reasons."""
    text = GOOD.replace("    worker:", '    "with space":')
    assert text != GOOD
    files(a=text)
    ran = command("convert", "a.yaml", "--to", "v1beta1", "-q")
    assert ran.code == 1
    stays = "it stays as it is, because check refuses the converted object: spec.components["
    assert f"a.yaml: DynamoGraphDeployment llm/good: {stays}" in ran.err
    assert "(schema-mismatch)" in ran.err
    assert ran.out == text
    files(a=f"{text}---\n{GOOD}")
    assert command("convert", "a.yaml", "--to", "v1beta1", "-q", "--write").code == 1
    written = (Path() / "a.yaml").read_text()
    assert (written.startswith(text), "v1beta1" in written.partition("---")[2]) == (True, True)
    items = command("convert", "a.yaml", "--to", "v1beta1", "-q", "-o", "json").json["items"]
    assert [item["apiVersion"] for item in items] == ["nvidia.com/v1alpha1", "nvidia.com/v1beta1"]


@pytest.mark.parametrize("kind", ["default", "own"])
@run_each("line", Line)
def test_a_component_type_that_v1beta1_lacks_is_left_out_and_said(command: Command, files: Files, line: str, kind: str) -> None:
    files(a=WHOLE.replace("componentType: worker", f"componentType: {kind}"))
    verified = command("convert", "a.yaml", "--to", "v1beta1", "--line", line, "--verify")
    lost = f'spec.services[worker].componentType: does not round-trip: v1beta1 has no type "{kind}", and would lose it'
    assert (verified.code, lost in verified.err) == ((0, False) if line == Line.V1_2 else (1, True))
    ran = command("convert", "a.yaml", "--to", "v1beta1", "--line", line)
    assert (ran.code, "type:" in ran.out) == (0, False)
    assert "spec.services" in ran.err
    assert f'componentType: left out, since v1beta1 has no type "{kind}"' in ran.err or line == Line.V1_2
    files(b=ran.out)
    assert command("check", "b.yaml", "--line", line).code == 0
    home = yaml.safe_load(command("convert", "b.yaml", "--to", "v1alpha1", "--line", line, "-q").out)
    assert home["spec"]["services"]["worker"].get("componentType") == (kind if line == Line.V1_2 else None)


SWITCHES = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  components:
  - name: a
    experimental:
      checkpoint:   # warm
        checkpointRef: c
  - {name: b, experimental: {checkpoint: {checkpointRef: c}}}
  - {name: c, experimental: {checkpoint: {enabled: false, checkpointRef: c}}}
"""


def test_for_line_1_5_checkpoints_get_the_switch_that_it_requires(command: Command, files: Files) -> None:
    folder = files(a=SWITCHES)
    assert command("convert", "a.yaml", "--to", "v1beta1", "--line", "1.2", "--write").code == 0
    assert (folder / "a.yaml").read_text() == SWITCHES
    ran = command("convert", "a.yaml", "--to", "v1beta1", "--line", "1.5", "--write")
    notes = [line for line in ran.err.splitlines() if "enabled: true is added" in line]
    assert [line.split(": ")[2] for line in notes] == [f"spec.components[{index}].experimental.checkpoint" for index in (0, 1)]
    wanted = SWITCHES.replace("        checkpointRef: c\n", "        checkpointRef: c\n        enabled: true\n")
    wanted = wanted.replace("{checkpoint: {checkpointRef: c}}", "{checkpoint: {checkpointRef: c, enabled: true}}")
    assert (folder / "a.yaml").read_text() == wanted
    again = command("convert", "a.yaml", "--to", "v1beta1", "--line", "1.5", "--check")
    assert again == (0, "", "1 object for operator 1.5: nothing to do, no object needs conversion to v1beta1\n")


def test_the_line_of_the_project_file_is_converted_for(command: Command, files: Files) -> None:
    alpha = "apiVersion: nvidia.com/v1alpha1\nkind: DynamoComponentDeployment\nmetadata: {name: g}\nspec:\n"
    alpha += "  checkpoint: {enabled: true, checkpointRef: c}\n  extraPodSpec: {mainContainer: {image: x:1.5.0}}\n"
    folder = files(a=alpha)
    assert "enabled: true" not in command("convert", "a.yaml", "--to", "v1beta1", "--line", "1.2").out
    (folder / ".dynamo-webhooks.yaml").write_text("line: '1.5'\n")
    ran = command("convert", "a.yaml", "--to", "v1beta1", "--verify")
    assert (ran.code, "enabled: true" in ran.out) == (0, True)
    assert "1 object for operator 1.5: 1 converted to v1beta1\n" in ran.err


@pytest.mark.interpreted
def test_cost_grows_with_the_components(command: Command, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    """The names of an object's list are gathered once, and not for each field that is translated."""
    gathered = []
    plain = Translation._find_index

    def counted(self: Translation, items: list[Any], name: str) -> int | None:
        gathered.append(len(items) if id(items) not in self._indices else 1)
        return plain(self, items, name)

    monkeypatch.setattr(Translation, "_find_index", counted)
    costs = []
    for many in (20, 80):
        parts = [{"name": f"w{number}", "type": "worker"} for number in range(many)]
        graph = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "metadata": {"name": "g"}}
        files(a=json.dumps({**graph, "spec": {"components": parts}}))
        gathered.clear()
        assert command("convert", "--to", "v1alpha1", "a.yaml").code == 0
        costs.append(sum(gathered))
    assert 0 < costs[1] < 5 * costs[0]
