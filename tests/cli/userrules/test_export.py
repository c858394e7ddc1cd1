"""`rules --export vap`: the policies refuse what the CEL rules of the definitions refuse, and nothing else."""

import copy
import json
from collections import Counter
from typing import Any

import pytest
import yaml

from dynamo_webhooks.admission.userrules.evaluate import Around, UnknownError, Write, ask
from dynamo_webhooks.admission.userrules.read import read_policy
from dynamo_webhooks.api.kinds import api_version, list_kind_versions
from dynamo_webhooks.api.line import USUAL
from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.api.walk.admit import shape
from dynamo_webhooks.api.walk.validate import validate
from dynamo_webhooks.cli.userrules.export import export_policies
from tests.cli.conftest import Command
from tests.cluster.generated import Dice

OBJECTS = 150


def _unknown(*_: object) -> Any:
    raise UnknownError("nothing is known here")


@pytest.mark.parametrize(("kind", "version"), list_kind_versions())
def test_policies_refuse_what_the_rules_of_the_definitions_refuse(kind: str, version: str) -> None:
    read = [read_policy(one, (), "made") for one in export_policies(USUAL)]
    policies = [one for one in read if f"{kind}/{version}" in one.rule.where]
    schema, dice, seen = load_schema(kind, version, USUAL), Dice(f"export {kind} {version}"), Counter[bool]()
    for number in range(OBJECTS):
        whole = dice.object(kind, version, number)
        for obj in (whole, dice.damaged(copy.deepcopy(whole))):
            if not isinstance(obj, dict) or obj.get("kind") != kind or obj.get("apiVersion") != api_version(version):
                continue
            if isinstance(obj.get("spec"), dict):
                obj["spec"].pop("restart", None)  # its rule compares with the old object
            shape(obj, kind, version, USUAL)
            errors = validate(obj, schema, None)
            if any(not error.rule for error in errors):
                continue
            broken = any(error.rule and not error.rule.startswith("cel-unique") for error in errors)
            write = Write(kind, version, "CREATE", obj, None, None, USUAL)
            said = [each for one in policies for each in ask(one, write, Around(_unknown, _unknown))]
            assert bool(said) is broken, json.dumps([obj, [one.text for one in said], [str(one) for one in errors]])
            seen[broken] += 1
    assert seen[False] > 5


def test_the_command_prints_policies_and_refuses_other_rules_by_name(command: Command) -> None:
    ran = command("rules", "--export", "vap")
    documents = list(yaml.safe_load_all(ran.out))
    assert (ran.code, {one["kind"] for one in documents}) == (0, {"ValidatingAdmissionPolicy"})
    assert ran.out == command("rules", "--export", "vap", "schema-rule").out
    for name, sentence in (("service-null", "can't be exported"), ("servce-null", "there is no such rule")):
        ran = command("rules", "--export", "vap", name)
        assert (ran.code, f"{name}: {sentence}" in ran.err) == (2, True)
    assert command("rules", "service-null").code == 2
