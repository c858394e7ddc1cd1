"""Policies that can't be used end the command with one sentence, which names the place in their file."""

import os
from collections.abc import Callable

import pytest

from tests.cli.conftest import Command, Files, Ran
from tests.cli.userrules.samples import FEW, GRAPH, PROJECT, binding, policy

LOOP = [{"name": "a", "expression": "variables.b"}, {"name": "b", "expression": "variables.a"}]
BAD: dict[str, tuple[str, str]] = {
    "no CEL": (policy("object.spec.("), "policies/p.yaml:18:29: spec.validations[0].expression: is not an expression of CEL: "),
    "unknown name": (policy("objct.spec"), "spec.validations[0].expression: is not an expression of CEL: "),
    "pods in a policy": (policy("pods.size() == 0"), "spec.validations[0].expression: is not an expression of CEL: "),
    "params without a kind": (policy("params.x == 1"), "spec.validations[0].expression: is not an expression of CEL: "),
    "long": (policy(f"'{'x' * 65_536}' != ''"), "must have at most 16384 characters, got 65544"),
    "deep": (policy(f"{'(' * 1000}true{')' * 1000}"), "spec.validations[0].expression: is not an expression of CEL: "),
    "cycle": (policy(variables=LOOP), "spec.variables[0].expression: reads variables.b, which is not defined above it"),
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
    "broken YAML": ("a: [", "policies/p.yaml:2:1: a value is required here"),
}


Checked = Callable[..., Ran]


@pytest.fixture
def checked(files: Files, command: Command) -> Checked:
    """Checks a graph by a policy."""

    def check(text: str, *words: str) -> Ran:
        folder = files(graph=GRAPH, policies__p=text)
        (folder / PROJECT).write_text("rules-from: [policies]\n")
        return command("check", "graph.yaml", *words)

    return check


@pytest.mark.parametrize("case", BAD)
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
