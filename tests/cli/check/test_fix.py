"""`check --fix`: remedies that need no judgement, written into files whose other bytes stay."""

import copy
import json
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dynamo_webhooks.api.kinds import BY_NAME, api_version
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.commands.check.fix import apply_edits, fix_files
from dynamo_webhooks.cli.commands.check.run import CheckRun
from dynamo_webhooks.cli.commands.check.selection import RuleSelection
from dynamo_webhooks.cli.validation.finding import LocatedFinding, merge_duplicates
from dynamo_webhooks.cli.validation.fixes import ADD, REMOVE, RENAME, SET, FieldEdit, apply_fixes, convert_scalar_type
from dynamo_webhooks.cli.validation.pipeline import ValidationSettings
from dynamo_webhooks.cli.yaml.load import Source
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.conversion.objects import convert_object, target
from dynamo_webhooks.policies.facts import Facts
from tests.cli.conftest import Command, Files
from tests.cli.samples import BAD, GOOD
from tests.policies.example_runs import RULES, blocks
from tests.rows import run_each

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
          image: x/vllm:1.5.0
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
    left = {(finding["rule"], finding["path"]) for finding in ran.json["findings"]}
    assert ("unknown-field", "spec.component") in left  # the field that it resembles is there
    assert "  component:\n" in (folder / "chat.yaml").read_text()


def test_what_is_ignored_or_known_is_not_mended(command: Command, files: Files) -> None:
    folder = files(chat=MANIFEST.replace("# misspelt", "# dynamo-webhooks: ignore[unknown-field] agreed"))
    command("check", ".", "--fix", "--ignore", "wrong-type")
    text = (folder / "chat.yaml").read_text()
    assert "backendFramwork" in text
    assert 'replicas: "2"' in text
    assert "scalingAdapter" in text


# every rule whose remedy needs nobody's judgement, at least for one of its examples
MENDED = {
    *("warn-autoscaling", "warn-dynamo-namespace", "restart-order-parallel", "restart-order-unique", "gms-extra-client-duplicate"),
    *("epp-single-node", "epp-single-replica", "failover-intrapod-discovery-mode", "provider-override-api-version"),
    *("dgd-annotation-vllm-executor", "dgd-annotation-discovery-mode", "dgd-annotation-discovery-backend"),
    *("pvc-access-mode-enum", "pvc-size-negative", "kvt-enforcement-enum", "failover-mode-unknown", "dgdr-sla-optimization-type"),
    *("restart-order-unknown", "warn-component-type-unknown", "resources-quantity-invalid", "ingress-host-format"),
    *("topology-spec-domain-format", "topology-service-domain-format", "kvt-domain-format"),
}


def found(text: str, facts: Facts) -> list[LocatedFinding]:
    """What `check` finds in a text."""
    run = CheckRun(ValidationSettings(facts), RuleSelection(), "auto", None)
    run.check_file(Source("a.yaml", text), "")
    result = run.result()
    assert result.unreadable == []
    return merge_duplicates(result.findings)


def versions(obj: dict[str, Any]) -> Iterator[str]:
    """The object as a file in each version that it can be said in."""
    yield yaml.safe_dump(obj, sort_keys=False)
    kind = BY_NAME[obj["kind"]]
    for version in kind.versions:
        if obj["apiVersion"] != api_version(version.name) and obj["kind"] in KINDS:
            with suppress(ConversionError):
                yield yaml.safe_dump(
                    convert_object(copy.deepcopy(obj), target(api_version(version.name), line=Line.V1_2), whole=True).object
                )


def test_what_needs_no_judgement_makes_bad_examples_clean(subtests: pytest.Subtests) -> None:
    for rule in RULES:
        with subtests.test(rule.name):
            mends = [
                mend(rule.name, text, bad.facts) for bad in blocks(rule, "bad") if bad.old_text is None for text in versions(bad.object)
            ]
            assert any(mends) == (rule.name in MENDED)


def mend(rule: str, text: str, facts: Facts) -> bool:
    """Whether something of what a rule finds in a text is mended; if so, only that is gone."""
    findings = [finding for finding in found(text, facts) if finding.rule == rule]
    some = [finding for finding in findings if finding.edit is not None]
    done, code = fix_files(some)
    assert code == 0
    assert bool(done) == bool(some), text
    for file in done:
        left = [each for each in found(file.text, facts) if each.rule == rule]
        assert len(left) == len(findings) - len(some), file.text
    return bool(some)


