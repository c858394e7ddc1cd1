"""`check --fix`: remedies that need no judgement, written into files whose other bytes stay."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_webhooks.cli.check.edits import REMOVE, RENAME, SET, Edit, edited, retyped
from dynamo_webhooks.cli.check.mend import mended
from dynamo_webhooks.policies.catalogue import declared
from tests.cli.conftest import Command, Files
from tests.cli.objects import GOOD

MANIFEST = """\
# our chat
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata:
  name: chat   # the name
  labels: {team: 0123, big: 1e3, yes: true}
spec:
  backendFramwork: vllm  # misspelt
  components:
  - name: worker
    type: Worker   # in the wrong case
    replicas: "2"
    scalingAdaptr: {}
    podTemplate:
      spec:
        containers:
        - name: main
          env: [{name: PORT, value: 8080}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other, labels: {a: 1}}
"""
FIXED = (
    MANIFEST.replace("{team: 0123, big: 1e3, yes: true}", '{team: "0123", big: "1e3", yes: "true"}')
    .replace("backendFramwork", "backendFramework")
    .replace("Worker ", "worker ")
    .replace('"2"', "2")
    .replace("scalingAdaptr", "scalingAdapter")
    .replace("8080", '"8080"')
)


def test_spelling_case_and_types_are_mended_and_the_rest_stays(command: Command, files: Files) -> None:
    folder = files(chat=MANIFEST, good=GOOD)
    before = (folder / "good.yaml").read_bytes()
    shown = command("check", ".", "--fix", "--diff")
    assert (folder / "chat.yaml").read_text() == MANIFEST
    ran = command("check", ".", "--fix")
    assert (ran.code, ran.out) == (0, ""), ran
    assert ran.err.splitlines()[0] == "chat.yaml: 8 fixed"
    assert (folder / "chat.yaml").read_text() == FIXED
    assert (folder / "good.yaml").read_bytes() == before
    assert (shown.code, shown.err) == (1, "")
    assert [line for line in shown.out.splitlines() if line.startswith(("---", "+++"))] == ["--- a/chat.yaml", "+++ b/chat.yaml"]
    assert "+  backendFramework: vllm  # misspelt" in shown.out.splitlines()
    assert command("check", ".", "--fix", "--diff") == (0, "", "")
    assert command("check", ".", "--fix").code == 0


def test_what_needs_a_person_stays_and_is_told(command: Command, files: Files) -> None:
    text = MANIFEST.replace("components:", "component:\n  components:").replace("chat  ", "Chat_1  ")
    folder = files(chat=text)
    ran = command("check", ".", "--fix", "-o", "json")
    assert ran.code == 1
    told = {(finding["rule"], finding["path"]) for finding in ran.json["findings"]}
    assert ("unknown-field", "spec.component") in told  # the field that it resembles is there
    assert "  component:\n" in (folder / "chat.yaml").read_text()


def test_what_is_ignored_or_known_is_not_mended(command: Command, files: Files) -> None:
    folder = files(chat=MANIFEST.replace("# misspelt", "# dynamo-webhooks: ignore[unknown-field] agreed"))
    command("check", ".", "--fix", "--ignore", "wrong-type")
    text = (folder / "chat.yaml").read_text()
    assert "backendFramwork" in text
    assert 'replicas: "2"' in text
    assert "scalingAdapter" in text


@pytest.mark.parametrize("one", [rule for rule in declared() if rule.removes], ids=lambda rule: rule.name)
def test_what_a_rule_says_to_remove_makes_its_bad_examples_clean(command: Command, files: Files, one: Any) -> None:
    for number, bad in enumerate(one.bad):
        kind, version = one.kinds[0].split("/")
        head = f"apiVersion: nvidia.com/{version}\nkind: {kind}\nmetadata: {{name: g}}\n"
        folder = files(bad=bad if "apiVersion" in bad else head + bad)
        assert one.name in command("check", ".", "-o", "json").out, number
        ran = command("check", ".", "--fix", "-o", "json")
        assert one.name not in {finding["rule"] for finding in ran.json["findings"]}
        assert "# expect" not in (folder / "bad.yaml").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--diff",), "--diff shows what --fix would write: give both"),
        (("--fix", "--set", "A=b"), "--fix would write the values of --set and --env-file into the files; leave them out"),
        (("--fix", "-k", "x"), "--fix changes files, and -k checks what is none; fix the sources"),
        (("--fix", "--cluster"), "--fix changes files, and --cluster checks what is none; fix the sources"),
    ],
)
def test_what_is_no_file_is_refused(command: Command, files: Files, words: tuple[str, ...], said: str) -> None:
    files(chat=MANIFEST)
    ran = command("check", "chat.yaml", *words)
    assert (ran.code, said in ran.err) == (2, True)
    assert command("check", "-", "--fix").code == 2


def test_a_file_that_can_not_be_read_as_a_whole_is_left_as_it_is(command: Command, files: Files) -> None:
    folder = files(chat=MANIFEST + "---\na: [\n")
    ran = command("check", ".", "--fix")
    assert ran.code == 4
    assert "chat.yaml is left as it is: a part of it can't be read" in ran.err
    assert "backendFramwork" in (folder / "chat.yaml").read_text()


def test_names_are_found_behind_whatever_ends_a_line(command: Command, files: Files) -> None:
    text = '{"apiVersion": "nvidia.com/v1beta1",\r\n "kind": "DynamoGraphDeployment",\n "metadata": {"name": "g"}, "spec":\n'
    text += ' {"backendFramwork": "vllm",\r\n "components": [{"name": "ü", "typ": "worker"}]}}\n'
    folder = files(chat=text)
    command("check", ".", "--fix")
    with (folder / "chat.yaml").open(newline="") as file:
        assert file.read() == text.replace("Framwork", "Framework").replace('"typ"', '"type"')


def test_items_of_a_list_are_removed_from_the_end() -> None:
    data = {"a": ["x", "x", "y", "x"]}
    assert edited(data, [Edit(REMOVE, ("a", 1)), Edit(REMOVE, ("a", 3)), Edit(REMOVE, ("a", 1))]) == {"a": ["x", "y"]}
    assert data == {"a": ["x", "x", "y", "x"]}


TEXT = st.text(max_size=2)
VALUES = st.recursive(
    st.none() | st.integers() | TEXT, lambda one: st.lists(one, max_size=3) | st.dictionaries(TEXT, one, max_size=3), max_leaves=4
)
PATHS = st.lists(st.text(max_size=2) | st.integers(-3, 3), min_size=1, max_size=4).map(tuple)


@given(VALUES, st.lists(st.builds(Edit, st.sampled_from((REMOVE, RENAME, SET)), PATHS, TEXT), max_size=5))
def test_no_edit_raises_or_changes_what_it_was_given(data: Any, edits: list[Edit]) -> None:
    before = copy.deepcopy(data)
    edited(data, edits)
    assert data == before


@given(st.sampled_from(("string", "integer", "boolean", "number", "")), VALUES, TEXT)
def test_a_value_of_another_type_becomes_one_of_the_fields_type_or_stays(wanted: str, value: Any, written: str) -> None:
    made = retyped(wanted, value, written)
    kinds = {"string": str, "integer": int, "boolean": bool}
    assert made is None or type(made.value) is kinds[wanted]


def test_nothing_is_mended_where_nothing_is_found() -> None:
    assert mended([]) == ([], 0)


def test_the_switch_that_line_1_5_requires_is_written(command: Command, files: Files) -> None:
    text = MANIFEST.partition("---")[0].replace("scalingAdaptr: {}", "experimental: {checkpoint: {checkpointRef: c}}")
    folder = files(chat=text)
    command("check", ".", "--fix", "--line", "1.5")
    assert "experimental: {checkpoint: {checkpointRef: c, enabled: true}}\n" in (folder / "chat.yaml").read_text()
