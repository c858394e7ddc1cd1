"""`explain` with a field, a kind, and what only the first releases had."""

from typing import Any

import pytest

from dynamo_webhooks.admission.pipeline import Admission, Settings
from dynamo_webhooks.conversion.kinds import KINDS as CONVERTED
from dynamo_webhooks.policies.catalogue import list_rules
from dynamo_webhooks.policies.facts import Facts
from tests.cli.conftest import Command
from tests.golden.corpus import cases
from tests.golden.test_line15 import facts
from tests.rows import run_each


@run_each(
    ("word", "there", "exact"),
    [
        ("spec.services.*.failover", "spec.components.*.experimental.failover", True),
        ("spec.components.*.experimental.failover.mode", "spec.services.*.failover.mode", True),
        ("spec.envs", "spec.env", True),
        (
            "spec.services.a.resources.limits.gpu",
            "spec.components.*.podTemplate.spec.containers[main].resources.limits[nvidia.com/gpu]",
            True,
        ),
        ("spec.components.*.podTemplate.spec.containers.0.image", "spec.services.*.extraPodSpec.mainContainer.image", True),
        ("spec.services.a.ingress.host", "spec.components.*", False),
        ("dgdr.v1alpha1.spec", "", None),
    ],
)
def test_a_field_tells_its_place_in_the_other_version(command: Command, word: str, there: str, exact: bool | None) -> None:
    ran = command("explain", word, "-o", "json")
    if exact is None:  # a version is no step of a path
        assert ran.code == 2
        return
    other = next(place["other"] for page in ran.json for place in page["places"] if place["kind"].startswith("DynamoGraphDeployment/"))
    assert (other["path"], other["exact"]) == (there, exact)
    output = command("explain", word).out
    assert f"In {other['version']}: `{there}`" in output if exact else "no such field; an annotation keeps its value" in output


def test_a_field_tells_its_defaults_limits_and_schema_rules(command: Command) -> None:
    def place(word: str) -> Any:
        (page,) = command("explain", word, "-o", "json").json
        return page["places"][0]

    assert place("dgd.spec.services.*.failover.mode")["default"] == "intraPod"
    assert place("dgd.spec.services.*.multinode.nodeCount")["limits"]["minimum"] == 2
    assert "mut-dgd-replicas" in place("dgd.spec.services.*.replicas")["filledBy"]
    assert "Defaults that may fill it in:\n\n- `mut-dgd-replicas` (DYND01)" in command("explain", "dgd.spec.services.*.replicas").out
    assert "exactly one of configMapRef and config must be given" in place("dgd.spec.components.*.eppConfig")["schemaRules"]


def test_a_bare_name_is_answered_with_the_fields_of_that_name(command: Command) -> None:
    ran = command("explain", "failover")
    assert ran.code == 2
    assert "a field of that name is spec.failover, spec.experimental.failover, spec.services.*.failover" in ran.err


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("spec.servces.*.failover", "spec.services.*.failover"),
        ("dgd.spec.components[0].replica", "dgd.spec.components.0.replicas"),
        ("spec.services.a.gpuMemoryServce.mode", "spec.services.a.gpuMemoryService.mode"),
    ],
)
def test_a_misspelled_field_is_answered_with_the_right_one(command: Command, word: str, meant: str) -> None:
    assert command("explain", word).err.endswith(f"that we know; did you mean {meant}?\n")
    assert command("explain", meant).code == 0


@run_each("name", Facts._fields)
def test_every_fact_tells_what_it_says_and_who_needs_it(command: Command, name: str) -> None:
    (page,) = command("explain", name, "-o", "json").json
    assert page["fact"] == name
    assert [rule["rule"] for rule in page["rules"]] == [rule.name for rule in list_rules() if name in rule.needs]
    assert page["description"]
    assert command("explain", name.upper()).out.startswith(f"# {name} (a fact)\n\n{page['description']}\n\n`--facts FILE` gives it")


def test_every_row_of_the_map_of_fields_is_told_by_explain_too(command: Command) -> None:
    from dynamo_webhooks.conversion.kinds import field_rows

    count = 0
    for kind in ("DynamoGraphDeployment", "DynamoComponentDeployment"):  # a request has parts without a schema
        for left, right, _ in field_rows(CONVERTED[kind]):
            if left and right and "," not in left + right and "[main]" not in right and left.startswith("spec."):
                ran = command("explain", f"{kind}.{left.replace('{}', '.*').replace('[]', '.*')}", "-o", "json")
                assert ran.code == 0, left
                place = next(place for page in ran.json for place in page["places"] if place["kind"] == f"{kind}/v1alpha1")
                assert place["other"]["exact"], left
                count += 1
    assert count > 20


def test_the_values_of_another_release_are_told(command: Command) -> None:
    output = command("explain", "dgd.spec.components.*.type").out
    assert "One of `frontend`, `worker`, `prefill`, `decode`, `planner`, `epp`, `lpx`." in output
    assert "In operator release 1.2 to 1.5: one of `frontend`, `worker`, `prefill`, `decode`, `planner`, `epp`." in output
    assert "In operator release 1.2: default `Auto`" in command("explain", "dgd.spec.components.*.experimental.checkpoint.mode").out


def test_a_field_lists_five_rules_at_most_those_named_after_it_first(command: Command) -> None:
    (page,) = command("explain", "dgd.spec.services.*.replicas", "-o", "json").json
    rules = [rule["rule"] for rule in page["places"][0]["rules"]]
    assert rules[:2] == ["mut-dgd-replicas", "replicas-non-negative"]
    output = command("explain", "dgd.spec.services.*.replicas").out
    assert [name for name in rules if f"`{name}`" in output] == rules[:6]
    assert f"{len(rules) - 6} more rules do" in output


def test_each_default_is_told_at_the_fields_that_it_fills_in_and_at_no_other(command: Command, subtests: pytest.Subtests) -> None:
    """What the engine fills in for recorded objects, by default and field."""
    filled: dict[tuple[str, str], set[str]] = {}
    for case in cases("line15.ndjson.gz", "api"):
        obj = case["object"]
        kind, version = obj["kind"], obj["apiVersion"].partition("/")[2]
        if version == "v1beta1" and case["operation"] == "CREATE" and case["expect"]["accepted"]:
            write = Admission(kind, version, "CREATE", obj, user="admin", settings=Settings(facts()))
            write.shape()
            for edit in write.defaults().edits:
                path = ".".join("*" if isinstance(step, int) else step for step in edit.path)
                if edit.path[0] == "spec":  # annotations have no page
                    filled.setdefault((kind, path), set()).add(edit.rule.name)
    assert len(filled) >= 5
    for (kind, path), names in filled.items():
        with subtests.test(path):
            [page] = command("explain", f"{kind}.{path}", "-o", "json").json
            [place] = [entry for entry in page["places"] if entry["kind"] == f"{kind}/v1beta1"]
            assert set(place["filledBy"]) == names