def test_a_file_that_can_not_be_read_as_a_whole_is_left_as_it_is(command: Command, files: Files) -> None:
    folder = files(chat=MANIFEST + "---\na: [\n")
    ran = command("check", ".", "--fix")
    assert ran.code == 4
    assert "chat.yaml is left as it is: a part of it can't be read" in ran.err
    assert "backendFramwork" in (folder / "chat.yaml").read_text()


@pytest.mark.parametrize("also", ["", MANIFEST])
def test_a_diff_ends_as_the_fix_does(command: Command, files: Files, also: str) -> None:
    """A pipeline that asks for the diff must not pass what `--fix` leaves."""
    files(bad=BAD, **({"chat": also} if also else {}))
    shown = command("check", ".", "--fix", "--diff")
    assert (shown.code, bool(shown.out), shown.err) == (1, bool(also), "--fix leaves 1 finding; check without --fix lists them\n")
    assert command("check", ".", "--fix", "--diff", "--fail-on", "never").code == bool(also)
    command("check", ".", "--baseline", "known.json", "--update-baseline")
    assert command("check", "bad.yaml", "--fix", "--diff", "--baseline", "known.json").code == 0
    assert command("check", ".", "--fix").code == 1


def test_a_diff_tells_what_could_not_be_looked_at(command: Command, files: Files) -> None:
    files(broken="a: [\n", clean=GOOD, other="a: 1\n", chat=MANIFEST)
    ran = command("check", "broken.yaml", "clean.yaml", "gone.yaml", "--fix", "--diff")
    assert (ran.code, ran.out) == (4, "")
    assert ran.err.splitlines() == ["broken.yaml:2:1: a value is required here", "gone.yaml: does not exist"]
    assert (command("check", "chat.yaml", "gone.yaml", "--fix", "--diff").code) == 4
    ran = command("check", "other.yaml", "--fix", "--diff")
    assert (ran.code, ran.err) == (3, "no Dynamo object (group nvidia.com) found; --allow-empty accepts that\n")
    assert command("check", "other.yaml", "--fix", "--diff", "--allow-empty").code == 0
    assert command("check", "clean.yaml", "--fix", "--diff").code == 0


