"""What the way there proves of the way back holds: a conversion that relies on it gives the same bytes as a thorough one, which doesn't.

And a view, which has no way back at all, says what a conversion says.

Tried on dice's objects (a tenth of LAWS_OBJECTS, see conftest.py), on edits of their conversions, on what comes home of those, and on
values of wrong types; on all recorded conversions of the Go operator; and on a component with everything that a proof looks at, varied.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import reduce
from operator import getitem
from typing import Any

import orjson
import pytest

from dynamo_webhooks.conversion.engine import convert, viewed
from dynamo_webhooks.conversion.kind import LEFT, RIGHT
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.conversion.lens.proofs import Proofs
from tests.bench.requests import graph
from tests.golden.corpus import cases
from tests.laws.conftest import OBJECTS, SEED
from tests.laws.dice import Dice
from tests.laws.examples import COUNTEREXAMPLES
from tests.laws.laws import other, version_of
from tests.laws.strategies import PAIRS, edit, make_object, wild

Object = dict[str, Any]
IDS = [f"{kind}-{version}" for kind, version in PAIRS]


def answer(obj: Object, *, thorough: bool) -> tuple[bytes, Object | None]:
    """What converting an object to its other version gives, as bytes and as an object; the complaint where it is refused."""
    try:
        done = convert(KINDS[obj["kind"]], obj, other(version_of(obj)), thorough=thorough)
    except Exception as error:  # noqa: BLE001 - a refusal must be the same one, too
        return repr(error).encode(), None
    return orjson.dumps([done.object, done.damaged], option=orjson.OPT_SORT_KEYS), done.object


def check(obj: Object) -> Object | None:
    """Converts both ways of working, compares, and gives the converted object."""
    before = copy.deepcopy(obj)
    trusting, converted = answer(obj, thorough=False)
    assert trusting == answer(obj, thorough=True)[0], obj
    assert view(obj) == (trusting if converted is None else said(converted)), obj
    assert obj == before
    return converted


def view(obj: Object) -> bytes:
    """What rules get to see of an object, but for its annotations; the complaint where it is refused."""
    try:
        return said(viewed(KINDS[obj["kind"]], obj, other(version_of(obj))))
    except Exception as error:  # noqa: BLE001 - a refusal must be the same one, too
        return repr(error).encode()


def said(converted: Object) -> bytes:
    """All of an object but what its metadata keep."""
    heads = {name: value for name, value in (converted.get("metadata") or {}).items() if name != "annotations"}
    return orjson.dumps({**converted, "metadata": heads}, option=orjson.OPT_SORT_KEYS)


def journey(obj: Object) -> Object | None:
    """There and home again, compared each time; gives the converted object."""
    converted = check(obj)
    if converted is not None:
        check(converted)
    return converted


@pytest.mark.parametrize(("kind", "version"), PAIRS, ids=IDS)
def test_generated_objects(kind: str, version: str) -> None:
    """Plain, odd and hostile ones, edits beside a stale remainder, and wrong types."""
    for number in range(OBJECTS // 10):
        dice = Dice(SEED, "proofs", kind, version, number)
        odd, hostile = number % 4 == 2, number % 4 == 3
        obj = make_object(dice, kind, version, odd=odd, hostile=hostile)
        converted = journey(obj)
        if converted is not None and (home := check(edit(dice, converted, odd=odd))) is not None:
            journey(home)
        journey(wild(dice, obj))


@pytest.mark.golden
def test_recorded_objects() -> None:
    """Every object that the Go operator was seen to convert."""
    for case in cases("golden.ndjson.gz", "convert"):
        if case["object"].get("kind") in KINDS:
            journey(case["object"])


@pytest.mark.parametrize("number", range(len(COUNTEREXAMPLES)))
def test_found_counterexamples(number: int) -> None:
    """What once broke a law."""
    for obj in COUNTEREXAMPLES[number]:
        if obj is not None:
            journey(obj)


# What stands in the place of a value: what proofs must tell from it, although it may equal or resemble it.
ODD: list[Any] = [None, "", 0, 1, True, False, [], {}, [None], [{}], "main", {"name": "main"}, "0", "1000m", {"": None}]

# What is put beside what is there: unknown members, and those that the other half of a pair, or another form, has the say in.
ADDED: dict[str, Any] = {
    "unknown": 1,
    "name": "x",
    "claims": [{"name": 1}],
    "custom": {"cpu": "1", "gpu": "2"},
    "gpuType": "example.com/gpu",
    "containers": [None, {"name": "sidecar-frontend"}, {"name": "main"}],
    "resources": {"limits": {"cpu": "1000m", "gpu": "1"}, "requests": {}},
    "mainContainer": {"name": "main", "image": "j"},
    "env": [{"name": "A", "value": "9"}, None],
    "envFrom": [{"secretRef": {"name": "secret"}}, None],
    "volumeMounts": [{"name": "cache", "mountPath": "/c", "readOnly": True}, {"name": "cache", "mountPath": "/c"}],
    "useAsCompilationCache": True,
    "frontendSidecar": {"image": "f"},
    "compilationCache": {"pvcName": "cache"},
    "livenessProbe": {"periodSeconds": 5, "failureThreshold": None},
}


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values, outermost first."""
    if path:
        yield path
    if type(value) is dict:
        for key in value:
            yield from _places(value[key], (*path, key))
    if type(value) is list:
        for index, item in enumerate(value):
            yield from _places(item, (*path, index))


