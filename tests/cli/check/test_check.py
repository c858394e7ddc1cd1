"""`check` on good and bad objects: findings with places, operations, facts, choices, formats and exit codes."""

from collections.abc import Sequence
from typing import Final

import pytest

from dynamo_webhooks.admission.pipeline import Admission
from dynamo_webhooks.policies.finding import Finding
from tests.cli.conftest import Command, Files
from tests.cli.samples import BAD, BAD_RULE, BY_DEFAULT, GOOD, MAIN, MODEL, NEEDS_GROVE, OTHER_KIND, WARNED, graph, manifest
from tests.rows import run_each


def test_documents_of_other_kinds_are_ignored_and_lists_unfolded(command: Command, files: Files) -> None:
    items = "".join("- " + text.replace("\n", "\n  ").rstrip() + "\n" for text in (GOOD, OTHER_KIND, BAD))
    files(list=f"{OTHER_KIND}---\napiVersion: v1\nkind: List\nitems:\n{items}", typed=f"kind: DynamoGraphDeploymentList\nitems:\n{items}")
    ran = command("check", "typed.yaml", "list.yaml", "-o", "json", "--ignore", "duplicate-object")
    assert (ran.json["summary"]["objects"], ran.json["summary"]["others"]) == (4, 3)
    assert f"4 objects {BY_DEFAULT}, 3 documents of other kinds not: " in command("check", ".").err
    assert [finding["line"] for finding in ran.json["findings"]] == [31, 26]
    assert [finding["file"] for finding in ran.json["findings"]] == ["list.yaml", "typed.yaml"]


def test_a_wrong_type_is_reported_once_and_the_policies_wait(command: Command, files: Files) -> None:
    files(a=GOOD.replace("replicas: 2", 'replicas: "2"'))
    report = command("check", "a.yaml", "-o", "json").json
    (finding,) = report["findings"]
    assert (finding["line"], finding["column"], finding["level"], finding["stage"]) == (10, 17, "error", "decode")
    (finding,) = command("check", "--no-defaults", "a.yaml", "-o", "json").json["findings"]
    assert (finding["rule"], finding["stage"], finding["column"]) == ("schema-mismatch", "schema", 17)
    assert [(note["rule"], note["reason"]) for note in report["notEvaluated"]] == [
        ("policies", "rules are skipped until spec.services[worker].replicas has the right type"),
        ("schema-rule", "the schema's rules wait until its other errors are mended"),
    ]
    (finding,) = command("check", "--no-schema", "a.yaml", "-o", "json").json["findings"]
    assert (finding["rule"], finding["stage"], finding["column"]) == ("wrong-type", "decode", 17)


_REFUSED: Final = (
    'Error from server (BadRequest): DynamoGraphDeployment in version "v1alpha1" cannot be handled as a DynamoGraphDeployment: '
    'strict decoding error: unknown field "spec.services.worker.replcas"'
)


@run_each(
    ("words", "code", "expected"),
    [
        ((), 1, [("error", "is not a field of this kind; did you mean replicas?")]),
        (("--validate=strict",), 1, [("error", "is not a field of this kind; did you mean replicas?")]),
        (("--validate=true",), 1, [("error", "is not a field of this kind; did you mean replicas?")]),
        (("--validate", "warn"), 0, [("warning", "is not a field of this kind, and is dropped; did you mean replicas?")]),
        (("--validate=ignore",), 0, []),
        (("--validate=false",), 0, []),
    ],
)
def test_unknown_fields_are_what_kubectl_makes_of_them(
    command: Command, files: Files, words: Sequence[str], code: int, expected: list[tuple[str, str]]
) -> None:
    files(a=GOOD.replace("replicas: 2", "replcas: 2"))
    ran = command("check", "a.yaml", "--answer", "-o", "json", *words)
    [answer] = ran.json["answers"]
    warns = bool(expected) and not code
    assert (ran.code, [(finding["level"], finding["message"]) for finding in ran.json["findings"]]) == (code, expected)
    assert {(finding["rule"], finding["line"]) for finding in ran.json["findings"]} <= {("unknown-field", 10)}
    assert (answer["accepted"], answer["printed"]) == ((False, _REFUSED) if code else (True, ""))
    warned = [warning for warning in answer["warnings"] if "unknown field" in warning]
    assert warned == (['unknown field "spec.services.worker.replcas"'] if warns else [])


