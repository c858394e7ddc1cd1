"""The requests that are measured: a graph to every route of graphs, and conversions of a hundred graphs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson
import yaml

from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.conversion.remainder import reserved_keys
from dynamo_webhooks.webhooks.routes import CONVERT, route_path
from tests.webhooks.requests import review

GRAPH: Final = "DynamoGraphDeployment"
BULK: Final = 100
UID: Final = "7c5b7a52-9f0e-4a31-a7ad-4ba1b6d3a0c4"
_SAMPLE: Final = orjson.dumps(yaml.safe_load(Path(__file__).with_name("graph.yaml").read_text()))


class Request(NamedTuple):
    """One request, what a bare server is asked instead, and what its ratio to that must be."""

    what: str
    path: str
    body: bytes
    alone: bytes  # about one object
    objects: int
    goal: float


def requests() -> Iterator[Request]:
    """All that are measured."""
    goals = {"v1alpha1": (2.2, 1.9, 2.4), "v1beta1": (1.4, 1.5, 2.4)}
    for version, desired in (("v1alpha1", "v1beta1"), ("v1beta1", "v1alpha1")):
        validate, mutate, single = goals[version]
        to_validate, to_mutate = route_path(GRAPH, version, Purpose.VALIDATE), route_path(GRAPH, version, Purpose.MUTATE)
        body = creation(_written_in(version, graph()))
        yield Request(f"validate {version}", to_validate, body, body, 1, validate)
        body = creation(_written_in(version, graph(defaulted=False)))
        yield Request(f"mutate {version}", to_mutate, body, body, 1, mutate)
        single_review, list_review = (conversion(count, _in(version, graph()), desired) for count in (1, BULK))
        yield Request(f"convert {version}", CONVERT.path, single_review, single_review, 1, single)
        yield Request(f"convert {version}, one of {BULK}", CONVERT.path, list_review, single_review, BULK, 1.0)
    body = creation(_in("v1beta1", graph()))
    yield Request("validate v1beta1, with kept values", route_path(GRAPH, "v1beta1", Purpose.VALIDATE), body, body, 1, 3.2)


def _written_in(version: str, obj: dict[str, Any]) -> dict[str, Any]:
    """The graph as an author of the version writes it: without what conversion keeps for the other version."""
    made = _in(version, obj)
    for key in reserved_keys(KINDS[GRAPH]):
        made["metadata"]["annotations"].pop(key, None)
    return made


def _in(version: str, obj: dict[str, Any]) -> dict[str, Any]:
    return obj if version == "v1alpha1" else convert(KINDS[GRAPH], obj, version).object


def graph(*, defaulted: bool = True) -> dict[str, Any]:
    """The graph, made anew; without `defaulted` the fields that the mutating webhook fills are left out."""
    obj: dict[str, Any] = orjson.loads(_SAMPLE)
    if not defaulted:
        del obj["metadata"]["annotations"]["nvidia.com/dynamo-operator-origin-version"]
        for service in obj["spec"]["services"].values():
            del service["replicas"]
    return obj


def conversion(count: int, obj: dict[str, Any], desired: str) -> bytes:
    """The ConversionReview of a list of one object, each time with a name of its own."""
    made = [{**obj, "metadata": {**obj["metadata"], "name": f"vllm-disagg-{index}"}} for index in range(count)]
    request = {"uid": UID, "desiredAPIVersion": f"nvidia.com/{desired}", "objects": made}
    return orjson.dumps({"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "request": request})


def creation(obj: dict[str, Any]) -> bytes:
    """The AdmissionReview of a graph's creation, as an API server sends it."""
    group, _, version = obj["apiVersion"].partition("/")
    kind = {"group": group, "version": version, "kind": GRAPH}
    resource = {"group": group, "version": version, "resource": "dynamographdeployments"}
    user = {"username": "jane@example.com", "groups": ["system:authenticated"]}
    options = {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl-client-side-apply"}
    more = {"kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource, "userInfo": user, "options": options}
    return review(obj, uid=UID, name="vllm-disagg", namespace="llm", dryRun=False, **more)