def _component() -> Object:
    """A service that uses everything that is vouched for."""
    probe = {"httpGet": {"path": "/live", "port": 9090}, "periodSeconds": 5}
    main = {"image": "i", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], "readinessProbe": {"periodSeconds": 7}}
    return {
        "componentType": "worker",
        "subComponentType": "prefill",
        "replicas": 2,
        "serviceName": "old",
        "labels": {"a": "b"},
        "envs": [{"name": "B", "value": "3"}],
        "envFromSecret": "secret",
        "resources": {"limits": {"cpu": "2", "gpu": "1", "custom": {"example.com/nic": "1"}}, "requests": {"memory": "1Gi"}},
        "volumeMounts": [{"name": "cache", "mountPoint": "/c"}, {"name": "cache", "mountPoint": "/d"}],
        "livenessProbe": probe,
        "readinessProbe": probe,
        "extraPodMetadata": {"labels": {"l": "1"}, "annotations": {"n": "2"}},
        "extraPodSpec": {"nodeSelector": {"zone": "a"}, "mainContainer": main},
        "sharedMemory": {"size": "1Gi"},
        "scalingAdapter": {"enabled": True},
    }


def _status() -> Object:
    replicas = {"componentKind": "PodClique", "componentNames": ["a", "b"], "componentName": "b", "replicas": 1, "readyReplicas": 1}
    return {"state": "successful", "conditions": [{"type": "Ready"}], "services": {"Worker": replicas}}


def _bodies() -> list[Object]:
    """A graph and a component deployment of that component, in both versions, with and without what they remember."""
    base: Object = {"apiVersion": f"nvidia.com/{LEFT}", "metadata": {"name": "n"}}
    one: Object = {
        **base,
        "kind": "DynamoGraphDeployment",
        "spec": {"services": {"Worker": _component(), "": {"extraPodSpec": {"nodeSelector": {"zone": "b"}, "hostNetwork": True}}}},
        "status": _status(),
    }
    other_one: Object = {**base, "kind": "DynamoComponentDeployment", "spec": {**_component(), "backendFramework": "vllm"}}
    found: list[Object] = []
    for obj in (one, other_one):
        converted = convert(KINDS[obj["kind"]], obj, RIGHT).object
        found += [obj, converted, {**converted, "metadata": {"name": "n"}}]
    return found


def _varied(obj: Object, path: tuple[Any, ...], value: Any) -> Object:
    """The object with another value at a path; `...` takes what is there away."""
    out = copy.deepcopy(obj)
    node = out
    for step in path[:-1]:
        node = node[step]
    if value is not ...:
        node[path[-1]] = value
    else:
        del node[path[-1]]
    return out


@pytest.mark.parametrize("number", range(6))
def test_every_value_of_a_plain_component_varied(number: int) -> None:
    """Each place of it taken away, or holding something odd; one place at a time, and something unknown or odd beside what is there."""
    obj = _bodies()[number]
    journey(obj)

    def at(path: tuple[Any, ...]) -> Any:
        return reduce(getitem, path, obj)

    for path in _places({part: obj[part] for part in ("spec", "status") if part in obj}):
        for value in (*ODD, ...):
            journey(_varied(obj, path, value))
        if type(at(path)) is dict:
            for name, added in ADDED.items():
                journey(_varied(obj, (*path, name), added))


def test_most_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise this file would compare a thorough conversion with itself."""
    proven: list[Object] = []
    honest = Proofs.add

    def add(self: Proofs, made: Object, origin: Object) -> None:
        proven.append(origin)
        honest(self, made, origin)

    monkeypatch.setattr(Proofs, "add", add)
    for obj in (*_bodies(), graph()):
        if obj["apiVersion"].endswith(LEFT):
            proven.clear()
            check(obj)
            assert any(origin is obj["spec"] for origin in proven)
