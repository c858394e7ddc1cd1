"""`review` answers byte for byte what the server answers."""

import base64
import copy
import io
import json
import sys
from typing import Any

import pytest
import yaml

from dynamo_webhooks.admission.pipeline import Settings
from dynamo_webhooks.policies.facts import facts_from
from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.routes import ROUTES
from tests.cli.conftest import Command, Files
from tests.cli.samples import BAD, BAD_RULE, GOOD, NEEDS_GROVE

VALIDATE = "/validate-nvidia-com-v1alpha1-dynamographdeployment"
MUTATE = "/mutate-nvidia-com-v1alpha1-dynamographdeployment"


def _review(text: str, **more: Any) -> str:
    obj = yaml.safe_load(text)
    group, _, version = obj["apiVersion"].partition("/")
    kind = {"group": group, "version": version, "kind": obj["kind"]}
    request = {"uid": "u-1", "operation": "CREATE", "kind": kind, "object": obj, **more}
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})


@pytest.mark.parametrize(
    ("text", "words", "path", "code"),
    [
        (GOOD, [], VALIDATE, 0),
        (BAD, [], VALIDATE, 1),
        (BAD, ["--path", VALIDATE], VALIDATE, 1),
        (GOOD.replace("      replicas: 2\n", ""), ["--mutate"], MUTATE, 0),
        (GOOD, ["--path", MUTATE], MUTATE, 0),
    ],
)
def test_the_answer_is_the_server_s(command: Command, files: Files, text: str, words: list[str], path: str, code: int) -> None:
    body = _review(text)
    files(raw=body)
    ran = command("review", "raw", *words)
    assert (ran.code, ran.err) == (code, "")
    assert ran.out.encode() == answer(ROUTES[path], body.encode(), Settings(facts_from({}))).body


def test_facts_decide(command: Command, files: Files) -> None:
    files(raw=_review(NEEDS_GROVE), facts="grove: true\n")
    assert command("review", "raw").code == 1
    assert command("review", "raw", "--facts", "facts.yaml").code == 0
    assert command("review", "raw", "--set-fact", "grove=false").code == 1


def test_the_route_follows_the_object_where_the_request_names_no_kind(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(_review(BAD, kind=None).encode())))
    assert command("review", "-").json["response"]["allowed"] is False


@pytest.mark.parametrize("body", ["", "{", "[]", "null", '{"request": 5}', '{"kind": "Pod", "request": {"uid": "x"}}'])
def test_what_is_no_review_gets_the_server_s_refusal(command: Command, files: Files, body: str) -> None:
    files(raw=body)
    ran = command("review", "raw", "--path", VALIDATE)
    assert ran.code == 4
    assert ran.json["kind"] == "Status"
    assert ran.err.startswith("raw: the server would answer HTTP status 4")


def test_what_is_no_json_needs_no_path(command: Command, files: Files) -> None:
    files(raw="{")
    assert command("review", "raw").json["message"].startswith("the body must be JSON")


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["none"], 4, "none: does not exist\n"),
        (["pod"], 2, "dynamo-webhooks review: no validating webhook answers Pod v1; name a path with --path\n"),
        (["model", "--mutate"], 2, "dynamo-webhooks review: no mutating webhook answers DynamoModel v1alpha1; name a path with --path\n"),
        (["bare"], 2, "dynamo-webhooks review: no validating webhook answers a review without request.kind; name a path with --path\n"),
        (["bare", "--path", VALIDATE[:-1]], 2, f"--path {VALIDATE[:-1]}: the server has no such path; did you mean {VALIDATE}?\n"),
        (["bare", "--path", MUTATE, "--mutate"], 2, "dynamo-webhooks review: --mutate chooses the path that --path already names\n"),
        (["bare", "--facts", "none"], 2, "dynamo-webhooks review: --facts none: does not exist\n"),
    ],
)
def test_wrong_usage_is_one_sentence(command: Command, files: Files, words: list[str], code: int, sentence: str) -> None:
    folder = files()
    (folder / "pod").write_text(_review("{apiVersion: v1, kind: Pod}", kind={"kind": "Pod", "version": "v1"}))
    (folder / "model").write_text(_review("{apiVersion: nvidia.com/v1alpha1, kind: DynamoModel}"))
    (folder / "bare").write_text('{"request": {"uid": "x"}}')
    ran = command("review", *words)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.endswith(sentence)


