"""Objects to be written, from everywhere: examples of the rules, recorded requests, recorded schema cases, dice. Who is asked about them,
and what must come of it, is each test's business."""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from dynamo_webhooks.api.kinds import ALPHA, BETA, BY_NAME, GROUP, list_kind_versions
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.policies.catalogue import list_declared
from dynamo_webhooks.policies.review import CREATE, DELETE, UPDATE
from tests.cluster.generated import Dice
from tests.golden.corpus import cases
from tests.laws.laws import away
from tests.policies.examples import parse

Node: TypeAlias = dict[str, Any]
# What an author writes of metadata; the rest is the API server's own, which it sets or resets in every write.
_AUTHORS: Final = frozenset({"name", "namespace", "labels", "annotations", "finalizers", "ownerReferences"})
SEED: Final = "2026-11-22"


class Write(NamedTuple):
    """One dry-run write: an update where there is a stored object of that name."""

    name: str  # of the case, for people
    object: Node
    old: Node | None = None
    user: str = "jane"
    version: str = ""  # of the stored object, as an update has to name it

    @property
    def body(self) -> Node:
        """What is sent."""
        version = {"resourceVersion": self.version} if self.version else {}
        return {**self.object, "metadata": {**self.object["metadata"], **version}}

    @property
    def path(self) -> str:
        """Where it is posted or put."""
        metadata, kind = self.object["metadata"], BY_NAME[self.object["kind"]]
        collection = f"/apis/{self.object['apiVersion']}/namespaces/{metadata['namespace']}/{kind.plural}"
        return collection if self.old is None else f"{collection}/{metadata['name']}"


def examples() -> Iterator[Write]:
    """The Good and Bad examples of every rule and default, in the version that the rule reads and in the other one."""
    for rule in list_declared():
        blocks = [(which, number, block) for which in ("good", "bad") for number, block in enumerate(getattr(rule, which))]
        for which, number, block in blocks:
            example = parse(block, rule.kinds[0], rule.name)
            review = example.review()
            if review.operation == DELETE:
                continue
            name, version = example.kind.split("/")
            own = {"apiVersion": f"{GROUP}/{version}", "kind": name}
            obj, old = {**review.object, **own}, None if review.old is None else {**review.old, **own}
            write = Write(f"{rule.name} {which} {number}", obj, old, review.user)
            yield write
            yield from _across(write)


def _across(write: Write) -> Iterator[Write]:
    """The same write in the kind's other version, without what only conversion would have written."""
    if len(BY_NAME[write.object["kind"]].versions) < 2:
        return
    try:
        obj = away(write.object)
        old = None if write.old is None else away(write.old)
    except ConversionError:
        return
    yield Write(f"{write.name} in the other version", obj, old, write.user)


def recorded(step: int) -> Iterator[Write]:
    """Each `step`th of the different admission requests of the corpus."""
    seen: set[str] = set()
    for case in cases("golden.ndjson.gz", "admit"):
        request = case["request"]
        obj, old = request.get("object"), request.get("oldObject") if request["operation"] == UPDATE else None
        user = (request.get("userInfo") or {}).get("username") or "jane"
        if request["operation"] not in (CREATE, UPDATE) or not _is_ours(obj) or (request["operation"] == UPDATE and not _is_ours(old)):
            continue
        key = json.dumps([obj, old, user], sort_keys=True)
        if key in seen:
            continue
        seen.add(key)
        if len(seen) % step == 0:
            yield Write(f"recorded {case['id']}", obj, old, user)


def schema_cases(step: int) -> Iterator[Write]:
    """Each `step`th of the recorded schema cases."""
    for number, case in enumerate(cases("schema.ndjson.gz", "schema")):
        if number % step == 0:
            yield Write(f"schema {case['id']}", case["object"])


def generated(many: int, line: Line = Line.V1_2) -> Iterator[Write]:
    """So many objects of each kind and version of a line made from the schema, and as many damaged ones."""
    for kind, version in list_kind_versions(line):
        dice = Dice(f"{SEED} {kind} {version}")
        for number in range(many):
            obj = dice.object(kind, version, number, line)
            yield Write(f"generated {kind} {version} {number}", obj)
            yield Write(f"damaged {kind} {version} {number}", dice.damaged(obj))


def _is_ours(obj: object) -> bool:
    if not isinstance(obj, dict):
        return False
    group, _, version = str(obj.get("apiVersion")).partition("/")
    return group == GROUP and version in (ALPHA, BETA) and obj.get("kind") in BY_NAME and BY_NAME[obj["kind"]].has(version)


def placed(write: Write, namespace: str, name: Callable[[Node], str]) -> Write:
    """The write in a namespace, under the name that is chosen for it, with the metadata that an author writes."""
    old = None if write.old is None else _placed(write.old, namespace, name)
    return write._replace(object=_placed(write.object, namespace, name), old=old)


def _placed(obj: Node, namespace: str, name: Callable[[Node], str]) -> Node:
    obj = copy.deepcopy(obj)
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        metadata = {}
    kept = {key: value for key, value in metadata.items() if key in _AUTHORS}
    obj["metadata"] = {**kept, "namespace": namespace, "name": name(metadata)}
    return obj
