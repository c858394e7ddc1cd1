"""A rule that needs a fact says so wherever the fact is not known: it never passes an object that it might have to refuse."""

import json
from typing import Final

import orjson
import pytest
import yaml

from dynamo_webhooks.admission.judging import judge as evaluate
from dynamo_webhooks.admission.pipeline import Settings
from dynamo_webhooks.cli.facts.load import describe_consequences
from dynamo_webhooks.policies.catalogue import list_declared
from dynamo_webhooks.policies.facts import UNKNOWN
from dynamo_webhooks.policies.review import CREATE
from dynamo_webhooks.policies.rule import Level, Rule
from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.routes import ROUTES
from tests.cli.conftest import Command, Files
from tests.cli.samples import MAIN, graph
from tests.policies.examples import Example, parse
from tests.rows import run_each

RULES: Final = [rule for rule in list_declared() if not rule.is_default and rule.needs]
BAD: Final = [(rule, block) for rule in RULES for block in rule.bad]


def _without(rule: Rule, block: str) -> Example:
    """An example none of whose facts is known that its rule needs."""
    example = parse(block, rule.kinds[0], rule.name)
    example.facts = example.facts._replace(**dict.fromkeys(rule.needs, UNKNOWN))
    return example


def _idle(rule: Rule, example: Example) -> set[str]:
    """The rules that miss one of the facts; several may share one, and then one of them says so. Empty where the object alone is bad."""
    findings = evaluate(example.review())
    if any(finding.rule is rule and finding.level is not Level.NOT_EVALUATED for finding in findings):
        return set()
    names = {finding.rule.name for finding in findings if finding.level is Level.NOT_EVALUATED and finding.fact in rule.needs}
    assert names, f"{rule.name} passes silently without {rule.needs}"
    return names


@run_each(("rule", "block"), BAD, ids=[rule.name for rule, _ in BAD])
def test_every_command_and_the_server_say_the_same(rule: Rule, block: str, files: Files, command: Command) -> None:
    example = _without(rule, block)
    names = _idle(rule, example)
    text = " ".join(describe_consequences(example.facts))  # by the server, at its start
    assert all(name in text for name in names)
    if example.operation != CREATE or not names:
        return
    kind, _, version = example.kind.partition("/")
    obj = {**example.object, "apiVersion": f"nvidia.com/{version}", "kind": kind}
    facts = {
        name: sorted(value) if isinstance(value, frozenset) else str(value) if isinstance(value, str) else value
        for name, value in example.facts._asdict().items()
        if value is not UNKNOWN and value is not None
    }
    called = {"group": "nvidia.com", "version": version, "kind": kind}
    request = {"uid": "u", "operation": CREATE, "name": "x", "namespace": "default", "kind": called, "object": obj}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    files(graph=yaml.safe_dump(obj), facts=yaml.safe_dump(facts), raw_review=json.dumps(review))
    checked = command("check", "graph.yaml", "--facts", "facts.yaml", "--require-facts", "--fail-on", "never", "-o", "json", "--no-schema")
    assert names <= {note["rule"] for note in checked.json["notEvaluated"]}
    assert checked.code == 5
    path = f"/validate-nvidia-com-{version}-{kind.lower()}"
    served = orjson.loads(answer(ROUTES[path], orjson.dumps(review), Settings(example.facts)).body)["response"]
    assert all(name in json.dumps(served) for name in names)
    assert not served["allowed"]
    reviewed = command("review", "raw_review", "--facts", "facts.yaml")
    assert all(name in reviewed.out for name in names)


@run_each("written", ["component", "grove", "lws"])
@pytest.mark.parametrize(("known", "rules"), [(None, ["min-available-requires-grove"]), (True, []), (False, [])])
def test_an_annotation_that_a_server_overwrites_decides_nothing(
    written: str, known: bool | None, rules: list[str], files: Files, command: Command
) -> None:
    text = graph(f"name: w, type: worker, minAvailable: 1, {MAIN}")
    files(graph=text.replace("namespace: llm", f"annotations: {{nvidia.com/workload-provider: {written}}}"))
    flags = [] if known is None else ["--set-fact", f"grove={str(known).lower()}"]
    report = command("check", "graph.yaml", "-o", "json", *flags).json
    assert [note["rule"] for note in report["notEvaluated"]] == rules
    assert [finding["rule"] for finding in report["findings"]] == (["min-available-requires-grove"] if known is False else [])
