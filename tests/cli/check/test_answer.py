"""What a server would answer to a write, stage by stage, in its own words. A real server is asked the same in tests/cluster."""

import copy
import json
from itertools import islice
from typing import Any

import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.objects.manifest import find_manifests
from dynamo_webhooks.cli.validation.levels import CEL, CONVERSION, DECODE, ERROR, POLICIES, SCHEMA
from dynamo_webhooks.cli.validation.pipeline import ValidationSettings, check_object
from dynamo_webhooks.cli.validation.server_response import ServerResponse, simulate_server
from dynamo_webhooks.cli.yaml.load import load_documents
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.policies.facts import Facts, facts_from
from dynamo_webhooks.policies.review import CREATE, DELETE, UPDATE
from tests.cli.samples import BAD, GOOD, NEEDS_GROVE, graph, manifest
from tests.cli.sizes import by_day_and_night
from tests.golden.corpus import cases

NONE: dict[str, Any] = {"clusterTopologies": None, "operatorVersion": "1.2.0", "operatorPrincipal": "", "excludedNamespaces": []}
GOOD_PROBE = "exec: {command: [a]}"
UNHANDLED = 'DynamoGraphDeployment in version "v1alpha1" cannot be handled as a DynamoGraphDeployment: '
UNREAD = 'admission webhook "mdynamographdeployment.kb.io" denied the request: request.object can\'t be read '
DEPRECATED = "nvidia.com/v1alpha1 DynamoGraphDeployment is deprecated; use nvidia.com/v1beta1 DynamoGraphDeployment"


def _answer(text: str, operation: str = CREATE, old: dict[str, Any] | None = None, **settings: Any) -> ServerResponse:
    (parsed,) = find_manifests(load_documents(text))
    before = copy.deepcopy((parsed.data, old))
    answer = simulate_server(parsed, operation, old, ValidationSettings(**settings))
    assert (parsed.data, old) == before, "the pipeline gets the object next"
    return answer


def _stage(answer: ServerResponse) -> tuple[str, int, str]:
    return answer.stage, answer.status, answer.reason


@pytest.mark.parametrize(("operation", "status"), [(CREATE, 201), (UPDATE, 200), (DELETE, 200)])
def test_what_is_right_is_accepted(operation: str, status: int) -> None:
    answer = _answer(GOOD, operation, load_documents(GOOD)[0].data)
    assert (_stage(answer), answer.message, answer.kubectl_text, answer.accepted) == (("", status, ""), "", "", True)
    assert answer.warnings == (DEPRECATED,)


@pytest.mark.parametrize(
    ("right", "wrong", "status", "reason", "message"),
    [
        ("Deployment", "Deploiment", 404, "NotFound", 'no matches for kind "DynamoGraphDeploiment" in version "nvidia.com/v1alpha1"'),
        ("name: good", "name: [5]", 400, "BadRequest", f"{UNHANDLED}metadata.name"),
        ("replicas: 2", "resources: {limits: {gpu: 1}}", 400, "BadRequest", f"{UNREAD}as DynamoGraphDeployment"),
    ],
)
def test_what_can_t_be_read_is_refused_first(right: str, wrong: str, status: int, reason: str, message: str) -> None:
    answer = _answer(GOOD.replace(right, wrong))
    assert _stage(answer) == (DECODE, status, reason)
    assert answer.message.startswith(message)
    assert answer.kubectl_text == f"Error from server ({reason}): {answer.message}"


def test_a_list_that_is_too_short_is_quoted_by_its_length() -> None:
    text = manifest("DynamoGraphDeploymentRequest", "v1beta2", "{backends: []}")
    answer = _answer(text, facts=Facts(operatorLine=Line.V1_7))  # which no mutating webhook is registered for
    assert _stage(answer) == (SCHEMA, 422, "Invalid")
    assert ("spec.backends", "Invalid value: 0: spec.backends in body should have at least 1 items") in answer.causes


@pytest.mark.parametrize(
    ("probe", "refused"),
    [
        ("periodSeconds: 5", [""]),
        ("httpGet: {port: 1}, nope: 2", [".nope"]),
        ("httpGet: {host: h, prot: 1}", [".httpGet.port", ".httpGet.prot"]),
        (GOOD_PROBE, []),
    ],
)
def test_pods_of_roles_are_judged_as_the_webhook_judges_them(probe: str, refused: list[str]) -> None:
    """At its stage, though with the whole schema; not in the namespace of another operator, nor what the stored object has."""
    pods = [
        f"podTemplate: {{spec: {{containers: [{{name: main, image: 'i:1.6.0', livenessProbe: {{{fields}}}}}]}}}}"
        for fields in (probe, GOOD_PROBE)
    ]
    roles = f"[{{name: leader, {pods[0]}}}, {{name: worker, {pods[1]}}}]"
    text = graph(f"name: w, type: worker, multinode: {{nodeCount: 2}}, roles: {roles}")
    values = {**NONE, "operatorVersion": "1.6.0", "operatorScope": "cluster", "grove": True}
    places = [f"spec.components[0].roles[0].podTemplate.spec.containers[0].livenessProbe{field}" for field in refused]

    def judge(expected: list[str], operation: str = CREATE, old: Any = None, **facts: Any) -> None:
        settings = ValidationSettings(facts_from({**values, **facts}))
        (parsed,), (again,) = (find_manifests(load_documents(text)) for _ in range(2))
        answer = simulate_server(parsed, operation, old, settings)
        findings = [finding for finding in check_object(again, operation, old, settings).findings if finding.level == ERROR]
        assert sorted(field for field, _ in answer.causes) == sorted(finding.path for finding in findings) == expected
        assert {answer.stage or POLICIES, *(finding.stage for finding in findings)} == {POLICIES}

    judge(places)
    judge([], excludedNamespaces=["llm"])
    (stored,) = find_manifests(load_documents(text))
    judge([], UPDATE, stored.data)


