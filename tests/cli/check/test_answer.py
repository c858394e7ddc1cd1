"""What a server would answer to a write, stage by stage, in its own words. A real server is asked the same in tests/cluster."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from dynamo_webhooks.admission.registration import Purpose, webhook_name
from dynamo_webhooks.api.crd import build
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.objects.manifest import find_manifests
from dynamo_webhooks.cli.validation.levels import CEL, CONVERSION, DECODE, ERROR, POLICIES, SCHEMA
from dynamo_webhooks.cli.validation.pipeline import Settings, check_object
from dynamo_webhooks.cli.validation.server_response import Answer, simulate_server
from dynamo_webhooks.cli.yaml.load import load_documents
from dynamo_webhooks.policies.facts import Facts, facts_from
from dynamo_webhooks.policies.review import CREATE, DELETE, UPDATE
from dynamo_webhooks.webhooks.routes import ROUTES
from tests.cli.samples import BAD, BARE, GOOD, MODEL, NEEDS_GROVE, WARNED
from tests.golden.corpus import cases

MANIFESTS = Path(__file__).parents[3] / "manifests" / "base"
NONE: dict[str, Any] = {"clusterTopologies": None, "operatorVersion": "1.2.0", "operatorPrincipal": "", "excludedNamespaces": []}
DEPRECATED = "nvidia.com/v1alpha1 DynamoGraphDeployment is deprecated; use nvidia.com/v1beta1 DynamoGraphDeployment"


def _answer(text: str, operation: str = CREATE, old: dict[str, Any] | None = None, **settings: Any) -> Answer:
    (found,) = find_manifests(load_documents(text))
    before = copy.deepcopy((found.data, old))
    answer = simulate_server(found, operation, old, Settings(**settings))
    assert (found.data, old) == before, "the pipeline gets the object next"
    return answer


def _stage(answer: Answer) -> tuple[str, int, str]:
    return answer.stage, answer.status, answer.reason


def test_webhooks_are_called_as_in_the_manifests() -> None:
    for file, purpose in (("validating.yaml", Purpose.VALIDATE), ("mutating.yaml", Purpose.MUTATE)):
        registered = {hook["clientConfig"]["service"]["path"]: hook for hook in yaml.safe_load((MANIFESTS / file).read_text())["webhooks"]}
        for route in ROUTES.values():
            if route.purpose is purpose:
                assert webhook_name(route.kind, route.version, purpose) == registered[route.path]["name"]


@pytest.mark.parametrize(("operation", "status"), [(CREATE, 201), (UPDATE, 200), (DELETE, 200)])
def test_what_is_right_is_accepted(operation: str, status: int) -> None:
    answer = _answer(GOOD, operation, load_documents(GOOD)[0].data)
    assert (_stage(answer), answer.message, answer.told, answer.accepted) == (("", status, ""), "", "", True)
    assert answer.warnings == (DEPRECATED,)


def test_the_deprecation_is_that_of_the_definition() -> None:
    (version,) = [each for each in build("DynamoGraphDeployment")["spec"]["versions"] if each["name"] == "v1alpha1"]
    assert version["deprecationWarning"] == DEPRECATED
    assert (
        _answer(
            BARE.replace("v1alpha1", "v1beta1").replace(
                "services:\n    worker:\n      componentType", "components:\n    - name: worker\n      type"
            )
        ).warnings
        == ()
    )


def test_a_kind_that_no_definition_declares() -> None:
    answer = _answer(GOOD.replace("Deployment", "Deploiment"))
    assert _stage(answer) == (DECODE, 404, "NotFound")
    assert answer.told == ('Error from server (NotFound): no matches for kind "DynamoGraphDeploiment" in version "nvidia.com/v1alpha1"')


def test_metadata_of_a_wrong_type_is_refused_first() -> None:
    answer = _answer(GOOD.replace("name: good", "name: [5]"))
    assert _stage(answer) == (DECODE, 400, "BadRequest")
    assert answer.message.startswith(
        'DynamoGraphDeployment in version "v1alpha1" cannot be handled as a DynamoGraphDeployment: metadata.name'
    )


def test_what_the_mutating_webhook_can_t_read_is_its_refusal() -> None:
    answer = _answer(GOOD.replace("replicas: 2", "resources: {limits: {gpu: 1}}"))
    assert _stage(answer) == (DECODE, 400, "BadRequest")
    lead = 'admission webhook "mdynamographdeployment.kb.io" denied the request: request.object can\'t be read as DynamoGraphDeployment'
    assert answer.message.startswith(lead)
    assert answer.told == f"Error from server (BadRequest): {answer.message}"


def test_the_schema_quotes_values_and_kubectl_lists_causes() -> None:
    text = GOOD.replace("replicas: 2", "replicas: -1") + "  pvcs:\n    - {name: x, create: true, size: 5}\n"
    one = _answer(GOOD.replace("replicas: 2", "replicas: -1"))
    cause = "spec.services.worker.replicas: Invalid value: -1: spec.services.worker.replicas in body should be greater than or equal to 0"
    assert _stage(one) == (SCHEMA, 422, "Invalid")
    assert one.message == f'DynamoGraphDeployment.nvidia.com "good" is invalid: {cause}'
    assert one.told == f'The DynamoGraphDeployment "good" is invalid: {cause}'
    several = _answer(text)
    assert several.told.startswith('The DynamoGraphDeployment "good" is invalid: \n* spec.')
    assert several.message.startswith('DynamoGraphDeployment.nvidia.com "good" is invalid: [spec.')
    assert len(several.causes) > 1


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ("      componentType: 5\n", 'Invalid value: "integer": spec.services.worker.componentType in body must be of type string'),
        ("      multinode: {nodeCount: 1}\n", "Invalid value: 1: spec.services.worker.multinode.nodeCount in body should be"),
        ("      gpuMemoryService: {enabled: true, mode: x}\n", 'Unsupported value: "x": supported values: "intraPod", "interPod"'),
        ("      checkpoint: {enabled: true}\n", 'Invalid value: "object": '),
        ("      volumeMounts: [{mountPoint: /a}]\n", "Required value"),
    ],
)
def test_each_kind_of_cause(change: str, cause: str) -> None:
    answer = _answer(GOOD.replace("      componentType: worker\n", change), defaults=False, facts=Facts(operatorLine=Line.V1_2))
    assert answer.stage in (SCHEMA, CEL), answer
    assert any(message.startswith(cause) for _, message in answer.causes), answer.causes


def test_a_name_that_can_t_be_one_is_told_in_the_server_s_words() -> None:
    answer = _answer(GOOD.replace("name: good", "name: Not_Good"))
    assert answer.causes[0][0] == "metadata.name"
    assert answer.causes[0][1].startswith('Invalid value: "Not_Good": a lowercase RFC 1123 subdomain must consist of lower case')
    assert answer.causes[0][1].endswith(r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')")


def test_the_policies_refuse_with_the_webhook_s_own_words() -> None:
    answer = _answer(BAD)
    assert _stage(answer) == (POLICIES, 422, "Invalid")
    assert answer.message.startswith(
        'admission webhook "vdynamographdeployment.kb.io" denied the request: DynamoGraphDeployment.nvidia.com "bad"'
    )
    assert [field for field, _ in answer.causes] == ["spec.services[worker].ingress.host"]
    assert answer.causes[0][1].endswith("[ingress-host-required]")


def test_warnings_of_the_policies_are_the_webhook_s() -> None:
    answer = _answer(WARNED)
    assert answer.accepted
    assert [text for text in answer.warnings if "[warn-dynamo-namespace]" in text or "dynamoNamespace" in text]


def test_a_fact_that_is_missing_refuses_as_on_a_server() -> None:
    assert _answer(NEEDS_GROVE).stage == POLICIES
    assert _answer(NEEDS_GROVE, facts=facts_from({"grove": True})).accepted


def test_a_leased_namespace_is_left_to_its_operator() -> None:
    assert _answer(BAD, facts=Facts(operatorScope="cluster", excludedNamespaces=frozenset({"llm"}))).accepted


def test_an_update_is_held_against_what_is_stored() -> None:
    new, old = MODEL, load_documents(MODEL)[0].data
    old["spec"]["baseModelName"] = "another"
    answer = _answer(new, UPDATE, old)
    assert answer.stage == POLICIES
    assert any("model-base-name-immutable" in message for _, message in answer.causes)


def test_what_can_t_be_stored_is_the_conversion_s_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutating webhook finds it first where it converts; a kind that is stored otherwise and has none gets here."""
    text = (
        "apiVersion: nvidia.com/v1beta1\nkind: DynamoGraphDeploymentScalingAdapter\nmetadata: {name: a}\n"
        "spec: {replicas: 1, dgdRef: {name: g, serviceName: w}}\n"
    )
    from dynamo_webhooks.conversion.lens.protocol import ConversionError

    def refuse(*_: object) -> None:
        raise ConversionError(("spec", "replicas"), "must be otherwise")

    monkeypatch.setattr("dynamo_webhooks.webhooks.convert.convert_object", refuse)
    answer = _answer(text, schema=False, facts=Facts(operatorLine=Line.V1_2))
    assert _stage(answer) == (CONVERSION, 500, "")
    assert answer.message.startswith("conversion webhook for nvidia.com/v1beta1, Kind=DynamoGraphDeploymentScalingAdapter failed: ")
    assert "spec.replicas: must be otherwise" in answer.message


@pytest.mark.golden
def test_answers_and_findings_agree_on_every_recorded_object() -> None:
    """Whether it is accepted, with every fact known; the recorded server had no webhooks, so its refusals are the schema's."""
    facts = facts_from(
        {**dict.fromkeys(("grove", "lws", "dra", "inferencePool", "gpuDiscovery"), True), "operatorScope": "cluster", **NONE}
    )
    wrong, stages = [], set()
    for case in cases("schema.ndjson.gz", "schema"):
        (found,) = find_manifests(load_documents(json.dumps(case["object"])))
        answer = simulate_server(found, CREATE, None, Settings(facts))
        findings = check_object(found, CREATE, None, Settings(facts)).findings
        refused = any(finding.level == ERROR for finding in findings)
        stages.add(answer.stage)
        if answer.accepted is refused or not (answer.stage == "" or answer.stage in {finding.stage for finding in findings}):
            wrong.append((case["id"], answer.told, [(finding.stage, finding.message) for finding in findings]))
    assert not wrong, (len(wrong), wrong[:5])
    assert stages == {"", DECODE, SCHEMA, CEL, POLICIES}
