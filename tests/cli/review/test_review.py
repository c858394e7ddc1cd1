"""`review` answers byte for byte what the server answers."""

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
from tests.cli.samples import BAD, GOOD, NEEDS_GROVE
from tests.rows import run_each

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
    assert (ran.code, ran.err) == (code, "as operator 1.6 answers\n")
    assert ran.out.encode() == answer(ROUTES[path], body.encode(), Settings(facts_from({}))).body


def test_facts_decide(command: Command, files: Files) -> None:
    files(raw=_review(NEEDS_GROVE), facts="grove: true\n")
    assert command("review", "raw").code == 1
    assert command("review", "raw", "--facts", "facts.yaml").code == 0
    assert command("review", "raw", "--set-fact", "grove=false").code == 1


def test_the_route_follows_the_object_where_the_request_names_no_kind(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(_review(BAD, kind=None).encode())))
    assert command("review", "-").json["response"]["allowed"] is False


@run_each("body", ["", "{", "[]", "null", '{"request": 5}', '{"kind": "Pod", "request": {"uid": "x"}}'])
def test_what_is_no_review_gets_the_server_s_refusal(command: Command, files: Files, body: str) -> None:
    files(raw=body)
    ran = command("review", "raw", *(() if body == "{" else ("--path", VALIDATE)))  # what is no JSON needs none
    assert ran.code == 4
    assert ran.json["kind"] == "Status"
    assert ran.err.splitlines()[-1].startswith("raw: the server would answer HTTP status 4")


@run_each(
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
