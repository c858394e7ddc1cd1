"""One object on an API server: stored in one version, read and written in both, with its field managers. No admission webhooks.

Every write is what the API server does with it: decode the stored object (schema defaults, conversion, pruning), apply or patch, schema
defaults again, keep status and spec apart, count the generation, convert to the stored version, and write if anything differs.
"""

from typing import Final, NamedTuple

import orjson

from dynamo_webhooks.api.kinds import BY_NAME, api_version
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.schema import Node, load_schema
from dynamo_webhooks.api.walk.default import default, drop_nulls
from dynamo_webhooks.api.walk.prune import prune
from dynamo_webhooks.api.walk.validate import validate
from tests.kube.storage import merged
from tests.laws.laws import version_of
from tests.laws.managers.apply import Convert, Managers, Object, Updater, Who
from tests.laws.managers.typed import InvalidError

# What the API server writes into the metadata of an object at its creation, and tells of it; conversion sees it.
OF_THE_SERVER: Final = {"uid": "00000000-0000-0000-0000-000000000001", "creationTimestamp": "2026-01-02T03:04:05Z"}
RESOURCE_VERSION: Final = "1"


class Written(NamedTuple):
    """What a write did."""

    obj: Object  # as the API server answers, in the version of the request
    changed: bool  # whether there is a new resourceVersion
    generation: bool  # whether there is a new generation
    renewed: bool = False  # nothing changed but the time of the writer's entry, which may move it among the others: a new resourceVersion


class Server:
    """Holds one object. Reads and writes are in whatever version the caller says."""

    def __init__(self, kind: str, convert: Convert, line: Line = Line.V1_2) -> None:
        """Nothing is stored yet. The definitions are those of a line."""
        self.kind = kind
        self.stored: Object | None = None
        self.managers: Managers = {}
        self._convert = convert
        self._updater = Updater(kind, self._converted, line)
        self.line, self._storage = line, BY_NAME[kind].stored(line)
        self._known: dict[tuple[Convert, str, bytes], bytes] = {}  # what was read or converted: a write asks for the same a dozen times

    def read(self, version: str) -> Object:
        """The object in a version, as a GET answers it."""
        assert self.stored is not None
        return self._once(self._read, self.stored, version)

    def _read(self, obj: Object, version: str) -> Object:
        schema = load_schema(self.kind, self._storage, self.line)
        prune(obj, schema)
        default(obj, self._defaults(self._storage))
        drop_nulls(obj, schema)
        coerced = self._coerced(obj, version)
        coerced["metadata"]["resourceVersion"] = RESOURCE_VERSION
        return coerced

    def apply(self, applied: Object, manager: str, *, force: bool = False, status: bool = False) -> Written:
        """A server-side apply; creates the object where there is none. Raises ConflictError and InvalidError, and changes nothing then."""
        version = version_of(applied)
        who = Who(manager, applies=True, subresource="status" if status else "")
        live = self._live(applied, version)
        merged, managers = self._updater.apply(live, applied, self.managers, who, force=force)
        new = live if merged is None else orjson.loads(orjson.dumps(merged))
        if merged is not None:
            default(new, self._defaults(version))
        return self._write(live, new, managers, status=status, touched=merged is not None)

    def create(self, obj: Object, manager: str) -> Written:
        """A POST."""
        version = version_of(obj)
        empty = {"apiVersion": obj["apiVersion"], "kind": self.kind}
        new = self._decoded(obj)
        managers, _ = self._updater.update(empty, new, {}, Who(manager, applies=False, version=version))
        return self._write(empty, new, managers, status=False, touched=True)

    def patch(self, version: str, patch: Object, manager: str, *, status: bool = False) -> Written:
        """A JSON merge patch."""
        live = self.read(version)
        new = self._decoded(merged(live, patch))
        who = Who(manager, applies=False, version=version, subresource="status" if status else "")
        managers, touched = self._updater.update(live, new, self.managers, who)
        return self._write(live, new, managers, status=status, touched=touched)

    def _defaults(self, version: str) -> Node:
        """The schema with all defaults: since line 1.7, those of requests are set by a webhook, as the schema did before."""
        return load_schema(self.kind, version, min(self.line, Line.V1_6))

    def _live(self, applied: Object, version: str) -> Object:
        return {"apiVersion": applied["apiVersion"], "kind": self.kind} if self.stored is None else self.read(version)

    def _decoded(self, obj: Object) -> Object:
        """An object of a request's body."""
        obj = orjson.loads(orjson.dumps(obj))
        schema = load_schema(self.kind, version_of(obj), self.line)
        prune(obj, schema)
        default(obj, self._defaults(version_of(obj)))
        drop_nulls(obj, schema)
        return obj

    def _coerced(self, obj: Object, version: str) -> Object:
        """The object converted as for storage or from it: fields and nulls that the schema doesn't know are dropped."""
        if obj["apiVersion"] != api_version(version):
            obj = self._converted(obj, version)
        obj = orjson.loads(orjson.dumps(obj))
        schema = load_schema(self.kind, version, self.line)
        prune(obj, schema)
        drop_nulls(obj, schema)
        return obj

    def _converted(self, obj: Object, version: str) -> Object:
        return self._once(self._convert, obj, version)

    def _once(self, make: Convert, obj: Object, version: str) -> Object:
        key = make, version, orjson.dumps(obj)
        if key not in self._known:
            self._known[key] = orjson.dumps(make(orjson.loads(key[2]), version))
        converted: Object = orjson.loads(self._known[key])
        return converted

    def _write(self, live: Object, new: Object, managers: Managers, *, status: bool, touched: bool) -> Written:
        """`touched`: whether the time of the writer's entry is renewed."""
        first = self.stored is None
        new = _kept_apart(live, new, status=status)
        if problems := validate(new, load_schema(self.kind, version_of(new), self.line), None if first else live):
            raise InvalidError("; ".join(f"{error.field}: {error.message}" for error in problems))
        same = new == live and managers == self.managers
        bumped = not status and not first and _but_metadata(new) != _but_metadata(live)
        generation = live["metadata"]["generation"] + bumped if not first else 1
        metadata = {name: value for name, value in new["metadata"].items() if name != "resourceVersion"}
        new = {**new, "metadata": {**metadata, **OF_THE_SERVER, "generation": generation}}
        stored = self._coerced(new, self._storage)
        changed = first or stored != self.stored or managers != self.managers or bumped or (touched and not same)
        self.stored, self.managers = stored, managers
        return Written(self.read(version_of(new)), changed, bumped, renewed=touched and not changed)


def _kept_apart(live: Object, new: Object, *, status: bool) -> Object:
    """The main endpoint can't write the status, and that of the status nothing else."""
    source, base = (new, live) if status else (live, new)
    out = {name: value for name, value in base.items() if name != "status"}
    return {**out, "status": source["status"]} if "status" in source else out


def _but_metadata(obj: Object) -> Object:
    return {name: value for name, value in obj.items() if name != "metadata"}