@pytest.mark.parametrize("name", ["chat.yaml", "./chat.yaml", "of us/chät.yaml", "two\nlines.yaml"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_git_applies_a_diff(command: Command, files: Files, name: str, end: str) -> None:
    folder = files()
    (folder / name).parent.mkdir(exist_ok=True)
    before = MANIFEST.replace("\n", end).encode()
    (folder / name).write_bytes(before)
    patch = command("check", name, "--fix", "--diff").out
    subprocess.run(["git", "apply", "-"], input=patch.encode(), check=True)
    patched = (folder / name).read_bytes()
    (folder / name).write_bytes(before)
    command("check", name, "--fix")
    assert (folder / name).read_bytes() == patched


JSON = """\
{"apiVersion": "nvidia.com/v1beta1",\r\n "kind": "DynamoGraphDeployment",
 "metadata": {"name": "g"}, "spec":
 {"backendFramwork": "vllm",\r\n "components": [{"name": "ü", "typ": "worker"}]}}
"""
SWITCHLESS = FIXED.partition("---")[0].replace("scalingAdapter: {}", "experimental: {checkpoint: {checkpointRef: c}}")
SHARED = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  services:
    a: &shared
      componentType: worker
      replica: 3  # each
    b:
      <<: *shared
    c: *shared
"""


def test_items_of_a_list_are_removed_from_the_end() -> None:
    data = {"a": ["x", "x", "y", "x"]}
    assert apply_fixes(data, [FieldEdit(REMOVE, ("a", 1)), FieldEdit(REMOVE, ("a", 3)), FieldEdit(REMOVE, ("a", 1))]) == {"a": ["x", "y"]}
    assert data == {"a": ["x", "x", "y", "x"]}


TEXT = st.text(max_size=2)
VALUES = st.recursive(
    st.none() | st.integers() | TEXT, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=4
)
PATHS = st.lists(st.text(max_size=2) | st.integers(-3, 3), min_size=1, max_size=4).map(tuple)


@given(VALUES, st.lists(st.builds(FieldEdit, st.sampled_from((ADD, REMOVE, RENAME, SET)), PATHS, TEXT), max_size=5))
def test_no_edit_raises_or_changes_what_it_was_given(data: Any, edits: list[FieldEdit]) -> None:
    before = copy.deepcopy(data)
    apply_fixes(data, edits)
    assert data == before


@given(st.sampled_from(("string", "integer", "boolean", "number", "")), VALUES, TEXT)
def test_a_value_of_another_type_becomes_one_of_the_fields_type_or_stays(wanted: str, value: Any, written: str) -> None:
    made = convert_scalar_type(wanted, value, written)
    kinds = {"string": str, "integer": int, "boolean": bool}
    assert made is None or type(made.value) is kinds[wanted]


SHARING = """\
# top\u2028# of it
x-common: &common
  type: Worker   # one
  replicas: "3"
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  components:
    - &base
      <<: *common   # all
      name: a
      podTemplate:   &pod
        spec: {containers: [{name: main, image: "i:1.5.0"}],   hostNetwork: "true"}
    - name: b
      type:    Worker
      replicas: &two "2"
      podTemplate:   *pod   # shared
    - {<<: *base, name: c, replicas: *two}
"""


SERVICES = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  services:
    a: &a   # one
      componentType: worker
      autoscaling: {enabled: true}   # goes
      extraPodSpec:   &pod
        mainContainer: {image: "i:1.5.0"}
        hostNetwork: "true"
    b: *a
    c:
      <<: *a
"""


HOST = GOOD.replace("replicas: 2", 'ingress: {enabled: true, ingressControllerClassName: nginx, host: "https://Chat.example.com:8443/x"}')
TWICE = SHARED.replace("replica: 3  # each", "replica: 3\n      replcas: 2").replace("worker", "Worker").partition("    b:")[0]
FORM, FORMED = (text.partition("---")[0].replace("8080", "0123") for text in (MANIFEST, FIXED))
WORDS = (
    '{"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "metadata": {"name": "g"}, "spec": {"components": [{"name": "w",'
    '"type": "Worker", "replicas": "2", "podTemplate": {"spec": {"containers": [{"name": "main", "image": "x/vllm:1.5.0",'
    '"env": [{"name": "P", "value": 5}]}]}}}]}}'
)
MENDS = [
    (FORM.replace("\n", "\r\n"), FORMED.replace("\n", "\r\n"), 8, 0),
    (f"\ufeff{FORM}", f"\ufeff{FORMED}", 8, 0),
    (WORDS, WORDS.replace("Worker", "worker").replace('"2"', "2").replace(": 5}", ': "5"}'), 3, 0),
    (JSON, JSON.replace("Framwork", "Framework").replace('"typ"', '"type"'), 2, 1),  # with odd ends of lines
    (SHARED, SHARED.replace("replica:", "replicas:"), 3, 1),  # several places share the name
    (SWITCHLESS, SWITCHLESS.replace("Ref: c", "Ref: c, enabled: true"), 1, 0),  # which line 1.5 requires
    (HOST, HOST.replace("https://Chat.example.com:8443/x", "chat.example.com"), 1, 0),
    (TWICE, TWICE.replace("Worker", "worker"), 1, 1),  # two fields that would get one name stay
    (SHARING, SHARING.replace("Worker", "worker").replace('"3"', "3").replace('"2"', "2").replace('"true"', "true"), 9, 1),  # at its anchor
    # and from its aliases
    (SERVICES, SERVICES.replace("      autoscaling: {enabled: true}   # goes\n", "").replace('"true"', "true"), 3, 0),
]


@run_each(("text", "fixed", "edits", "code"), MENDS)
def test_an_edit_is_made_in_place(command: Command, files: Files, text: str, fixed: str, edits: int, code: int) -> None:
    folder = files(a=text)
    first, second = (command("check", ".", "--fix", "--line", "1.5") for _ in range(2))  # rules wait until types are right
    assert (f"a.yaml: {edits} fixed\n" in first.err, first.code, second.code) == (True, code, code)
    with (folder / "a.yaml").open(newline="") as file:
        assert file.read() == fixed


@pytest.mark.parametrize(
    "text",
    [
        SERVICES.replace('"true"', "true") + "      autoscaling: {enabled: true}   # own\n",
        SERVICES.replace("    b: *a\n", "    b:\n      extraPodSpec: *pod\n      annotations: {a: *t}\n").replace('"true"', '&t "true"'),
    ],
)
def test_what_would_have_to_be_written_out_is_left_to_the_author(command: Command, files: Files, text: str) -> None:
    folder = files(a=text)
    ran = command("check", ".", "--fix")
    assert ran.code == 1
    assert "a.yaml is left as it is: the edits would write out what its anchors and aliases share; make them by hand\n" in ran.err
    assert (folder / "a.yaml").read_text() == text


def test_a_word_that_replaces_a_number_is_quoted_in_json() -> None:
    text = WORDS.replace('{"components"', '{"backendFramework": 5, "components"')
    edits = {0: [FieldEdit(SET, ("spec", "backendFramework"), "vllm")]}
    assert json.loads(apply_edits(Source("a.json", text), edits)) == json.loads(text.replace("5, ", '"vllm", '))
