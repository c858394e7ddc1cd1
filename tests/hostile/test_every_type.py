"""Every type of JSON at every place of every kind on every route: the answer is the client's fault or a verdict, never the server's.

The places are those of the schemas, and fields of other kinds and versions beside them, which an API server drops but a client that calls
the webhook itself may send. The objects are those of the rules' examples, so that rules, messages and conversions run over the damage.
"""

import logging
import random
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import orjson
import pytest

from dynamo_webhooks.admission.pipeline import Settings
from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.api.kinds import BETA, BY_NAME, GAMMA, GROUP
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.paths import Path
from dynamo_webhooks.api.schema import Node, load_schema, resolve
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.envelope import REQUEST
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.policies.catalogue import list_rules
from dynamo_webhooks.policies.facts import UNKNOWN, Facts
from dynamo_webhooks.webhooks.routes import CONVERT, RESTORE, ROUTES, Route
from tests.hostile.judging import SHOWN, judged
from tests.hostile.mutants import Mutant
from tests.hostile.reviews import Asked, admission, conversion
from tests.hostile.settings import REVIEWS, SEED
from tests.policies.examples import parse

VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 5, 2**40, 0.5, "", "x", "Main", [], [None], [5], ["x"], [[]], [{}], {}, {"x": None}, {"x": 5}, {"x": {}}),
    *({"name": 5}, [{"name": "main"}, {"name": "main"}], {"x": []}),
)
DEEPEST: Final = 9  # steps of a place
OPERATIONS: Final = ("CREATE", "UPDATE", "UPDATE", "DELETE")
SETTINGS: Final = (Settings(Facts(operatorLine=Line.V1_2)), Settings(Facts(operatorLine=Line.V1_6, grove=True, dra=False, lpx=UNKNOWN)))
_ADMITTED: Final = tuple(route for route in ROUTES.values() if route.purpose in (Purpose.VALIDATE, Purpose.MUTATE))


@cache
def _objects() -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The mistakes of all rules by kind and version, and each in the kind's other version."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for rule in list_rules():
        for kind in rule.kinds:
            for block in rule.bad:
                obj = parse(block, kind, rule.name).object
                name, _, version = kind.partition("/")
                found.setdefault((name, version), []).append(obj)
                if name in KINDS:
                    other = "v1alpha1" if version == "v1beta1" else "v1beta1"
                    there = convert(KINDS[name], obj, other, whole=True).object
                    found.setdefault((name, other), []).append(there)
    requests = found[REQUEST, BETA]
    found[REQUEST, GAMMA] = [{**one, "spec": {BETA: one.get("spec")}} for one in requests] + [*requests]
    found[REQUEST, BETA] += [{**one, "spec": {GAMMA: one.get("spec")}} for one in requests]
    return found


def _schema(kind: str, version: str) -> Node:
    """The schema of a version, and of v1beta1 for that which has none here."""
    return load_schema(kind, BETA if version == GAMMA else version, Line.V1_6)


@cache
def _foreign(depth: int) -> tuple[str, ...]:
    """The names of fields that some kind or version has at a depth, or one step higher."""
    names: set[str] = set()
    for kind, known in BY_NAME.items():
        for version in known.versions:
            nodes = [resolve(load_schema(kind, version.name, Line.V1_6))]
            for _ in range(depth):
                nodes = [below for node in nodes for below in _below(node)]
            names |= {name for node in nodes for name in node.get("properties") or ()}
    return tuple(sorted(names))


def _below(node: Node) -> Iterator[Node]:
    for child in (node.get("properties") or {}).values():
        yield resolve(child)
    for only in (node.get("additionalProperties"), node.get("items")):
        if isinstance(only, dict):
            yield resolve(only)


def _place(chance: random.Random, node: Node, obj: Any) -> Path:
    """A place of a schema: a field of it, of the object as it is, or of another kind."""
    path: list[str | int] = []
    for depth in range(DEEPEST):
        node = resolve(node)
        names = list(node.get("properties") or ())
        if "items" in node or isinstance(obj, list):
            step: str | int = 0 if not isinstance(obj, list) or not obj else chance.randrange(len(obj))
            node = node.get("items") or {}
        elif depth < 3 and chance.random() < 0.15:
            step, node = chance.choice(_foreign(min(depth, 2))), {}
        elif isinstance(obj, dict) and obj and chance.random() < 0.6:
            step = chance.choice(list(obj))
            node = (node.get("properties") or {}).get(step) or node.get("additionalProperties") or {}
        elif names:
            step = chance.choice(names)
            node = node["properties"][step]
        else:
            step, node = "x", node.get("additionalProperties") or {}
        path.append(step)
        node = node if isinstance(node, dict) else {}
        obj = obj.get(step) if isinstance(obj, dict) else obj[step] if isinstance(obj, list) and obj and isinstance(step, int) else None
        if chance.random() < (0.1 if depth == 0 else 0.3):
            break
    return tuple(path)


