"""Policies by dice are accepted and refused when they're read as by an API server when they're created.

POLICY_SPECS is their number (400; `make nightly` tries 2,000), LAWS_SEED the seed.
"""

import http.client
import os
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any, Final, TypeAlias

import pytest

from dynamo_webhooks.admission.userrules.policy import PolicyError
from dynamo_webhooks.admission.userrules.read import is_policy, read_binding, read_policy
from tests.cel.calls import write_calls
from tests.cel.limits import EXPRESSIONS
from tests.cel.typed import TYPED, TypedWriter
from tests.cluster.assets.build import KUBERNETES, USUAL
from tests.cluster.harness import ControlPlane
from tests.cluster.planes import Planes

Node: TypeAlias = dict[str, Any]
SEED: Final = int(os.environ["LAWS_SEED"])
SPECS: Final = int(os.environ.get("POLICY_SPECS") or 400)
_MINOR: Final = int(USUAL.partition(".")[2])
pytestmark = pytest.mark.skipif(KUBERNETES != USUAL, reason=f"types are checked as by Kubernetes {USUAL}")
_POLICIES: Final = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
_BINDINGS: Final = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"


@pytest.fixture(scope="module")
def plane(planes: Planes) -> Iterator[ControlPlane]:
    with planes.lend() as lent:
        yield lent


def _policy(**spec: Any) -> Node:
    rule = {"apiGroups": ["nvidia.com"], "apiVersions": ["v1beta1"], "operations": ["CREATE"], "resources": ["dynamographdeployments"]}
    made = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "true"}], **spec}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "tried"},
        "spec": {key: value for key, value in made.items() if value is not None},
    }


def _online(plane: ControlPlane, policy: Node) -> str:
    """Why an API server refuses a policy; empty if it doesn't."""
    try:
        reply = plane.request("POST", f"{_POLICIES if is_policy(policy) else _BINDINGS}?dryRun=All&fieldValidation=Strict", policy)
    except http.client.RemoteDisconnected:  # after a panic, as for `[?object.spec]`
        return "no answer"
    assert reply.status in (201, 400, 422), reply.body
    return "" if reply.status == 201 else str(reply.body["message"])


def _offline(policy: Node) -> str:
    try:
        if is_policy(policy):
            read_policy(policy, (), "", _MINOR)
        else:
            read_binding(policy)
    except PolicyError as error:
        return f"{error.path}: {error.text}"
    return ""


# what may stand in a field, right and wrong
_NAMES: Final = ("a", "a.b", "A", "", "-a", "a" * 64, "a/b", "a/b/c", "x.y/z", "a b")
_RULE: Final[dict[str, tuple[Any, ...]]] = {
    "apiGroups": (["*"], ["*", "a"], [""], [], ["a", "a"]),
    "apiVersions": (["*"], ["v1", "*"], [""], []),
    "operations": (["*"], ["CREATE", "*"], ["create"], [], ["CREATE", "CREATE"]),
    "resources": (
        ["*"],
        ["*", "pods"],
        ["pods", "*"],
        ["*/*", "a"],
        ["pods/*", "pods/log"],
        ["pods/log", "pods/*"],
        ["*/log", "pods/log"],
        [""],
        [],
        *(["*", "pods/log"], ["pods", "*", "a"], ["*/*"], ["*/log", "*"]),
    ),
    "resourceNames": (["a", "a"], ["a/b"], [""], ["."], ["a%b"], ["A"]),
    "scope": ("*", "Cluster", "cluster", "Namespaced"),
}
_VALUES: Final[tuple[Node, ...]] = ({}, {"values": []}, {"values": ["a"]})
_SELECTORS: Final[tuple[Any, ...]] = (
    *({"matchLabels": {name: "a"}} for name in _NAMES),
    *({"matchLabels": {"a": name}} for name in _NAMES),
    *({"matchExpressions": [{"key": "a", "operator": word, **more}]} for word in ("In", "Exists", "exists", "NotIn") for more in _VALUES),
    {"matchExpressions": [{"key": "", "operator": "Exists"}]},
    {"matchExpressions": [{"key": "a", "operator": "In", "values": ["a b"]}]},
)
_MATCH: Final[dict[str, tuple[Any, ...]]] = {
    "matchPolicy": ("Exact", "exact", "Equivalent"),
    "namespaceSelector": _SELECTORS,
    "objectSelector": _SELECTORS,
    "excludeResourceRules": ([], [{"operations": ["CREATE"]}]),
}
_TRUE: Final = {"expression": "true"}
_SPEC: Final[dict[str, tuple[Any, ...]]] = {
    "failurePolicy": ("Fail", "Ignore", "fail"),
    "paramKind": tuple(
        {"apiVersion": version, "kind": kind}
        for version, kind in zip(
            ("v1", "a/v1", "a/b/v1", "", "/v1", "A/v1", "v1", "v1", "V1", "a/"),
            ("ConfigMap", "Kind", "K", "K", "K", "K", "", "a b", "K", "K"),
            strict=True,
        )
    ),
    "matchConditions": (
        *([{"name": name, **_TRUE}] for name in _NAMES),
        [{"name": "a", **_TRUE}] * 2,
        [{"name": f"a{n}", **_TRUE} for n in range(65)],
        [{"name": "a", "expression": "has(params.a)"}],
        [{"name": "a", "expression": "variables.a"}],
    ),
    "variables": (
        *([{"name": name, **_TRUE}] for name in (*_NAMES, "in", "namespace", "_", "a1", "1a", "true")),
        [{"name": "a", "expression": " "}],
    ),
    "validations": (
        *([{**_TRUE, "message": text}] for text in ("", " ", "a", " a\n", "a\nb", "a\rb")),
        *(
            [{**_TRUE, "messageExpression": text}]
            for text in ("", " ", "'a'", "1", "authorizer.path('a').check('get').reason()", "object.a", "null")
        ),
        *([{**_TRUE, "reason": text}] for text in ("Invalid", "Forbidden", "Conflict")),
        *(
            [{"expression": text}]
            for text in ("", " ", "1", "object.a", "params.a == 1", "authorizer.path('a').check('get').allowed()", "null")
        ),
        [],
    ),
    "auditAnnotations": (
        *([{"key": name, "valueExpression": "'a'"}] for name in _NAMES),
        *(
            [{"key": "a", "valueExpression": text}]
            for text in ("", "null", "1", "object.a", "true ? 'a' : string(object.a)", "'" + "a" * 5200 + "'")
        ),
        [{"key": "a", "valueExpression": "'a'"}] * 2,
        [{"key": f"a{n}", "valueExpression": "'a'"} for n in range(21)],
    ),
}
_BINDING: Final[dict[str, tuple[Any, ...]]] = {
    "policyName": (*_NAMES, None),
    "validationActions": (["Deny"], ["Deny", "Warn"], ["Deny", "Audit"], ["Warn", "Warn"], [], ["deny"], None),
    "paramRef": (
        *({"name": name, "parameterNotFoundAction": "Deny"} for name in _NAMES),
        *({"name": "a", "parameterNotFoundAction": action} for action in ("Allow", "", "deny")),
        *({"selector": selector, "parameterNotFoundAction": "Allow"} for selector in _SELECTORS[::3]),
        {"name": "a"},
        {"parameterNotFoundAction": "Deny"},
        {"name": "a", "selector": {}, "parameterNotFoundAction": "Deny"},
        {"selector": {}, "parameterNotFoundAction": "Deny"},
        {"name": "a", "namespace": "A b", "parameterNotFoundAction": "Deny"},
    ),
    "matchResources": ({}, *({field: value} for field, values in _MATCH.items() for value in values[::4])),
}