@run_each(
    ("version", "more", "fixed"),
    [
        ("nvidia.co/v1alpha1", "; did you mean nvidia.com?", True),
        ("nvdia.com/v1alpha1", "; did you mean nvidia.com?", True),
        ("nvidia.co/v1", "; did you mean nvidia.com?", False),
        ("nvidia/v1alpha1", "; did you mean nvidia.com?", False),
        ("example.org/v1alpha1", "", False),
        ("v1alpha1", "", False),
    ],
)
def test_our_kind_in_another_group_is_not_passed_over(command: Command, files: Files, version: str, more: str, fixed: bool) -> None:
    folder = files(a=GOOD, b=GOOD.replace("nvidia.com/v1alpha1", version).replace("name: good", "name: b"))
    ran = command("check", ".", "--answer", "-o", "json")
    [finding] = ran.json["findings"]
    assert (ran.code, finding["file"], finding["line"], finding["rule"]) == (1, "b.yaml", 1, "unknown-kind")
    wanted = "must be nvidia.com/v1alpha1 or nvidia.com/v1beta1 for DynamoGraphDeployment"
    assert finding["message"] == f'{wanted}, got "{version}"{more}'
    [answer] = [entry for entry in ran.json["answers"] if entry["object"]["name"] == "b"]
    assert answer["printed"].endswith(f'no matches for kind "DynamoGraphDeployment" in version "{version}"')
    assert command("check", ".", "--fix", "-q").code == (0 if fixed else 1)
    assert ("apiVersion: nvidia.com/v1alpha1\n" in (folder / "b.yaml").read_text()) is fixed


def test_an_update_is_what_has_an_old_object(command: Command, files: Files) -> None:
    files(old=MODEL, new=MODEL.replace("baseModelName: b", "baseModelName: c") + "---\n" + MODEL.replace("name: m,", "name: other,"))
    findings = command("check", "new.yaml", "--old", "old.yaml", "-o", "json").json["findings"]
    assert [finding["rule"] for finding in findings] == ["model-base-name-immutable", "warn-base-model-change"]
    assert command("check", "new.yaml", "--old", "old.yaml", "--op", "create").code == 0
    assert command("check", "new.yaml").code == 0
    ran = command("check", "new.yaml", "--old", "old.yaml", "--op", "update")
    assert ran.code == 4
    assert "new.yaml:6:1: DynamoModel llm/other has no old object in --old" in ran.err


def test_a_delete_is_not_judged(command: Command, files: Files) -> None:
    files(bad=BAD)
    assert command("check", "--op", "delete", "bad.yaml").code == 0


def test_old_and_new_in_two_versions_are_compared(command: Command, files: Files) -> None:
    same = graph(f"name: worker, type: worker, replicas: 2, {MAIN}").replace("name: g,", "name: good,")
    files(old=GOOD, same=same, new=same.replace("name: worker", "name: other"))
    assert command("check", "same.yaml", "--old", "old.yaml").code == 0
    [finding] = command("check", "new.yaml", "--old", "old.yaml", "-o", "json").json["findings"]
    assert (finding["rule"], finding["path"], finding["line"]) == ("dgd-service-set-immutable", "spec.components", 5)
    assert "components that the graph was created with" in finding["message"]


def test_defaults_reach_the_other_version_before_its_schema(command: Command, files: Files) -> None:
    """The default replicas; and one that is not v1beta1's own is judged all the same."""
    files(a=graph("name: worker, type: epp, experimental: {failover: {mode: InterPod, numShadows: 2}}"))
    rules = {finding["rule"] for finding in command("check", "a.yaml", "-o", "json", "--line", "1.2").json["findings"]}
    assert "epp-config-required" in rules
    assert "epp-single-replica" not in rules


