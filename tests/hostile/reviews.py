"""Well-formed reviews, which mutants.py damages: recorded ones, and ones around the rules' examples and generated objects."""

import gzip
import json
from collections.abc import Iterator
from functools import cache
from typing import Any, Final, NamedTuple

from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.api.kinds import BETA, BY_NAME, GAMMA, GROUP
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.envelope import PARTS, REQUEST
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.policies.catalogue import list_rules
from dynamo_webhooks.webhooks.routes import CONVERT, RESTORE, ROUTES, Route
from tests.golden.corpus import corpus_file
from tests.laws.dice import Draw
from tests.laws.strategies import make_object
from tests.policies.examples import parse

UID: Final = "7c5b7a52-9f0e-4a31-a7ad-4ba1b6d3a0c4"
_EACH: Final = 9  # every ninth recorded case: about 1,700
ADMITTED: Final = tuple(route for route in ROUTES.values() if route.purpose in (Purpose.VALIDATE, Purpose.MUTATE))
_CONVERTED: Final = tuple(
    (route.kind, route.version) for route in ADMITTED if route.purpose is Purpose.VALIDATE and len(BY_NAME[route.kind].versions) > 1
)
_OPERATIONS: Final = ("CREATE", "UPDATE", "CREATE", "UPDATE", "DELETE", "CONNECT")


class Asked(NamedTuple):
    """A review and the path that it is sent to."""

    route: Route
    review: dict[str, Any]


def admission(route: Route, obj: Any, operation: str = "CREATE", old: Any = None, **more: Any) -> Asked:
    """The review of one operation, as an API server sends it."""
    kind = {"group": GROUP, "version": route.version, "kind": route.kind}
    request: dict[str, Any] = {
        "uid": UID,
        "kind": kind,
        "name": "x",
        "namespace": "default",
        "operation": operation,
        "userInfo": {"username": "jane"},
    }
    request |= {"object": obj, "oldObject": old, "dryRun": False, **more}
    return Asked(route, {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})


def conversion(objects: list[Any], desired: str) -> Asked:
    """The review of a list, as an API server sends it."""
    request = {"uid": UID, "desiredAPIVersion": desired, "objects": objects}
    return Asked(CONVERT, {"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "request": request})


def recorded() -> Iterator[Asked]:
    """A share of the reviews that were recorded of the Go operator."""
    with gzip.open(corpus_file("golden.ndjson.gz"), "rt") as lines:
        for index, line in enumerate(lines):
            if index % _EACH:
                continue
            case = json.loads(line)
            if case["kind"] == "convert":
                yield conversion([case["object"]], case["desired"])
            elif case["path"] in ROUTES:
                review = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {**case["request"], "uid": UID}}
                yield Asked(ROUTES[case["path"]], review)


@cache
def examples() -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The mistakes of all rules by kind and version, and each in the kind's other version."""
    objects: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for rule in list_rules():
        for kind in rule.kinds:
            for block in rule.bad:
                obj = parse(block, kind, rule.name).object
                name, _, version = kind.partition("/")
                objects.setdefault((name, version), []).append(obj)
                if name in KINDS:
                    other = "v1alpha1" if version == "v1beta1" else "v1beta1"
                    there = convert(KINDS[name], obj, other, whole=True).object
                    objects.setdefault((name, other), []).append(there)
    requests = objects[REQUEST, BETA]
    objects[REQUEST, GAMMA] = [{**request, "spec": {BETA: request.get("spec")}} for request in requests] + [*requests]
    objects[REQUEST, BETA] += [{**request, "spec": {GAMMA: request.get("spec")}} for request in requests]
    return objects


def of_examples() -> Iterator[Asked]:
    """A review of each example on every route that its kind and version may come by."""
    for (kind, version), objs in examples().items():
        routes = [route for route in ADMITTED if (route.kind, route.version) == (kind, version)]
        for obj, old in zip(objs, [*objs[1:], objs[0]], strict=True):
            for route in routes:
                yield from (admission(route, obj), admission(route, obj, "UPDATE", old), admission(route, None, "DELETE", old))
            if kind in KINDS:
                yield from (conversion([obj], f"{GROUP}/{wanted}") for wanted in ("v1alpha1", "v1beta1", "v1beta2"))
            yield admission(RESTORE, {**obj, "apiVersion": "v1", "kind": "Pod"})


def generated(draw: Draw) -> Asked:
    """A review around objects that fit their types, with odd values and damaged reserved annotations among them."""
    if draw(5) < 2:
        kind, version = _CONVERTED[draw(len(_CONVERTED))]
        others = [other for name, other in _CONVERTED if name == kind and other != version]
        objects = [_made(draw, kind, version, hostile=True) for _ in range(1 + draw(3) * draw(2))]
        return conversion(objects, f"{GROUP}/{others[draw(len(others))]}")
    route = ADMITTED[draw(len(ADMITTED))]
    operation = _OPERATIONS[draw(len(_OPERATIONS))]
    obj, old = (_object(draw, route) for _ in range(2))
    return admission(route, None if operation == "DELETE" else obj, operation, None if operation == "CREATE" else old)


def _object(draw: Draw, route: Route) -> Any:
    converting = (route.kind, route.version) in _CONVERTED
    return _made(draw, route.kind, route.version, hostile=converting and draw(3) == 0)


def _made(draw: Draw, kind: str, version: str, *, hostile: bool) -> Any:
    """An object; a request now and then with what another version owns, in whole or in part."""
    obj = make_object(draw, kind, BETA if version == GAMMA else version, odd=True, hostile=hostile)
    if kind != REQUEST or (version != GAMMA and draw(4)):
        return obj
    owner = BETA if version == GAMMA else GAMMA
    for name in PARTS:
        if draw(2) and name in obj:
            obj[name] = {owner: obj[name], **({"other": 1} if draw(4) == 0 else {})}
    return {**obj, "apiVersion": f"{GROUP}/{version}"}