def test_a_conversion_review_is_answered_too(command: Command, files: Files) -> None:
    request = {"uid": "u-1", "desiredAPIVersion": "nvidia.com/v1beta1", "objects": [yaml.safe_load(GOOD)]}
    body = json.dumps({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request})
    bad = json.dumps({"request": {**request, "desiredAPIVersion": "nvidia.com/v7"}})
    files(raw_good=body, raw_bad=bad)
    ran = command("review", "raw_good")
    assert (ran.code, ran.json["response"]["convertedObjects"][0]["apiVersion"]) == (0, "nvidia.com/v1beta1")
    ran = command("review", "raw_bad")
    assert (ran.code, ran.json["response"]["result"]["status"]) == (1, "Failure")


def _explained(command: Command, *words: str) -> list[str]:
    """What is said beside an answer, which stays as it is without."""
    told, plain = command("review", "raw", *words, "--explain"), command("review", "raw", *words)
    assert (told.out, told.code, plain.err) == (plain.out, plain.code, "")
    return told.err.splitlines()


def test_a_denial_is_explained_cause_by_cause(command: Command, files: Files) -> None:
    files(raw=_review(BAD))
    head, title, why, fix = _explained(command)
    assert head.startswith("refused: spec.")
    assert head.endswith(f"[{BAD_RULE}]")
    assert title.startswith(f"  {BAD_RULE} (DYN")
    assert why.startswith("  why: ")
    assert fix.startswith("  fix: ")


def test_a_rule_that_refuses_twice_is_explained_once(command: Command, files: Files) -> None:
    obj = yaml.safe_load(BAD)
    obj["spec"]["services"] = {name: copy.deepcopy(service) for service in obj["spec"]["services"].values() for name in ("a", "b")}
    files(raw=_review(yaml.safe_dump(obj)))
    lines = _explained(command)
    assert sum(line.startswith("refused: ") and line.endswith(f"[{BAD_RULE}]") for line in lines) == 2
    assert sum(line.startswith(f"  {BAD_RULE} (") for line in lines) == 1


def test_a_patch_is_explained_as_edits(command: Command, files: Files) -> None:
    files(raw=_review(GOOD.replace("      replicas: 2\n", "")))
    lines = _explained(command, "--mutate", "--set-fact", "operatorVersion=1.2.0")
    patch = json.loads(
        base64.b64decode(command("review", "raw", "--mutate", "--set-fact", "operatorVersion=1.2.0").json["response"]["patch"])
    )
    edits = [line for line in lines if line.startswith("edit: ")]
    assert len(edits) == len(patch) > 0
    assert any(": absent becomes 1 [" in line for line in edits)
    assert all(line.startswith(("edit: ", "  mut-", "  why: ", "  fix: ")) for line in lines)


@pytest.mark.parametrize(("words", "said"), [([], "allowed"), (["--mutate"], "allowed, and nothing is changed")])
def test_what_is_allowed_says_so(command: Command, files: Files, words: list[str], said: str) -> None:
    files(raw=_review("{apiVersion: nvidia.com/v1beta1, kind: DynamoGraphDeploymentRequest, metadata: {name: r}, spec: {model: m}}"))
    assert _explained(command, *words, "--set-fact", "gpuDiscovery=true")[-1:] == [said]


def test_an_object_that_can_not_be_read_is_explained(command: Command, files: Files) -> None:
    files(raw=_review(GOOD.replace("replicas: 2", "replicas: many")))
    assert _explained(command)[0].startswith("refused: spec.services[")
    files(raw=_review(GOOD, operation="PATCH"))
    assert _explained(command) == ["refused: request.operation must be CREATE, UPDATE, DELETE or CONNECT"]


def test_a_conversion_says_what_it_keeps_aside(command: Command, files: Files) -> None:
    obj = yaml.safe_load(GOOD)
    next(iter(obj["spec"]["services"].values()))["dynamoNamespace"] = "kept"
    request = {"uid": "u-1", "desiredAPIVersion": "nvidia.com/v1beta1", "objects": [obj]}
    files(raw=json.dumps({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}))
    head, *kept = _explained(command)
    assert head == f"converted: DynamoGraphDeployment {obj['metadata']['namespace']}/{obj['metadata']['name']} to nvidia.com/v1beta1"
    assert any("nvidia.com/dgd-spec" in line and "dynamoNamespace" in line for line in kept)
    files(raw=json.dumps({"request": {**request, "desiredAPIVersion": "nvidia.com/v7"}}))
    assert _explained(command)[0].startswith("refused: 1 of 1 objects can't be converted")
    files(raw=json.dumps({"request": {**request, "objects": []}}))
    assert _explained(command) == ["converted: no object"]
