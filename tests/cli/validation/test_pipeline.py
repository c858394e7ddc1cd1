"""The stages of one object: what each sees, and what a fault in one of them costs."""

import logging
from typing import Any

import pytest

from dynamo_webhooks.cli.commands.explain.field import find
from dynamo_webhooks.cli.objects.manifest import find_manifests
from dynamo_webhooks.cli.validation.finding import ValidationOutcome
from dynamo_webhooks.cli.validation.pipeline import ValidationSettings, check_object
from dynamo_webhooks.cli.yaml.load import load_documents
from dynamo_webhooks.policies.at import make_fault
from dynamo_webhooks.policies.catalogue import find_rule
from dynamo_webhooks.policies.facts import facts_from
from dynamo_webhooks.policies.finding import Finding
from dynamo_webhooks.policies.review import CREATE, Review
from tests.cli.conftest import Command, Files
from tests.cli.samples import BAD_RULE, GOOD, graph, manifest


def _checked(text: str, **settings: Any) -> ValidationOutcome:
    (parsed,) = find_manifests(load_documents(text))
    return check_object(parsed, CREATE, None, ValidationSettings(**settings))


def _seen(monkeypatch: pytest.MonkeyPatch, text: str, **settings: Any) -> dict[str, Any]:
    """The object as the policies are asked about it."""
    seen: list[dict[str, Any]] = []

    def evaluate(review: Review, _most: int | None) -> list[Finding]:
        seen.append(review.object)
        return []

    monkeypatch.setattr("dynamo_webhooks.admission.judging.evaluate", evaluate)
    _checked(text, **settings)
    return seen[0]


UNFINISHED = (
    GOOD.replace("      replicas: 2\n", "      failover: {enabled: true}\n      unknown: 1\n      envs: null\n") + "status: {state: x}\n"
)


@pytest.mark.interpreted
def test_the_policies_see_what_the_server_would_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = _seen(monkeypatch, UNFINISHED, facts=facts_from({"operatorVersion": "1.2.0"}))
    assert worker["spec"]["services"]["worker"] == {
        "componentType": "worker",
        "extraPodSpec": {"mainContainer": {"image": "x/vllm:1.5.0"}},
        "failover": {"enabled": True, "mode": "intraPod", "numShadows": 1},
        "replicas": 1,
    }
    assert "status" not in worker
    assert worker["metadata"]["annotations"] == {"nvidia.com/dynamo-operator-origin-version": "1.2.0"}
    assert "replicas" not in _seen(monkeypatch, UNFINISHED, defaults=False)["spec"]["services"]["worker"]
    raw = _seen(monkeypatch, UNFINISHED, schema=False)["spec"]["services"]["worker"]
    assert (raw["unknown"], raw["failover"]) == (1, {"enabled": True})


@pytest.mark.interpreted
def test_a_rule_that_raises_is_exit_code_70_with_a_replay_command(command: Command, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = find_rule(BAD_RULE)
    assert rule
    monkeypatch.setattr("dynamo_webhooks.admission.judging.evaluate", lambda *_: [make_fault(rule, ("spec",), KeyError("secret"))])
    files(good=GOOD)
    ran = command("check", "good.yaml", "--fail-on", "never", "--ignore", BAD_RULE)
    assert ran.code == 70
    assert "good.yaml:6:1 fault" in ran.out
    assert "secret" not in ran.out + ran.err
    assert "internal error: a rule raised an exception; to replay it: dynamo-webhooks" in ran.err


def test_a_rule_that_raises_leaves_the_log_as_it_was(command: Command, files: Files, caplog: pytest.LogCaptureFixture) -> None:
    files(good=GOOD)
    for words in ([], ["-v"]):
        command("check", "good.yaml", *words)
        logging.getLogger("policies").warning("heard")
    assert caplog.messages == ["heard", "heard"]


def test_absurd_names_do_not_make_absurd_reports(command: Command, files: Files) -> None:
    long = "x" * 1_000_000
    files(a=GOOD.replace("name: good", f"name: {long}").replace("worker:", f"? {long}\n    :").replace("replicas: 2", "replicas: -2"))
    for output in ("text", "json", "jsonl"):
        ran = command("check", "a.yaml", "-o", output)
        assert ran.code == 1
        assert max(map(len, ran.out.splitlines())) < 10_000


def test_the_server_s_hint_at_waiting_rules_is_a_note_and_no_finding() -> None:
    outcome = _checked(GOOD.replace("replicas: 2", "componentTyp: 5\n      replicas: x"))
    assert "some validation rules were not checked" not in str(outcome.findings)
    assert [note.rule for note in outcome.not_evaluated] == ["schema-rule", "policies"]


def test_a_finding_of_the_schema_names_the_field_that_explain_knows() -> None:
    """Metadata has no page of its own: there it is the rule's."""
    findings = _checked(GOOD.replace("replicas: 2", "envs: [{value: a}]").replace("name: ", "name: UPPER-", 1)).findings
    assert {finding.field for finding in findings if finding.rule == "schema-mismatch"} == {"spec.services.*.envs.*.name", ""}
    assert find("spec.services.*.envs.*.name") is not None


ODD_GPU = manifest("DynamoGraphDeploymentRequest", "v1beta1", "{model: m, hardware: {gpuSku: H100}}")
TWINS = graph("name: a", "name: a")


def test_what_is_said_several_times_of_one_value_is_told_once() -> None:
    """A server repeats what both parts of an allOf refuse, and sums it up; the policies and the last stage convert the same object."""
    (mismatch,) = (finding for finding in _checked(ODD_GPU).findings if finding.stage == "schema")
    assert mismatch.path == "spec.hardware.gpuSku"
    assert mismatch.message.endswith(', "mi300", got "H100"')
    rules = [rule for finding in _checked(TWINS).findings for rule in (finding.rule, *(also.rule for also in finding.also))]
    assert rules.count("unconvertible") == 1


REQUEST = ODD_GPU.replace("hardware: {gpuSku: H100}", "image: 1")


def test_an_update_that_no_mutating_webhook_reads_is_refused_by_the_schema(command: Command, files: Files) -> None:
    """The webhook, which reads before the schema does, is asked about new requests alone."""
    files(new=REQUEST, old=REQUEST.replace("image: 1", "image: i"))
    for words, rule in ((), "wrong-type"), (("--old", "old.yaml"), "schema-mismatch"):
        report = command("check", "new.yaml", *words, "-o", "json", "--answer").json
        assert rule in {finding["rule"] for finding in report["findings"] if finding["path"] == "spec.image"}
        assert [answer["stage"] for answer in report["answers"]] == ["decode" if rule == "wrong-type" else "schema"]