def test_facts_come_from_a_file_and_from_flags(command: Command, files: Files) -> None:
    files(a=NEEDS_GROVE, facts="grove: true\n")
    assert "supply it with --set-fact grove=true" in command("check", "a.yaml").out
    assert command("check", "a.yaml", "--require-facts").code == 5
    assert command("check", "a.yaml", "--require-facts", "--facts", "facts.yaml").code == 0
    ran = command("check", "a.yaml", "--facts", "facts.yaml", "--set-fact", "grove=false", "-q")
    assert (ran.code, "priority-class-requires-grove" in ran.out) == (1, True)


def test_a_leased_namespace_is_left_to_its_own_operator(command: Command, files: Files) -> None:
    files(bad=BAD, facts="operatorScope: cluster\nexcludedNamespaces: [llm]\n")
    ran = command("check", "bad.yaml", "--facts", "facts.yaml")
    assert ran.code == 0
    assert "the namespace is excluded" in ran.out


def test_rules_are_chosen_by_name_code_or_beginning(command: Command, files: Files) -> None:
    files(bad=BAD, warned=WARNED)
    for words, rules in (
        ([], [BAD_RULE, "warn-dynamo-namespace"]),
        (["--select", BAD_RULE], [BAD_RULE]),
        (["--select", "DYN9"], ["warn-dynamo-namespace"]),
        (["--select", "ingress-,warn-"], [BAD_RULE, "warn-dynamo-namespace"]),
        (["--ignore", "ingress-", "--ignore", "dyn901"], []),
        (["--select", "DYN", "--ignore", "warn-"], [BAD_RULE]),
    ):
        assert [finding["rule"] for finding in command("check", ".", "-o", "json", *words).json["findings"]] == rules, words


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (("--ignore", "ingress-"), True),
        (("--select", "DYN004", "--select", "wrong-type"), False),
        (("--select", "schema-mismatch,ingress-"), True),
        (("--select", "unknown-field,unused-ignore"), True),  # needless is what silences no rule that was asked
        (("--select", "dyn00"), True),
    ],
)
def test_rules_are_asked_where_something_is_selected_that_only_they_tell(
    command: Command, files: Files, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], asked: bool
) -> None:
    calls: list[str] = []

    def judge(write: Admission) -> list[Finding]:
        calls.append(write.kind)
        return []

    monkeypatch.setattr(Admission, "judge", judge)
    files(a=GOOD.replace("replicas: 2", "replicas: -2"))
    ran = command("check", "a.yaml", "-o", "json", *words)
    rules = [finding["rule"] for finding in ran.json["findings"]]
    assert (bool(calls), "schema-mismatch" in rules) == (asked, words != ("--select", "unknown-field,unused-ignore"))


NO_KIND: Final = "must be given: a kind of nvidia.com, such as DynamoGraphDeployment"
NO_VERSION: Final = "must be nvidia.com/v1alpha1 for DynamoModel, got nothing"


@run_each("wrong", ["{}", "null", "5", "''", "absent", "other case"])
@pytest.mark.parametrize(("field", "message"), [("kind", NO_KIND), ("apiVersion", NO_VERSION)])
def test_an_object_of_ours_without_kind_or_version_is_refused(command: Command, files: Files, field: str, message: str, wrong: str) -> None:
    both = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoModel"}
    other = {"absent": "metadata: {}", "other case": f"{field.swapcase()}: {both[field]}"}.get(wrong, f"{field}: {wrong}")
    files(a="".join(f"{other}\n" if name == field else f"{name}: {value}\n" for name, value in both.items()), other="kind: Kustomization\n")
    ran = command("check", "a.yaml", "other.yaml", "-o", "json", "--answer")
    (finding,) = ran.json["findings"]
    assert (ran.code, finding["rule"], finding["path"], finding["message"]) == (1, "unknown-kind", field, message)
    (answer,) = ran.json["answers"]
    assert (answer["status"], answer["reason"]) == (400, "BadRequest")


INSIDE: Final = "{apiVersion: nvidia.com/v1beta1, kind: DynamoGraphDeployment, metadata: {labels: {team: 7}}}"
REQUEST: Final = manifest("DynamoGraphDeploymentRequest", "v1beta1", f"{{model: m, image: i:1.5.0,\n  overrides: {{dgd: {INSIDE}}}}}")