def test_the_schema_quotes_values_and_kubectl_lists_causes() -> None:
    text = GOOD.replace("replicas: 2", "replicas: -1") + "  pvcs:\n    - {name: x, create: true, size: 5}\n"
    single = _answer(GOOD.replace("replicas: 2", "replicas: -1"))
    cause = "spec.services.worker.replicas: Invalid value: -1: spec.services.worker.replicas in body should be greater than or equal to 0"
    assert _stage(single) == (SCHEMA, 422, "Invalid")
    assert single.message == f'DynamoGraphDeployment.nvidia.com "good" is invalid: {cause}'
    assert single.kubectl_text == f'The DynamoGraphDeployment "good" is invalid: {cause}'
    several = _answer(text)
    assert several.kubectl_text.startswith('The DynamoGraphDeployment "good" is invalid: \n* spec.')
    assert several.message.startswith('DynamoGraphDeployment.nvidia.com "good" is invalid: [spec.')
    assert len(several.causes) > 1


def test_a_name_that_can_t_be_one_is_told_in_the_server_s_words() -> None:
    answer = _answer(GOOD.replace("name: good", "name: Not_Good"))
    assert answer.causes[0][0] == "metadata.name"
    assert answer.causes[0][1].startswith('Invalid value: "Not_Good": a lowercase RFC 1123 subdomain must consist of lower case')
    assert answer.causes[0][1].endswith(r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')")


def test_facts_decide_as_on_a_server() -> None:
    assert _answer(BAD, facts=Facts(operatorScope="cluster", excludedNamespaces=frozenset({"llm"}))).accepted
    assert _answer(NEEDS_GROVE).stage == POLICIES
    assert _answer(NEEDS_GROVE, facts=facts_from({"grove": True})).accepted


@pytest.mark.interpreted
def test_what_can_t_be_stored_is_the_conversion_s_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutating webhook finds it first where it converts; a kind that is stored otherwise and has none gets here."""
    text = manifest("DynamoGraphDeploymentScalingAdapter", "v1beta1", "{replicas: 1, dgdRef: {name: g, serviceName: w}}")

    def refuse(*_: object) -> None:
        raise ConversionError(("spec", "replicas"), "must be otherwise")

    monkeypatch.setattr("dynamo_webhooks.webhooks.convert.convert_object", refuse)
    answer = _answer(text, schema=False, facts=Facts(operatorLine=Line.V1_2))
    assert _stage(answer) == (CONVERSION, 500, "")
    assert answer.message.startswith("conversion webhook for nvidia.com/v1beta1, Kind=DynamoGraphDeploymentScalingAdapter failed: ")
    assert "spec.replicas: must be otherwise" in answer.message


@by_day_and_night("apart", 4, 1)
def test_answers_and_findings_agree_on_recorded_objects(apart: int) -> None:
    """With each other where every fact is known, and the schema's with a real API server, which had no webhooks and no defaults of ours."""
    facts = facts_from(
        {**dict.fromkeys(("grove", "lws", "dra", "inferencePool", "gpuDiscovery"), True), "operatorScope": "cluster", **NONE}
    )
    wrong, stages = [], set()
    for case in islice(cases("schema.ndjson.gz", "schema"), 0, None, apart):
        text = json.dumps(case["object"], indent=1)
        (parsed,), (again,) = (find_manifests(load_documents(text)) for _ in range(2))
        answer = simulate_server(parsed, CREATE, None, ValidationSettings(facts))
        plain = check_object(again, CREATE, None, ValidationSettings(Facts(operatorLine=Line.V1_2), defaults=False)).findings
        findings = check_object(parsed, CREATE, None, ValidationSettings(facts)).findings
        refused = any(finding.level == ERROR for finding in findings)
        stages.add(answer.stage)
        agree = answer.accepted is not refused and (answer.stage == "" or answer.stage in {finding.stage for finding in findings})
        invalid = any(finding.level == ERROR and finding.stage in (SCHEMA, CEL) for finding in plain)
        if not agree or invalid is case["expect"]["accepted"]:
            wrong.append((case["id"], answer.kubectl_text, [(finding.stage, finding.message) for finding in (*plain, *findings)]))
        assert all(1 <= finding.position.line <= len(parsed.document.source.lines) for finding in plain)
    assert not wrong, (len(wrong), wrong[:5])
    assert stages == {"", DECODE, SCHEMA, CEL, POLICIES}
