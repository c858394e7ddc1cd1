"""Expressions by dice about fields of our kinds get warnings where a cluster's `status.typeChecking` has them.

POLICY_SPECS is their number (400; `make nightly` tries 2,000), LAWS_SEED the seed.
"""

from collections.abc import Iterator
from itertools import count
from random import Random
from typing import Final

import pytest

from dynamo_webhooks.admission.userrules.read import read_policy
from dynamo_webhooks.admission.userrules.schema_types import type_of_kind
from dynamo_webhooks.admission.userrules.warn import find_warnings
from dynamo_webhooks.api.crd import build as crd
from dynamo_webhooks.api.kinds import BY_NAME, GROUP
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.paths import format_path
from tests.cel.typed import FieldWriter
from tests.cluster.assets.build import KUBERNETES, USUAL
from tests.cluster.cli.test_policy_types import SEED, SPECS, Node
from tests.cluster.cli.test_user_rules import _policy as bound_policy
from tests.cluster.cli.test_user_rules import _post
from tests.cluster.definitions import install
from tests.cluster.harness import ControlPlane
from tests.cluster.planes import Planes
from tests.cluster.processes import wait_until

pytestmark = pytest.mark.skipif(KUBERNETES != USUAL, reason=f"warnings are compared with those of Kubernetes {USUAL}")
LINE: Final = Line.V1_2
KINDS: Final = ("DynamoGraphDeployment", "DynamoComponentDeployment", "DynamoGraphDeploymentRequest")
VERSION: Final = "v1beta1"
EACH: Final = 50  # expressions of a policy


@pytest.fixture(scope="module")
def plane(planes: Planes) -> Iterator[ControlPlane]:
    """An API server with some of our kinds and Kubernetes' controllers."""
    with planes.lend(managed=True) as lent:
        install(lent, *(crd(kind, versions=[VERSION], line=LINE) for kind in KINDS))
        for kind in KINDS:  # which the controller learns of a while after the API server serves it
            numbers = count()
            wait_until(lambda kind=kind, numbers=numbers: _knows(lent, kind, next(numbers)), f"{kind} being known", lent.server)  # type: ignore[misc]
        yield lent


def _knows(plane: ControlPlane, kind: str, number: int) -> bool:
    """Whether a cluster warns of a field that the kind lacks."""
    name = f"probe-{kind.lower()}-{number}"
    assert _post(plane, _policy(name, kind, ["object.nothing == 1"] * 2)).status == 201
    return bool(_online(plane, name))


def _policy(name: str, kind: str, expressions: list[str]) -> Node:
    rule = {"apiGroups": [GROUP], "apiVersions": [VERSION], "operations": ["CREATE"], "resources": [BY_NAME[kind].plural]}
    half = len(expressions) // 2
    validations: list[Node] = [{"expression": expression} for expression in expressions[:half]]
    for validation, text in zip(validations, expressions[half:], strict=False):
        validation["messageExpression"] = f"string({text})"
    return bound_policy(name, {"resourceRules": [rule]}, validations)[0]


def _online(plane: ControlPlane, name: str) -> set[str]:
    """The fields that a cluster warns of."""
    path = f"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/{name}"

    def checked() -> Node | None:
        status: Node = plane.request("GET", path).body.get("status") or {}
        return status if "observedGeneration" in status else None

    status = wait_until(checked, f"{name} being checked", plane.server)
    return {warning["fieldRef"] for warning in (status.get("typeChecking") or {}).get("expressionWarnings") or ()}


def test_warnings_by_the_schema_are_those_of_a_cluster(plane: ControlPlane) -> None:
    writer = FieldWriter(Random(SEED))  # noqa: S311 - no secret
    warned, different = 0, []
    for number in range(SPECS // EACH):
        kind = KINDS[number % len(KINDS)]
        root = type_of_kind(kind, VERSION, LINE)
        policy = _policy(f"warned-{number}", kind, [writer.about("object", root) for _ in range(EACH)])
        assert (reply := _post(plane, policy)).status == 201, reply.body
        offline = {format_path(warning.path): warning.text for warning in find_warnings(read_policy(policy, (), ""), LINE)}
        online = _online(plane, f"warned-{number}")
        warned += len(online)
        for path in online ^ offline.keys():
            index, field = int(path.split("[")[1].split("]")[0]), path.rpartition(".")[2]
            different.append((policy["spec"]["validations"][index][field], offline.get(path, "no warning offline")))
    assert different == []
    assert SPECS / 20 < warned < SPECS * 19 / 20