def test_a_wrong_type_in_metadata_is_found_also_of_an_object_inside_another(command: Command, files: Files) -> None:
    """A server would answer 400."""
    files(r=REQUEST, root=REQUEST.replace("team: 7", "team: a").replace("{name: g,", "{name: g, labels: {a: 7}, uid: 5,"))
    message = "r.yaml:5:108 error wrong-type (DYN002): spec.overrides.dgd.metadata.labels[team]: must be a string, got number\n"
    known = ("--set-fact", "operatorScope=cluster", "--set-fact", "gpuDiscovery=true")
    assert command("check", "-q", "r.yaml", *known) == (1, message, "")
    findings = command("check", "-q", "root.yaml", "-o", "json").json["findings"]
    assert sorted(finding["path"] for finding in findings) == ["metadata.labels[a]", "metadata.uid"]


@pytest.mark.parametrize(("metadata", "used"), [("{name: g}", "<namespace>-g"), ("{generateName: g-, namespace: llm}", "llm-<name>")])
def test_the_namespace_of_components_is_named_as_far_as_the_file_tells_it(command: Command, files: Files, metadata: str, used: str) -> None:
    head = "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\n"
    files(a=f"{head}metadata: {metadata}\nspec: {{services: {{w: {{dynamoNamespace: mine}}}}}}\n")
    [warning] = command("check", "a.yaml", "--line", "1.2", "-o", "json").json["findings"]
    assert f'"{used}" is used, not "mine"' in warning["message"]


_GRAPH = "kind: DynamoGraphDeployment\nmetadata: {name: g}\n"
UNJUDGED = {
    "wrong-type": f"apiVersion: nvidia.com/v1alpha1\n{_GRAPH}spec: {{services: {{w: {{replicas: x}}}}}}\n",
    "unknown-kind": f"apiVersion: nvidia.com/v9\n{_GRAPH}spec: {{services: {{}}}}\n",
}


@pytest.mark.parametrize("words", [("--ignore", "DYN0"), ("--ignore", "dyn00"), ("--select", "DYN9")])
@pytest.mark.parametrize("rule", UNJUDGED)
def test_an_object_that_was_not_judged_is_not_hidden_by_the_beginning_of_a_code(
    command: Command, files: Files, rule: str, words: tuple[str, str]
) -> None:
    files(a=UNJUDGED[rule])
    ran = command("check", "a.yaml", "--line", "1.2", "-o", "json", *words)
    assert (ran.code, [finding["rule"] for finding in ran.json["findings"]]) == (1, [rule])
    assert command("check", "a.yaml", "--line", "1.2", "--ignore", rule).code == 0, "it is named whole"


def test_an_entry_that_the_api_server_would_drop_silently_is_a_warning(command: Command, files: Files) -> None:
    """Null fields are absent ones, which is no loss."""
    files(
        a="apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {name: g, namespace: llm}\nspec:\n  services:\n"
        "    w: {componentType: worker, replicas: null, labels: {a: null}}\n    frontend:\n"
    )
    ran = command("check", "a.yaml", "--line", "1.2", "-o", "json")
    assert ran.code == 0
    assert [(finding["line"], finding["rule"], finding["level"], finding["path"]) for finding in ran.json["findings"]] == [
        (6, "null-entry", "warning", "spec.services[w].labels[a]"),
        (7, "service-null", "warning", "spec.services[frontend]"),
    ]
    assert command("check", "a.yaml", "--line", "1.2", "--fail-on", "warning").code == 1
    assert command("check", "a.yaml", "--line", "1.2", "--fail-on", "warning", "--ignore", "service-null,null-entry").code == 0


def test_flags_of_earlier_versions_still_work(command: Command, files: Files) -> None:
    files(a=GOOD.replace("replicas: 2", "replcas: 2"))
    assert command("check", "a.yaml", "--strict").code == 1
    assert command("check", "a.yaml", "--exit-zero").code == 0
