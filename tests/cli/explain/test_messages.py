"""`explain` with a pasted message: the rule is found by its sentence too, and the words of an API server are known."""

import itertools
import re
from pathlib import Path
from typing import Final

import pytest
import yaml

from dynamo_webhooks.admission.judging import reword_finding
from dynamo_webhooks.cli.commands.explain.cause import split_causes
from dynamo_webhooks.cli.commands.explain.message import find, load_tables
from dynamo_webhooks.cli.commands.explain.sentence import find_rules_by_text
from dynamo_webhooks.policies.answer import format_finding
from tests.cli.conftest import Command, Files
from tests.cli.samples import BAD, BAD_RULE
from tests.cli.userrules.samples import PROJECT, policy
from tests.policies.example_runs import list_shown
from tests.rows import run_each

REFUSED: Final = 'admission webhook "v.kb.io" denied the request: DynamoGraphDeployment.nvidia.com "g" is invalid:'


def test_every_rule_is_found_by_what_it_says_of_its_own_bad_examples_in_either_version(subtests: pytest.Subtests) -> None:
    for name, rule, example, findings, _ in list_shown("bad"):
        kind, _, version = example.kind.partition("/")
        own = [finding for finding in findings if finding.rule is rule]
        with subtests.test(name):
            assert own
            for finding, words in itertools.product(own, {version, "v1beta1"}):
                text = format_finding(finding if words == version else reword_finding(finding, words)).removesuffix(f" [{rule.name}]")
                matches = find_rules_by_text(f'The {kind} "g" is invalid: {text}')
                assert rule.name in [match.name for match in matches], text
                assert len(matches) <= 2, text


@run_each("text", ["", "must be", "spec.x: must be nice", "hello world", "denied the request", "x" * 50_000])
def test_a_sentence_of_nobody_is_nobodys(text: str) -> None:
    assert find_rules_by_text(text) == []


def _explained(command: Command, message: str) -> list[str]:
    return [page.get("rule") or page["message"] for page in command("explain", message, "-o", "json").json]


def test_what_check_answers_in_the_servers_words_is_explained_with_and_without_names(command: Command, files: Files) -> None:
    files(bad=BAD)
    out = command("check", "bad.yaml", "--answer").out
    refusal = next(line.strip() for line in out.splitlines() if "is invalid:" in line)
    assert f"[{BAD_RULE}]" in refusal
    assert _explained(command, refusal) == [BAD_RULE]
    assert _explained(command, re.sub(r" \[[a-z-]+\]$", "", refusal)) == [BAD_RULE]


def test_a_list_of_causes_is_explained_cause_by_cause(command: Command) -> None:
    message = (
        'The DynamoGraphDeployment "g" is invalid: \n'
        "* spec.services[a].replicas: must be 0 or more, got -1\n"
        "* spec.services[a].ingress.host: must name a host while the ingress is enabled, got nothing"
    )
    assert _explained(command, message) == ["replicas-non-negative", BAD_RULE]
    joined = message.replace("\n* ", "; ").replace("invalid: ; ", "invalid: ")
    assert _explained(command, joined) == ["replicas-non-negative", BAD_RULE]


@run_each(
    ("message", "names"),
    [
        ('no endpoints available for service "dynamo-webhooks"', ["no-server"]),
        ("Unable to connect to the server: dial tcp 10.0.0.1:6443: i/o timeout", ["no-api-server"]),
        ("the caller's client certificate must bear one of the names in server.webhook.clientNames", ["client-certificate"]),
        ("server.webhook.clientCA: no authority of client certificates could be read", ["client-certificate"]),
        (
            "conversion webhook for nvidia.com/v1beta1, Kind=DynamoGraphDeployment failed: 1 of 1 objects can't be converted to "
            "nvidia.com/v1alpha1: DynamoGraphDeployment n/g: metadata.labels.nvidia.com/dynamo-webhooks-remainder: must not be written or "
            "deleted in this version, which can't hold all that the object says: use v1alpha1",
            ["not-whole", "unconverted"],
        ),
        ("spec.pvcs: must be smaller: in v1beta1 it needs 300 of 256 KiB of annotations [long-remainder]", ["long-remainder"]),
        ("the body must be at most 7340032 bytes", ["too-large"]),
        ("spec.eppConfig: Invalid value: exactly one of configMapRef and config must be given", ["schema-rule"]),
    ],
)
def test_the_words_of_an_api_server_are_known(command: Command, message: str, names: list[str]) -> None:
    assert _explained(command, message) == names
    assert "**Fix.**" in command("explain", message).out


