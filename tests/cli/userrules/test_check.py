"""Policies of `rules-from` as rules of `check`: places, versions, levels, suppression, and what is not known offline.

Policies that can't be used end the command with one sentence, which names the place in their file.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dynamo_webhooks.cli.commands.lsp.answers import CheckContext, find_problems
from tests.cli.conftest import Command, Files, Ran
from tests.cli.userrules.samples import FEW, GRAPH, OLDER, PROJECT, binding, policy
from tests.rows import run_each

USER = ("--select", "user/")


@pytest.fixture
def repository(files: Files) -> Path:
    """A graph with three replicas, and a policy that allows two."""
    folder = files(graph=GRAPH, older=OLDER, policies__few=policy())
    (folder / PROJECT).write_text("rules-from: [policies]\n")
    return folder


def found(command: Command, *words: str) -> list[tuple[str, int, str, str]]:
    rows: list[dict[str, Any]] = command("check", *words, "-o", "json").json["findings"]
    return [(row["rule"], row["line"], row["level"], row["path"]) for row in rows]


def notes(command: Command, *words: str) -> list[str]:
    return [row["reason"] for row in command("check", *words, *USER, "-o", "json").json["notEvaluated"]]


@pytest.mark.usefixtures("repository")
def test_a_finding_stands_at_the_value_that_decided_in_the_authors_version(command: Command) -> None:
    assert found(command, "graph.yaml") == [("user/few", 10, "error", "spec.components[0].replicas")]
    assert found(command, "older.yaml") == [("user/few", 10, "error", "spec.services[worker].replicas")]
    ran = command("check", "graph.yaml")
    assert ran.code == 1
    assert "breaks few" in ran.out


def test_a_policy_with_exact_match_is_not_about_the_other_version(repository: Path, command: Command) -> None:
    text = policy().replace("matchConstraints:\n", "matchConstraints:\n    matchPolicy: Exact\n")
    (repository / "policies/few.yaml").write_text(text)
    assert [row[0] for row in found(command, "graph.yaml")] == ["user/few"]
    assert found(command, "older.yaml", *USER) == []


@pytest.mark.parametrize(("actions", "level"), [(("Deny",), "error"), (("Warn", "Audit"), "warning"), (("Deny", "Audit"), "error")])
def test_the_binding_decides_the_level(repository: Path, command: Command, actions: tuple[str, ...], level: str) -> None:
    (repository / "policies/few.yaml").write_text(policy() + binding(actions=actions))
    assert [row[2] for row in found(command, "graph.yaml", *USER)] == [level]


def test_a_binding_that_audits_makes_a_note(repository: Path, command: Command) -> None:
    (repository / "policies/few.yaml").write_text(policy() + binding(actions=("Audit",)))
    assert found(command, "graph.yaml", *USER) == []
    assert notes(command, "graph.yaml") == ["the cluster would only audit it: breaks few"]


def test_a_users_rule_is_weighed_selected_and_ignored_as_ours_are(repository: Path, command: Command) -> None:
    assert found(command, "graph.yaml", "--ignore", "user/few") == []
    weighed = "rules-from: [policies]\nrules: {user/few: {severity: warning, reason: a trial}}\n"
    (repository / PROJECT).write_text(weighed)
    assert [row[2] for row in found(command, "graph.yaml")] == ["warning"]
    commented = GRAPH.replace("replicas: 3", "replicas: 3  # dynamo-webhooks: ignore[user/few] a load test")
    (repository / "graph.yaml").write_text(commented)
    assert found(command, "graph.yaml") == []
    (repository / "graph.yaml").write_text(commented.replace("replicas: 3", "replicas: 1"))
    assert [row[0] for row in found(command, "graph.yaml")] == ["unused-ignore"]
    (repository / "graph.yaml").write_text(GRAPH)
    assert command("check", "graph.yaml", "--baseline", "known.json", "--update-baseline").code == 0
    assert command("check", "graph.yaml", "--baseline", "known.json").code == 0
    (repository / PROJECT).write_text(weighed.replace("user/few", "user/fwe"))
    ran = command("check", "graph.yaml")
    assert (ran.code, "user/fwe: there is no such rule in rules-from; did you mean user/few?" in ran.err) == (2, True)


@pytest.mark.usefixtures("repository")
def test_reports_the_catalogue_and_explain_know_it(command: Command) -> None:
    sarif = command("check", "graph.yaml", "-o", "sarif").json["runs"][0]
    assert [result["ruleId"] for result in sarif["results"]] == ["user/few"]
    assert [row["name"] for row in command("rules", "-o", "json").json if row["code"] == "USER"] == ["user/few"]
    page = command("explain", "user/few").out
    assert page.startswith("# user/few (USER, error)\n\nbreaks few")
    assert "policies/few.yaml" in page
    assert command("explain", "user/fwe").code == 2
    assert "user/few" not in command("rules", "--no-project").out


def test_cases_of_test_meet_it(repository: Path, command: Command) -> None:
    (repository / "cases").mkdir()
    (repository / "cases/deny.many.yaml").write_text(GRAPH.replace("replicas: 3", "replicas: 3  # expect: user/few"))
    assert command("test", "cases").code == 0
    assert command("test", "cases", "--no-project").code == 1


def test_an_update_sees_the_old_object_and_a_deletion_no_new_one(repository: Path, command: Command) -> None:
    shrinking = policy("oldObject == null || object.spec.components[0].replicas >= oldObject.spec.components[0].replicas", "grow")
    keeping = policy("oldObject.metadata.name != 'chat'", "keep").replace("  - CREATE\n      - UPDATE\n", "  - DELETE\n")
    assert "DELETE" in keeping
    (repository / "policies/few.yaml").write_text(f"{shrinking}---\n{keeping}")
    (repository / "old.yaml").write_text(GRAPH.replace("replicas: 3", "replicas: 5"))
    assert found(command, "graph.yaml") == []
    assert found(command, "graph.yaml", "--old", "old.yaml") == [("user/grow", 10, "error", "spec.components[0].replicas")]
    assert [row[0] for row in found(command, "graph.yaml", "--op", "delete")] == ["user/keep"]


CONFIG = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: limits, namespace: llm}\ndata: {most: '2'}\n"
KIND = {"apiVersion": "v1", "kind": "ConfigMap"}


def test_a_parameter_comes_from_rules_from_or_the_input_and_its_lack_never_passes(repository: Path, command: Command) -> None:
    text = policy("object.spec.components.all(c, c.replicas <= int(params.data.most))", paramKind=KIND)
    bound = text + binding(paramRef={"name": "limits", "parameterNotFoundAction": "Deny"})
    (repository / "policies/few.yaml").write_text(bound + CONFIG)
    assert [row[0] for row in found(command, "graph.yaml")] == ["user/few"]
    (repository / "policies/few.yaml").write_text(bound)
    assert found(command, "graph.yaml") == []
    assert notes(command, "graph.yaml") == [
        "its parameter, the ConfigMap limits of namespace llm, is neither in rules-from nor in the input"
    ]
    (repository / "graph.yaml").write_text(GRAPH + CONFIG)
    assert [row[0] for row in found(command, "graph.yaml")] == ["user/few"]
    (repository / "policies/few.yaml").write_text(text)
    assert notes(command, "older.yaml") == ["no Binding in rules-from names its parameter, of kind ConfigMap"]


def test_a_namespace_selector_waits_for_labels_that_are_not_known(repository: Path, command: Command) -> None:
    by_label = policy().replace("resourceRules:", "namespaceSelector: {matchLabels: {team: chat}}\n    resourceRules:")
    (repository / "policies/few.yaml").write_text(by_label)
    assert found(command, "graph.yaml") == []
    assert notes(command, "graph.yaml") == ["the Namespace of the object is not known: put it beside the policies"]
    namespace = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: llm, labels: {team: TEAM}}\n"
    for team, names in (("chat", ["user/few"]), ("search", [])):
        (repository / "policies/few.yaml").write_text(by_label + namespace.replace("TEAM", team))
        assert [row[0] for row in found(command, "graph.yaml")] == names
        assert notes(command, "graph.yaml") == []
    by_name = policy().replace(
        "resourceRules:", "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: other}}\n    resourceRules:"
    )
    (repository / "policies/few.yaml").write_text(by_name)
    assert (found(command, "graph.yaml"), notes(command, "graph.yaml")) == ([], [])


def test_the_failure_policy_decides_on_expressions_that_fail(repository: Path, command: Command) -> None:
    missing = "object.spec.components[0].nothing == 1"
    for fails, names in (("Fail", ["user/few"]), ("Ignore", [])):
        (repository / "policies/few.yaml").write_text(policy(missing, failurePolicy=fails))
        assert [row[0] for row in found(command, "graph.yaml")] == names
    (repository / "policies/few.yaml").write_text(policy(FEW, matchConditions=[{"name": "c", "expression": missing}]))
    assert "resulted in error" in command("check", "graph.yaml").out


def test_messages_are_those_of_an_api_server(repository: Path, command: Command) -> None:
    def message(**validation: str) -> str:
        (repository / "policies/few.yaml").write_text(policy(validations=[{"expression": f" {FEW} ", **validation}]))
        (row,) = command("check", "graph.yaml", "-o", "json").json["findings"]
        return str(row["message"])

    assert message() == f"failed expression: {FEW}"
    assert message(message=" two ") == "two"
    assert message(message="two", messageExpression="'at most ' + string(1 + 1)") == "at most 2"
    assert message(message="two", messageExpression="string(object.nothing)") == "two"
    assert message(message="two", messageExpression="'a\\nb'") == "two"


def test_a_check_reads_pods_documents_facts_and_line(repository: Path, command: Command) -> None:
    def told(expression: str, *words: str) -> list[str]:
        (repository / "policies/few.yaml").write_text(policy(expression, kind="Check"))
        return [row[0] for row in found(command, "graph.yaml", *words)]

    (repository / "claim.yaml").write_text("apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: models}\n")
    assert told("pods.exists(p, p.replicas == 3 && p.spec.containers[0].image == 'x/vllm:1.5.0')") == []
    assert told("pods.all(p, p.replicas < 3)") == ["user/few"]
    exists = "documents.exists(d, d.kind == 'PersistentVolumeClaim')"
    assert (told(exists), told(exists, "claim.yaml")) == (["user/few"], [])
    assert (told("line == '1.6'"), told("line == '1.6'", "--line", "1.2")) == ([], ["user/few"])
    assert told("facts.grove", "--set-fact", "grove=false") == ["user/few"]
    assert told("facts.grove") == []
    assert notes(command, "graph.yaml") == ["the fact grove is not known"]
    assert command("check", "graph.yaml", "--require-facts").code == 5


def test_an_editor_shows_it_and_knows_no_other_documents(repository: Path, command: Command, served: list[CheckContext]) -> None:
    reading = policy("documents.size() > 99", "all", kind="Check")
    (repository / "policies/all.yaml").write_text(reading)
    assert command("lsp").code == 0
    (context,) = served
    problems = find_problems("graph.yaml", GRAPH, context).findings
    assert [(finding.rule, finding.position.line) for finding in problems] == [("user/few", 10)]


def test_an_editor_marks_mistakes_in_policies_and_reads_them_again(repository: Path, command: Command, served: list[CheckContext]) -> None:
    (repository / "policies/all.yaml").write_text(policy("1 + 'a' == 2", "all"))
    assert "a policy is left out: policies/all.yaml:18:19: spec.validations[0].expression" in command("lsp").err
    (context,) = served
    assert [finding.rule for finding in find_problems("graph.yaml", GRAPH, context).findings] == ["user/few"]
    misspelt = policy("object.spec.component.size() > 1\n  && 1 + 'a' == 2") + binding(actions=())
    assert [mark[:2] for mark in find_problems("p.yaml", misspelt, context).marks] == [(18, 17), (27, 3)]
    warned = find_problems("p.yaml", policy("object.spec.component.size() > 1"), context).marks
    assert [(mark.line, mark.column, mark.is_error) for mark in warned] == [(18, 28, False)]
    assert "did you mean components?" in warned[0].text
    (repository / "policies/all.yaml").write_text(policy("false", "all"))
    context.reload()
    assert [finding.rule for finding in find_problems("graph.yaml", GRAPH, context).findings] == ["user/all", "user/few"]
    (repository / PROJECT).write_text("a: b: c")
    context.reload()
    assert len(find_problems("graph.yaml", GRAPH, context).findings) == 2


def test_who_writes_is_known_by_a_flag_alone(repository: Path, command: Command) -> None:
    (repository / "policies/few.yaml").write_text(policy("request.userInfo.username == 'admin'"))
    assert (found(command, "graph.yaml"), len(notes(command, "graph.yaml"))) == ([], 1)
    assert [row[0] for row in found(command, "graph.yaml", "--as", "me")] == ["user/few"]
    assert found(command, "graph.yaml", "--as", "admin") == []
    (repository / "policies/few.yaml").write_text(policy("authorizer.group('').resource('pods').check('get').allowed()"))
    assert notes(command, "graph.yaml") == ["it needs the cluster's permissions (authorizer)"]


def test_what_no_file_holds_is_not_evaluated_and_named_though_quiet(repository: Path, command: Command) -> None:
    placed, named = GRAPH.replace("  namespace: llm\n", ""), GRAPH.replace("  name: chat\n", "  generateName: chat-\n")
    unknown = (
        ("'admins' in request.userInfo.groups", GRAPH, "--as me", "request.userInfo.groups, which", "--as me --as-group admins"),
        ("object.metadata.namespace == 'llm'", placed, "", "the namespace of the object, which names none; -n", "-n llm"),
        ("request.namespace == 'llm'", placed, "", "the namespace of the object, which names none; -n", "-n llm"),
        ("object.metadata.name.startsWith('x')", named, "", "the name of the object, which the API server generates", ""),
    )
    for expression, text, words, reason, known in unknown:
        (repository / "policies/few.yaml").write_text(policy(expression))
        (repository / "graph.yaml").write_text(text)
        ran = command("check", "-q", "graph.yaml", *words.split())
        assert (ran.code, ran.out) == (0, "")
        assert f"not evaluated: user/few (USER): it reads {reason}" in ran.err
        assert not known or command("check", "-q", "graph.yaml", *known.split()) == (0, "", "")
    assert command("check", "graph.yaml", "--as-group", "x").err.endswith(
        "--as-group names a group of the user of --as: name the user, too\n"
    )


def test_the_answer_of_an_api_server_is_the_refusal_of_a_bound_policy(repository: Path, command: Command) -> None:
    by = "ValidatingAdmissionPolicy 'few' with binding 'few-binding'"
    head, forbidden = 'The dynamographdeployments "chat" is invalid: : ', 'dynamographdeployments.nvidia.com "chat" is forbidden: '
    few = {"expression": FEW, "message": "breaks few"}
    for text, status, message in (
        (policy() + binding(), 422, f"{head}{by} denied request: breaks few"),
        (policy(validations=[{**few, "reason": "Forbidden"}]) + binding(), 403, f"{forbidden}{by} denied request: breaks few"),
        (policy() + binding(actions=("Warn",)), 201, f"Validation failed for {by}: breaks few"),
        (policy(), 201, ""),
        (policy(kind="Check"), 201, ""),
    ):
        (repository / "policies/few.yaml").write_text(text)
        shown = command("check", "graph.yaml", "--answer")
        [answer] = command("check", "graph.yaml", "--answer", "-o", "json").json["answers"]
        assert (answer["status"], message in shown.out) == (status, True)


LOOP = [{"name": "a", "expression": "variables.b"}, {"name": "b", "expression": "variables.a"}]
BAD: dict[str, tuple[str, str]] = {
    "no CEL": (policy("object.spec.("), "policies/p.yaml:18:29: spec.validations[0].expression: is not an expression of CEL: "),
    "unknown name": (policy("objct.spec"), "spec.validations[0].expression: is not an expression of CEL: "),
    "pods in a policy": (policy("pods.size() == 0"), "spec.validations[0].expression: is not an expression of CEL: "),
    "params without a kind": (policy("params.x == 1"), "spec.validations[0].expression: is not an expression of CEL: "),
    "long": (policy(f"'{'x' * 65_536}' != ''"), "must have at most 16384 characters, got 65544"),
    "deep": (policy(f"{'(' * 1000}true{')' * 1000}"), "spec.validations[0].expression: is not an expression of CEL: "),
    "cycle": (policy(variables=LOOP), "spec.variables[0].expression: is not an expression of CEL: undefined field 'b' in variables"),
    "unknown fact": (policy("facts.grvoe", kind="Check"), "reads facts.grvoe, and there is no such fact; known are operatorScope"),
    "unknown field": (policy(matchConstraint={}), "spec.matchConstraint: there is no such field here"),
    "no list": (policy(validations="x"), 'spec.validations: must be a list, got "x"'),
    "no validation": (policy(validations=[]), "spec.validations: must have at least one validation"),
    "no rule of resources": (policy(matchConstraints={}), "spec.matchConstraints.resourceRules: must have at least one rule"),
    "wrong choice": (policy(failurePolicy="fail"), 'spec.failurePolicy: must be one of Fail, Ignore, got "fail"'),
    "wrong path": (
        policy(kind="Check", validations=[{"expression": FEW, "fieldPath": "spec..x"}]),
        'spec.validations[0].fieldPath: must be a path such as spec.components[0].replicas, got "spec..x"',
    ),
    "wrong name": (policy(name="Few"), "metadata.name: must be a DNS name in lower case"),
    "two of one name": (
        f"{policy()}---\n{policy()}",
        "policies/p.yaml:24:9: metadata.name: must be the only policy called few; the other one is policies/p.yaml:4:9",
    ),
    "no such policy": (policy() + binding("fwe"), "spec.policyName: must be the name of a policy in rules-from, got fwe"),
    "deny and warn": (policy() + binding(actions=("Deny", "Warn")), "spec.validationActions: must not have both Deny and Warn"),
    "two types": (
        policy("1 + 'a' == 2"),
        "policies/p.yaml:18:19: spec.validations[0].expression: is not an expression of CEL: found no match",
    ),
    "no boolean": (policy("object.spec"), "policies/p.yaml:18:17: spec.validations[0].expression: must evaluate to bool, got dyn"),
    "no such field": (policy("request.user == ''"), "undefined field 'user' in kubernetes.AdmissionRequest, did you mean userInfo?"),
    "permissions": (
        policy("authorizer.path('/').allowed()"),
        "found no matching overload for 'allowed' applied to 'kubernetes.authorization",
    ),
    "no message": (policy(validations=[{"expression": FEW, "messageExpression": "1"}]), "must evaluate to string, got int"),
    "blank message": (policy(validations=[{"expression": FEW, "message": " "}]), 'spec.validations[0].message: must not be blank, got " "'),
    "audit": (policy(auditAnnotations=[{"key": "a", "valueExpression": "1"}]), "must evaluate to string or null_type, got int"),
    "audit key": (policy(auditAnnotations=[{"key": "a/b", "valueExpression": "'a'"}]), "key: must be a name such as team"),
    "condition's variable": (
        policy(variables=[LOOP[1]], matchConditions=[{"name": "a", "expression": "variables.b"}]),
        "spec.variables[0].expression: is not an expression of CEL: undefined field 'a' in variables",
    ),
    "condition's name": (
        policy(matchConditions=[{"name": "a b", "expression": "true"}]),
        "spec.matchConditions[0].name: must be a name such as",
    ),
    "conditions": (
        policy(matchConditions=[{"name": f"a{number}", "expression": "true"} for number in range(65)]),
        "spec.matchConditions: must have at most 64 entries, got 65",
    ),
    "two conditions": (
        policy(matchConditions=[{"name": "a", "expression": "true"}] * 2),
        "spec.matchConditions[1].name: must not come twice",
    ),
    "reserved": (policy(variables=[{"name": "namespace", "expression": "1"}]), "spec.variables[0].name: must be an identifier"),
    "pattern": (
        policy("object.a.matches('[')"),
        "policies/p.yaml:18:34: spec.validations[0].expression: is not an expression of CEL: invalid",
    ),
    "no action": (
        policy() + binding(paramRef={"name": "a"}),
        "spec.paramRef.parameterNotFoundAction: must be one of Allow, Deny, got null",
    ),
    "broken YAML": ("a: [", "policies/p.yaml:2:1: a value is required here"),
}


def test_newer_functions_need_a_newer_kubernetes(repository: Path, command: Command) -> None:
    (repository / "policies/few.yaml").write_text(policy("object.spec.components.first().hasValue()"))
    ran = command("check", "graph.yaml")
    assert (ran.code, "first needs Kubernetes 1.33 or newer" in ran.err) == (2, True)
    assert command("check", "graph.yaml", "--kubernetes", "1.33").code == 0
    assert "must be a release of Kubernetes from" in command("check", "graph.yaml", "--kubernetes", "1.29").err
    (repository / PROJECT).write_text('rules-from: [policies]\nkubernetes: "1.34"\n')
    assert command("check", "graph.yaml").code == 0
    assert command("check", "graph.yaml", "--kubernetes", "1.32").code == 2
    (repository / "policies/few.yaml").write_text(policy("[1].first().value() == 1", kind="Check"))
    assert command("check", "graph.yaml", "--kubernetes", "1.30").code == 0


def test_what_a_cluster_accepts_is_accepted(repository: Path, command: Command) -> None:
    audited = [{"key": "a", "valueExpression": "object.kind == 'x' ? 'y' : string(object.spec)"}, {"key": "b", "valueExpression": "null"}]
    for text in (
        policy("[optional.of(1)].unwrapOpt() == optional.unwrap([optional.of(1)])"),
        policy("object.spec.components.last().optMap(c, c.name != '').orValue(true)"),
        policy(validations=[], auditAnnotations=audited),
        policy("true", auditAnnotations=audited),
        policy(validations=[{"expression": "true", "messageExpression": ""}]),
        policy("true", matchConditions=[{"name": "example.com/a", "expression": "authorizer.requestResource.check('get').allowed()"}]),
    ):
        (repository / "policies/few.yaml").write_text(text)
        assert command("check", "graph.yaml", "--kubernetes", "1.33").code == 0


def test_a_misspelt_field_is_a_warning(repository: Path, command: Command) -> None:
    replicas = "object.spec.components.all(c, !has(c.replica) || c.replicas == 'a')"
    variables = [{"name": "called", "expression": "object.metadata.nmae"}]
    (repository / "policies/few.yaml").write_text(policy(replicas, variables=variables))
    warnings = [line for line in command("check", "graph.yaml").err.splitlines() if line.startswith("warning: ")]
    place = "warning: policies/few.yaml:{}: spec.{}: DynamoGraphDeployment v1beta1: "
    assert warnings == [
        place.format("22:32", "variables[0].expression") + "undefined field 'nmae' in DynamoGraphDeployment.metadata, did you mean name?",
        place.format("18:53", "validations[0].expression")
        + "undefined field 'replica' in DynamoGraphDeployment.spec.components, did you mean replicas?",
        place.format("18:77", "validations[0].expression") + "found no matching overload for '_==_' applied to '(int, string)'",
    ]
    assert "warning: " not in command("check", "-q", "graph.yaml").err
    (repository / "policies/few.yaml").write_text(
        policy("params.data.x == 'a' && params.dta.x == 'a'", paramKind={"apiVersion": "v1", "kind": "ConfigMap"})
    )
    assert "undefined field 'dta' in ConfigMap, did you mean data?" in command("check", "graph.yaml").err
    for version, kind, warned in (("nvidia.com/v1alpha1", "DynamoModel", True), ("a/v1", "Any", False), ("nvidia.com/v1", "Any", False)):
        about = policy("params.spec.modleName == 'a'", paramKind={"apiVersion": version, "kind": kind})
        (repository / "policies/few.yaml").write_text(about)
        assert ("undefined field 'modleName' in DynamoModel.spec" in command("check", "graph.yaml").err) is warned


Checked = Callable[..., Ran]


@pytest.fixture
def checked(files: Files, command: Command) -> Checked:
    """Checks a graph by a policy."""

    def check(text: str, *words: str) -> Ran:
        folder = files(graph=GRAPH, policies__p=text)
        (folder / PROJECT).write_text("rules-from: [policies]\n")
        return command("check", "graph.yaml", *words)

    return check


@run_each("case", BAD)
def test_a_bad_policy_is_one_sentence_with_its_place(checked: Checked, case: str) -> None:
    text, sentence = BAD[case]
    ran = checked(text)
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err
    assert ran.err.startswith("dynamo-webhooks check: policies/p.yaml:")
    assert len(ran.err.strip().splitlines()) == 1


def test_the_place_inside_an_expression_of_several_lines_is_told(checked: Checked) -> None:
    text = policy("true").replace("expression: 'true'", "expression: |\n      object.spec.components\n        .all(c, c.replicas <)\n")
    line = text.splitlines().index("        .all(c, c.replicas <)") + 1
    assert f"policies/p.yaml:{line}:" in checked(text).err


@pytest.mark.parametrize("where", ["../out", "/etc", "nowhere.yaml"])
def test_rules_come_from_the_folder_of_the_project_alone(files: Files, command: Command, where: str) -> None:
    folder = files(graph=GRAPH)
    (folder / PROJECT).write_text(f"rules-from: [{where}]\n")
    ran = command("check", "graph.yaml")
    assert (ran.code, "rules-from[0]: must be " in ran.err) == (2, True)


def test_links_out_of_the_folder_pipes_and_long_files_are_refused(
    files: Files, command: Command, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "p.yaml"
    outside.write_text(policy())
    folder = files(graph=GRAPH)
    (folder / "policies").mkdir()
    place = folder / "policies" / "p.yaml"

    def refused(paths: str) -> str:
        (folder / PROJECT).write_text(f"rules-from: [{paths}]\n")
        ran = command("check", "graph.yaml")
        assert ran.code == 2
        return ran.err

    place.symlink_to(outside)
    assert "is a link out of" in refused("policies")
    assert "must be a path in the repository" in refused("policies/p.yaml")
    place.unlink()
    os.mkfifo(place)
    assert "is a pipe" in refused("policies")
    assert "is a pipe" in refused("policies/p.yaml")
    place.unlink()
    place.write_text("#" * (2**20 + 1))
    assert "must be at most 1 MiB long" in refused("policies")


def test_a_policy_that_costs_too_much_ends_and_an_expression_is_no_python(checked: Checked) -> None:
    many = ".".join(["[1,2,3,4,5,6,7,8,9]", *(f"map(x{number}, [1,2,3,4,5,6,7,8,9]" for number in range(8))]) + ")" * 8
    assert checked(policy(f"{many}.size() == 1"), "--select", "user/").code == 1
    (row,) = checked(policy("object.__class__.__name__ == 'dict'"), "--select", "user/", "-o", "json").json["findings"]
    assert "resulted in error" in row["message"]
    assert "dict" not in row["message"].replace("'dict'", "")


OBJECTS = 150
