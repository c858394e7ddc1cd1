"""`policy new`, `policy test` and the examples."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from dynamo_webhooks.cli.commands.policy.command import FOLDER
from dynamo_webhooks.cli.commands.policy.options import EXAMPLES
from dynamo_webhooks.kube.resources import POLICIES, POLICY_BINDINGS
from tests.cli.conftest import Command, Files
from tests.cli.userrules.samples import GRAPH, PROJECT, binding, policy
from tests.kube.memory import MemoryCluster


def test_every_example_is_offered() -> None:
    assert {path.name for path in Path(FOLDER).iterdir()} == {f"{name}{suffix}" for name in EXAMPLES for suffix in (".yaml", ".cases.yaml")}


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_new_policy_allows_and_denies_what_its_cases_say_and_replaces_nothing(files: Files, command: Command, example: str) -> None:
    files()
    assert command("policy", "new", "mine", "--example", example, "-d", "policies").code == 0
    assert "name: mine\n" in Path("policies/mine.yaml").read_text()
    ran = command("policy", "test", "policies", "-v")
    assert (ran.code, {": allow[" in line for line in ran.out.splitlines()}) == (0, {True, False})
    assert "0 failed" in ran.err
    assert "warning: " not in ran.err
    again = command("policy", "new", "mine", "-d", "policies")
    assert (again.code, "must be a new file" in again.err) == (2, True)
    assert command("policy", "new", "../Mine").code == 2


def _cases(sort: str, text: str, more: str = "") -> str:
    return f"{sort}:\n- object:\n" + "".join(f"    {line}\n" for line in text.splitlines()) + more


@pytest.mark.parametrize(
    ("cases", "message"),
    [
        (_cases("deny", GRAPH), ""),
        (_cases("deny", GRAPH, "  message: breaks few\n"), ""),
        (
            _cases("deny", GRAPH, "  message: another\n"),
            "FAIL policies/few.cases.yaml: deny[0]: is denied with another message: breaks few",
        ),
        (_cases("allow", GRAPH), "allow[0]: is denied: spec.components[0].replicas: breaks few"),
        (_cases("deny", GRAPH.replace("replicas: 3", "replicas: 1")), "deny[0]: is allowed"),
        (
            _cases("allow", GRAPH.replace("replicas: 3", "replicas: x")),
            "allow[0]: the object can't be evaluated: spec.components[0].replicas",
        ),
    ],
)
def test_a_case_fails_where_the_policy_decides_otherwise(files: Files, command: Command, cases: str, message: str) -> None:
    folder = files(policies__few=policy())
    (folder / "policies/few.cases.yaml").write_text(cases)
    (folder / PROJECT).write_text("rules-from: [policies]\n")
    for words in ((), ("policies",), ("policies/few.yaml",), ("policies/few.cases.yaml",)):
        ran = command("policy", "test", *words)
        assert ran.code == (1 if message else 0), ran
        assert message in ran.out


def test_a_case_that_is_not_evaluated_does_not_pass(files: Files, command: Command) -> None:
    folder = files(policies__few=policy("facts.grove", kind="Check"))
    cases = folder / "policies/few.cases.yaml"
    cases.write_text(_cases("allow", GRAPH))
    assert "is not evaluated: the fact grove is not known" in command("policy", "test", "policies").out
    cases.write_text(_cases("allow", GRAPH, "  facts: {grove: true}\n"))
    assert command("policy", "test", "policies").code == 0


@pytest.mark.parametrize(
    ("cases", "sentence"),
    [
        ("- x\n", "must be a mapping with allow and deny"),
        ("allow: [{objct: {}}]\n", "allow[0]: must be a mapping with object"),
        ("allow: [{object: {kind: Pod}}]\n", "object must be one Dynamo object"),
        ("deny: [", "few.cases.yaml:2:1:"),
    ],
)
def test_cases_that_can_not_be_read_are_one_sentence(files: Files, command: Command, cases: str, sentence: str) -> None:
    folder = files(policies__few=policy())
    (folder / "policies/few.cases.yaml").write_text(cases)
    ran = command("policy", "test", "policies")
    assert (ran.code, sentence in ran.err) == (2, True)


def test_a_policy_without_cases_is_said(files: Files, command: Command) -> None:
    files(policies__few=policy())
    assert command("policy", "test", "policies").code == 3
    assert command("policy", "test", "policies/few.yaml").code == 2
    assert command("policy", "test").code == 2


def test_a_policy_of_a_cluster_that_no_binding_puts_into_force_is_left_out(command: Command, connected: Callable[..., object]) -> None:
    made = MemoryCluster()

    async def fill() -> None:
        for obj in yaml.safe_load_all(f"{policy()}---\n{policy(name='idle')}{binding()}"):
            await made.create(POLICY_BINDINGS if obj["kind"].endswith("Binding") else POLICIES, obj)

    asyncio.run(fill())
    connected(made)
    ran = command("policy", "from-cluster")
    assert [obj["metadata"]["name"] for obj in yaml.safe_load_all(ran.out)] == ["few", "few-binding"]
    assert ran.err == "idle: is left out, since no Binding puts it into force\n"


def test_a_case_names_the_groups_of_its_user(files: Files, command: Command) -> None:
    case = {"object": yaml.safe_load(GRAPH), "as": "jane", "as-groups": ["admins"]}
    files(p=policy("'admins' in request.userInfo.groups"), **{"p.cases": yaml.safe_dump({"allow": [case]})})
    assert command("policy", "test", "p.yaml").code == 0


def test_a_field_that_the_kind_lacks_is_a_warning_and_a_wrong_type_an_error(files: Files, command: Command) -> None:
    folder = files(policies__few=policy("object.spec.components.all(c, !has(c.replica) || c.replicas < 3)"))
    (folder / "policies/few.cases.yaml").write_text(_cases("allow", GRAPH))
    ran = command("policy", "test", "policies")
    assert (ran.code, ran.err.count("warning: policies/few.yaml:18:")) == (0, 1)
    assert "undefined field 'replica'" in ran.err
    (folder / "policies/few.yaml").write_text(policy("object.spec.components.first().hasValue()"))
    assert "first needs Kubernetes 1.33 or newer" in command("policy", "test", "policies").err
    assert command("policy", "test", "policies", "--kubernetes", "1.33").code == 0