def _specs() -> Iterator[Node]:
    """Policies and Bindings with one field that isn't as usual."""
    rule = _policy()["spec"]["matchConstraints"]["resourceRules"][0]
    for field, values in _RULE.items():
        yield from (_policy(matchConstraints={"resourceRules": [{**rule, field: value}]}) for value in values)
    for field, values in _MATCH.items():
        yield from (_policy(matchConstraints={"resourceRules": [rule], field: value}) for value in values)
    for field, values in _SPEC.items():
        yield from (_policy(**{field: value}) for value in values)
    yield _policy(validations=None, auditAnnotations=_SPEC["auditAnnotations"][0])
    yield _policy(matchConstraints={"resourceRules": []})
    for field, values in _BINDING.items():
        for value in values:
            spec = {"policyName": "a", "validationActions": ["Deny"], field: value}
            made = _policy(**dict.fromkeys(_SPEC), matchConstraints=None, **{name: it for name, it in spec.items() if it is not None})
            yield {**made, "kind": "ValidatingAdmissionPolicyBinding"}


def _written(dice: Random, number: int) -> Iterator[Node]:
    writer, calls = TypedWriter(dice), write_calls(dice)
    for place in range(number):
        kind = place % 8
        if kind < 4:
            yield _policy(validations=[{"expression": writer.write("bool", 1 + place % 3)}])
        elif kind == 4:
            yield _policy(validations=[{"expression": "true", "messageExpression": writer.write("string", 2)}])
        elif kind == 5:
            of = dice.choice(("int", "string", "list", "map", "optional", "Quantity", "timestamp", "request", "type"))
            yield _policy(
                variables=[{"name": "a", "expression": writer.write(of, 2)}],
                validations=[{"expression": dice.choice(_ABOUT_A)}],
                auditAnnotations=[{"key": "k", "valueExpression": writer.write("string", 1)}],
            )
        elif kind == 6:
            yield _policy(matchConditions=[{"name": dice.choice(("c", "a/b", "-", "a.b/c", "")), "expression": writer.write("bool", 2)}])
        else:
            yield _policy(validations=[{"expression": f"[dyn({next(calls)})].size() == 1"}])


_ABOUT_A: Final = (
    "variables.a == 1",
    "variables.a.size() > 0",
    "variables.b == 1",
    "has(variables.a)",
    "variables.a[0] == 'x'",
    "variables == 1",
)


def _different(plane: ControlPlane, policies: Iterable[Node]) -> tuple[list[tuple[Node, str, str]], int]:
    """The policies that only one of both refuses, with what each says, and how many an API server takes."""
    different, taken = [], 0
    for policy in policies:
        online, offline = _online(plane, policy), _offline(policy)
        taken += not online
        if bool(online) != bool(offline):
            different.append((policy["spec"], online, offline))
    return different, taken


def test_policies_by_dice_are_taken_as_by_an_api_server(plane: ControlPlane) -> None:
    different, taken = _different(plane, _written(Random(SEED), SPECS))  # noqa: S311 - no secret
    assert different == []
    assert SPECS / 8 < taken < SPECS * 7 / 8


def test_known_expressions_are_taken_as_by_an_api_server(plane: ControlPlane) -> None:
    texts = [*TYPED.read_text().splitlines(), *(f"[dyn({text})].size() == 0" for text in EXPRESSIONS)]
    different, taken = _different(plane, (_policy(validations=[{"expression": text}]) for text in texts))
    assert different == []
    assert len(texts) / 3 < taken < len(texts) * 2 / 3


def test_each_field_is_taken_as_by_an_api_server(plane: ControlPlane) -> None:
    different, taken = _different(plane, _specs())
    assert different == []
    assert taken > 50
