"""The engine answers expressions by dice as a real API server's ValidatingAdmissionPolicies do, verdict and words."""

import re
import time
from random import Random
from typing import Any, Final

import pytest

from dynamo_webhooks.cel import EvaluationError, compile_text
from tests.cel.expressions import Writer, make_object
from tests.cluster.harness import ControlPlane

GROUP: Final = "dice.example.com"
RULES: Final = "/apis/admissionregistration.k8s.io/v1"
EACH: Final = 6  # expressions of a policy, whose warnings fit into the headers of a response
POLICIES: Final = 50
OBJECTS: Final = 4
_FAILED: Final = re.compile(r"Validation failed for ValidatingAdmissionPolicy '[^']*' with binding '[^']*': (.*)", re.DOTALL)


def _definition() -> dict[str, Any]:
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": free}}},
    }
    names = {"plural": "things", "singular": "thing", "kind": "Thing"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def _policy(name: str, texts: tuple[str, ...]) -> dict[str, Any]:
    """A policy that is asked about objects of its name only."""
    matched = {"apiGroups": [GROUP], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["things"], "resourceNames": [name]}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [matched]},
            "validations": [{"expression": text, "message": f"#{index}"} for index, text in enumerate(texts)],
        },
    }


def _binding(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Warn"]},
    }


def _expressions() -> list[tuple[str, ...]]:
    dice = Random(20261)  # noqa: S311 - no secret
    texts = dict.fromkeys(text for _ in range(9 * EACH * POLICIES) if len(text := Writer(dice, "object.spec").truth()) < 160)
    wanted = list(texts)[: EACH * POLICIES]
    return [tuple(wanted[at : at + EACH]) for at in range(0, len(wanted), EACH)]


@pytest.fixture(scope="module")
def judged(alpha: ControlPlane) -> dict[str, tuple[str, ...]]:
    """Policies by name, with those of their expressions that the API server compiles, in force."""
    assert alpha.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", _definition()).status == 201
    made: dict[str, tuple[str, ...]] = {}
    for index, written in enumerate(_expressions()):
        texts = written
        name = f"dice-{index}"
        reply = alpha.request("POST", f"{RULES}/validatingadmissionpolicies", _policy(name, texts))
        if reply.status == 422:  # some don't compile, as their types show it
            wrong = {int(each) for each in re.findall(r"validations\[(\d+)\]", str(reply.body))}
            texts = tuple(text for at, text in enumerate(texts) if at not in wrong)
            reply = alpha.request("POST", f"{RULES}/validatingadmissionpolicies", _policy(name, texts))
        assert reply.status == 201, reply.body
        assert alpha.request("POST", f"{RULES}/validatingadmissionpolicybindings", _binding(name)).status == 201
        made[name] = texts
    last = _policy("dice-last", ("false",))
    assert alpha.request("POST", f"{RULES}/validatingadmissionpolicies", last).status == 201
    assert alpha.request("POST", f"{RULES}/validatingadmissionpolicybindings", _binding("dice-last")).status == 201
    deadline = time.monotonic() + 60
    while not _server_says(alpha, "dice-last", {}):
        assert time.monotonic() < deadline
        time.sleep(0.5)
    return made


def _server_says(plane: ControlPlane, name: str, spec: dict[str, Any]) -> list[str]:
    thing = {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": {"name": name, "namespace": "default"}, "spec": spec}
    reply = plane.request("POST", f"/apis/{GROUP}/v1/namespaces/default/things?dryRun=All", thing)
    assert reply.status in (201, 404), reply.body
    return [match[1] for warning in reply.warnings if (match := _FAILED.match(warning))]


def _engine_says(texts: tuple[str, ...], spec: dict[str, Any]) -> list[str]:
    found = []
    for index, text in enumerate(texts):
        try:
            if compile_text(text, {"object"}).evaluate({"object": {"spec": spec}}) is not True:
                found.append(f"#{index}")
        except EvaluationError as error:
            found.append(f"expression '{text}' resulted in error: {error}")
    return found


def test_the_engine_answers_as_the_api_server(alpha: ControlPlane, judged: dict[str, tuple[str, ...]]) -> None:
    dice = Random(7)  # noqa: S311 - no secret
    asked = errors = 0
    different: list[tuple[str, list[str], list[str], dict[str, Any]]] = []
    for name, texts in judged.items():
        for _ in range(OBJECTS):
            spec = make_object(dice)
            server, engine = _server_says(alpha, name, spec), _engine_says(texts, spec)
            asked += len(texts)
            errors += sum("resulted in error" in each for each in server)
            if server != engine:
                different.append(
                    (name, [each for each in server if each not in engine], [each for each in engine if each not in server], spec)
                )
    assert asked > 1000
    assert errors > 100
    assert different == []
