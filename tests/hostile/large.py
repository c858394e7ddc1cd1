"""Reviews that are large on purpose: what stopped an earlier version, and what is as long as may be."""

from typing import Any, Final

import orjson

from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.api.kinds import ALPHA, BETA, GROUP
from dynamo_webhooks.webhooks.routes import ROUTES, route_path
from tests.hostile.reviews import Asked, admission, conversion
from tests.hostile.shapes import GRAPH, Fields, named, obj

VALIDATE: Final = route_path(GRAPH, ALPHA, Purpose.VALIDATE)


def _review(purpose: Purpose, version: str, spec: Fields, old: Fields | None = None) -> Asked:
    route, made = ROUTES[route_path(GRAPH, version, purpose)], obj(GRAPH, spec, version)
    return admission(route, made) if old is None else admission(route, made, "UPDATE", obj(GRAPH, old, version))


def _of_each(count: int, service: Fields) -> Fields:
    return {"services": {f"w{number}": service for number in range(count)}}


def shapes() -> list[tuple[str, bytes]]:
    """Where each is posted, and its body."""
    components = named(30_000, "w{}")
    broken: list[Any] = [{**each, "experimental": {"failover": {}}} for each in components[:25]]
    mounts, small = (_of_each(20, {"volumeMounts": [{}] * count}) for count in (6_000, 450))
    unknown = {f"field{number}": number for number in range(60_000)}
    many = _of_each(20_000, {"replicas": 1, "envs": [{"name": "A", "value": "b"}]})
    cases = [
        _review(Purpose.MUTATE, BETA, {"components": components}),
        _review(Purpose.VALIDATE, BETA, {"components": broken}),
        _review(Purpose.VALIDATE, ALPHA, _of_each(4_000, {"replicas": -1})),
        _review(Purpose.VALIDATE, ALPHA, mounts, mounts),
        _review(Purpose.MUTATE, ALPHA, {"services": {}, **unknown}),
        _review(Purpose.VALIDATE, ALPHA, small),  # short enough for the event loop
        conversion([obj(GRAPH, many)], f"{GROUP}/{BETA}"),
    ]
    deep = b'{"request":{"uid":"h","desiredAPIVersion":"nvidia.com/v1beta1","objects":[' + b"{}," * 2_000_000 + b"{}]}}"
    return [*((case.route.path, orjson.dumps(case.review)) for case in cases), ("/convert", deep)]