def test_each_of_several_refused_objects_is_explained(command: Command) -> None:
    message = (
        "dynamographdeployment.nvidia.com/fine created\n"
        'The DynamoGraphDeployment "a" is invalid: spec.components[0].replicas: Invalid value: 2: EPP component must have exactly 1 '
        "replica\n"
        'The DynamoModel "m" is invalid: \n'
        '* spec.modelName: Invalid value: "boolean": spec.modelName in body must be of type string: "boolean"\n'
        "* spec.baseModelName: Required value\n"
        'Error from server (InternalError): error when creating "c.yaml": Internal error occurred: failed calling webhook "a.kb.io": '
        'failed to call webhook: Post "https://a.b.svc:443/": dial tcp 10.0.0.1:443: connect: connection refused\n'
        'The DynamoModel "n" is invalid: spec.modelName: Required value'
    )
    pages = command("explain", message, "-o", "json").json
    assert [page.get("rule") or page["message"] for page in pages] == ["epp-single-replica", "wrong-type", "schema-mismatch", "no-server"]
    assert pages[2]["fields"] == ["spec.baseModelName", "spec.modelName"]


def test_a_refusal_in_words_that_nobody_says_here_leads_to_the_field_and_to_check(command: Command) -> None:
    ran = command("explain", 'The DynamoGraphDeployment "g" is invalid: spec.services[a].replicas: Forbidden: seven is a holy number')
    assert "Run `dynamo-webhooks check FILE`" in ran.out
    assert "# DynamoGraphDeployment.spec.services.a.replicas" in ran.out


@run_each("text", ["is forbidden: " * 1_500, "; a: " * 5_000, "\n* spec.x: y" * 2_000, f"spec{'.x' * 9_000}: a", ", spec.a: x" * 600])
def test_of_a_long_text_a_hundred_causes_are_looked_at(text: str) -> None:
    text = f'The DynamoModel "m" is invalid: spec.modelName: {text}'
    assert len(split_causes(text)) <= 101
    assert find(text)


def test_each_entry_is_found_by_the_words_that_are_shown_for_it() -> None:
    entries = [entry for table in load_tables().values() for entry in table]
    for entry in entries:
        text = entry.shown.partition("; ")[0].replace("...", "x")
        assert entry.name in [page.get("message") for page in find(text)], text
    assert len({entry.name for entry in entries}) == len(entries)


def test_a_rule_of_the_schema_tells_its_places() -> None:
    [page] = find("got: at most one component must be of type epp")
    assert "DynamoGraphDeployment/v1beta1 `spec.components`" in page["meaning"]


@pytest.mark.parametrize(
    "words", ["job must only be given when mode is Auto", "exactly one of labelKey and clusterTopologyName must be given"]
)
def test_the_sentence_of_a_definition_is_known_whatever_line_has_it(words: str) -> None:
    assert [page["words"] for page in find(f"spec: Invalid value: {words}")] == [words]


@run_each(
    ("message", "fields", "advice"),
    [
        (
            'The DynamoGraphDeployment "g" is invalid: \n'
            '* spec.services.worker.failover.mode: Unsupported value: "x": supported values: "intraPod", "interPod"\n'
            "* spec.services.worker.multinode.nodeCount: Invalid value: 0: spec.services.worker.multinode.nodeCount in body should be "
            "greater than or equal to 2\n* spec.nothing.of.ours: Invalid value",
            ["spec.services.worker.failover.mode", "spec.services.worker.multinode.nodeCount"],
            "`dynamo-webhooks explain 'spec.services.worker.failover.mode'` shows the field and its values.",
        ),
        (
            'DynamoModel in version "v1alpha1" cannot be handled as a DynamoModel: strict decoding error: unknown field '
            '"spec.modelNam", unknown field "spec.nothingLikeIt"',
            ["DynamoModel.spec.modelName"],
            "Did you mean `DynamoModel.spec.modelName`?",
        ),
        (
            "Error from server: failed to create typed patch object (default/g; nvidia.com/v1beta1, Kind=DynamoGraphDeployment): "
            '.spec.components[name="w"].replica: field not declared in schema',
            ['spec.components.name="w".replicas'],
            "Did you mean",
        ),
    ],
)
def test_the_fields_of_a_refusal_are_pointed_out(command: Command, message: str, fields: list[str], advice: str) -> None:
    assert [page["fields"] for page in command("explain", message, "-o", "json").json] == [fields]
    assert advice in command("explain", message).out


def test_each_recorded_message_of_kubectl_is_explained(subtests: pytest.Subtests) -> None:
    recorded = yaml.safe_load(Path(__file__).with_name("kubectl_messages.yaml").read_text("utf-8"))
    assert sum(map(len, recorded.values())) > 110
    for names, texts in recorded.items():
        for text in texts:
            with subtests.test(text):
                assert [page.get("rule") or page.get("message") for page in find(text)] == names.split()


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ('The dynamomodels "m" is invalid: : {} denied request: breaks few', "policy-refuses"),
        ("Warning: Validation failed for {}: breaks few", "policy-warns"),
        (f"{REFUSED} spec.components[0].replicas: breaks few [user/few]", "own-policy-refuses"),
    ],
)
def test_the_refusal_of_a_policy_of_ones_own_leads_to_its_page(command: Command, files: Files, message: str, name: str) -> None:
    (files(few=policy()) / PROJECT).write_text("rules-from: [few.yaml]\n")
    refusal = message.format("ValidatingAdmissionPolicy 'few' with binding 'few-all'")
    assert _explained(command, refusal) == ["user/few", name]