def _put(obj: Any, path: Path, value: Any) -> Any:
    """The object with a value at a place; what is missing on the way is made."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        listed = list(obj) if isinstance(obj, list) else []
        listed += [None] * (step + 1 - len(listed))
        listed[step] = _put(listed[step], rest, value)
        return listed
    members = dict(obj) if isinstance(obj, dict) else {}
    return {**members, step: _put(members.get(step), rest, value)}


def _damaged(chance: random.Random, kind: str, version: str) -> Any:
    obj: Any = chance.choice(_objects()[kind, version])
    for _ in range(chance.choice((1, 1, 2))):
        obj = _put(obj, _place(chance, _schema(kind, version), obj), chance.choice(VALUES))
    return obj


def _asked(chance: random.Random, route: Route) -> Asked:
    if route.purpose is Purpose.CONVERT:
        kind, version = chance.choice([each for each in _objects() if each[0] in KINDS])
        wanted = chance.choice(("v1alpha1", "v1beta1", "v1beta2"))
        return conversion([_damaged(chance, kind, version)], f"{GROUP}/{wanted}")
    if route.purpose is Purpose.RESTORE:
        kind, version = chance.choice(list(_objects()))
        return admission(route, {**_damaged(chance, kind, version), "apiVersion": "v1", "kind": "Pod"})
    operation = chance.choice(OPERATIONS)
    obj, old = (_damaged(chance, route.kind, route.version) for _ in range(2))
    if chance.random() < 0.5:
        old = chance.choice(_objects()[route.kind, route.version])
    return admission(route, None if operation == "DELETE" else obj, operation, None if operation == "CREATE" else old)


def test_every_type_at_every_place_is_answered_without_a_fault(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    chance = random.Random(f"{SEED}/types")  # noqa: S311 - nothing here is a secret
    routes = [*_ADMITTED, CONVERT, CONVERT, RESTORE]
    found: dict[str, str] = {}
    for index in range(REVIEWS // 8):
        asked = _asked(chance, routes[index % len(routes)])
        try:
            body = orjson.dumps(asked.review)
        except TypeError:
            continue
        if wrong := judged(asked.route, Mutant(body, whole=True), SETTINGS[index % len(SETTINGS)]):
            found.setdefault(f"{asked.route.path}: {wrong[:60]}", f"{asked.route.path}: {wrong}\n{body[:SHOWN]!r}")
    assert not found, f"{len(found)} complaints with HOSTILE_SEED={SEED}:\n" + "\n".join(list(found.values())[:10])
    assert not caplog.records, f"errors were logged with HOSTILE_SEED={SEED}"


def _filled(obj: dict[str, Any], kind: str, version: str, value: Any) -> dict[str, Any]:
    """The object with a value in every field of its spec and of its components that only other kinds have there."""
    spec = resolve(_schema(kind, version)["properties"]["spec"])
    filled = {**dict.fromkeys(set(_foreign(1)) - set(spec["properties"]), value), **(obj.get("spec") or {})}
    for name in ("services", "components"):
        if name in spec["properties"] and (within := filled.get(name)):
            own = set(next(_below(resolve(spec["properties"][name])))["properties"])
            more = dict.fromkeys({*_foreign(1), *_foreign(3)} - own, value)
            parts = within.items() if isinstance(within, dict) else enumerate(within)
            made = {step: {**more, **part} if part else part for step, part in parts}
            filled[name] = made if isinstance(within, dict) else list(made.values())
    return {**obj, "spec": filled}


@pytest.mark.parametrize("value", [5, "x", [5], {"x": 5}], ids=str)
def test_fields_of_other_kinds_may_hold_anything(value: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    found: dict[str, str] = {}
    for route in _ADMITTED:
        for obj in _objects()[route.kind, route.version][:: max(1, 20_000 // REVIEWS)]:
            asked = admission(route, _filled(obj, route.kind, route.version, value))
            if wrong := judged(route, Mutant(orjson.dumps(asked.review), whole=True), SETTINGS[0]):
                found.setdefault(f"{route.path}: {wrong[:60]}", f"{wrong}\n{obj}")
    assert not found, "\n".join(list(found.values())[:5])
    assert not caplog.records
