"""The stored objects of a cluster: as texts to check, each named after its object, and as what files are applied to; and its facts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from ...api.kinds import BY_NAME, GROUP, KINDS, Kind
from ...api.line import Line
from ...api.schema import Node as Schema
from ...api.schema import resolve, whole_schema
from ...api.shape import child, item_key, keyed_items
from ...conversion.difference import DEPTH
from ...kube.errors import ApiError, NotFoundError
from ...kube.protocol import Cluster, Node
from ...kube.resources import resource_of_kind
from ...policies.facts import UNKNOWN, Facts, facts_from
from ...policies.review import Fields
from ..facts.gather import gather_facts
from ..installation.connection import connect_cluster
from ..rewrite.emit import emit_yaml
from ..yaml.load import InputError, Source, read_text
from .manifest import Identity, Manifest, find_manifests
from .stored import Previous, store_as

MANAGER: Final = "dynamo-webhooks-check"  # how this command calls itself to an API server
PATIENCE: Final = 120  # seconds for everything that is asked; a hundred thousand objects take half of it
USUAL_NAMESPACE: Final = "default"


class Sight(NamedTuple):
    """The objects read, kinds that can't be listed, and known facts in the form of a facts file; or why nothing was read."""

    items: list[Node | InputError]
    facts: Mapping[str, Any]
    unreachable: str = ""

    @property
    def files(self) -> list[Source | InputError]:
        """The objects as texts, each named after its object."""
        return [one if isinstance(one, InputError) else source(one) for one in self.items]

    def fill(self, facts: Facts) -> Facts:
        """Complete unknown facts from the cluster."""
        told = facts_from(dict(self.facts))
        told_line = facts.operatorVersion is not UNKNOWN  # a given version overrides the cluster's definitions
        missing = [name for name in self.facts if getattr(facts, name) is UNKNOWN and not (told_line and name == "operatorLine")]
        return facts._replace(**{name: getattr(told, name) for name in missing})


def snapshot_cluster(kubeconfig: str, context: str, namespace: str) -> Sight:
    """Asks a cluster once; an empty namespace means all. Raises: UsageError for a kubeconfig that can't be used."""

    async def look() -> Sight:
        async with connect_cluster(MANAGER, kubeconfig, context) as cluster:
            try:
                async with asyncio.timeout(PATIENCE):
                    return await see(cluster, namespace)
            except TimeoutError:
                return Sight([], {}, f"the cluster can't be asked: it took longer than {PATIENCE} s")

    return asyncio.run(look())


async def see(cluster: Cluster, namespace: str) -> Sight:
    """Lists the objects of every kind that the cluster serves, in a stable order. Changes nothing there."""
    try:
        served = (await cluster.groups()).get(GROUP, frozenset())
        items = [one for kind in KINDS for one in await _stored(cluster, kind, served, namespace)]
        return Sight(items, (await gather_facts(cluster)).values)
    except ApiError as error:
        return Sight([], {}, f"the cluster can't be asked: {error.message}")


async def _stored(cluster: Cluster, kind: Kind, served: frozenset[str], namespace: str) -> list[Node | InputError]:
    """The objects of a kind, in the version that etcd keeps, which needs no conversion; in another one where that is not served."""
    others = [version.name for version in kind.versions if not version.storage]
    for version in (kind.storage_version, *others):
        if version not in served:
            continue
        try:
            listing = await cluster.list(resource_of_kind(kind.name, version), namespace)
        except NotFoundError:  # the version is that of other kinds
            continue
        except ApiError as error:
            if error.code == 0:  # no answer at all
                raise
            return [InputError(f"can't be listed: {error.message}", f"cluster:{kind.plural}")]
        return [*sorted(listing.items, key=_order)]
    return []


def source(item: Node) -> Source:
    """An object as a text to check or compare, without its managed fields."""
    metadata = {key: value for key, value in item["metadata"].items() if key != "managedFields"}  # for servers, and long
    head = {"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": metadata}
    text = emit_yaml({**head, **{key: value for key, value in item.items() if key not in head}})
    return Source("/".join((f"cluster:{BY_NAME[item['kind']].plural}", *_order(item))), text)


def _order(item: Node) -> tuple[str, str]:
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


class Live:
    """Finds stored objects in a cluster snapshot; reads and converts each on demand."""

    placed: Final = True

    def __init__(self, sight: Sight, namespace: str) -> None:
        """`namespace` is that of objects that name none."""
        self._namespace = namespace or USUAL_NAMESPACE
        self._unreachable = sight.unreachable
        self._unlisted = {one.name: str(one) for one in sight.items if isinstance(one, InputError)}
        self._items = {Identity(one["kind"], *_order(one)): one for one in sight.items if not isinstance(one, InputError)}

    def past(self, new: Manifest, line: Line) -> Previous | InputError:
        """The stored object, and the result of applying the file. One that can't be read is reported, and is no error."""
        kind = new.identity.kind
        why = self._unreachable or (self._unlisted.get(f"cluster:{BY_NAME[kind].plural}", "") if kind in BY_NAME else "")
        item = self._item(new.identity)
        if item is None:
            return Previous(None, f"{why}, so the stored object is not known" if why else "")
        stored = store_as(_found(item), new.version, line)
        if isinstance(stored, InputError):
            return Previous(None, str(stored))
        return Previous(stored, applied=simulate_apply(new.data, stored, item, kind))

    def stored(self, identity: Identity) -> Manifest | None:
        """The object as the cluster gave it; None where there is none."""
        item = self._item(identity)
        return None if item is None else _found(item)

    def _item(self, identity: Identity) -> Node | None:
        return self._items.get(identity if identity.namespace else identity._replace(namespace=self._namespace))


def _found(item: Node) -> Manifest:
    return next(find_manifests(one for one in read_text(source(item)) if not isinstance(one, InputError)))


Owned: TypeAlias = "dict[str, Owned]"  # fields, and items of lists by `item_key`; empty: the whole value

LAST: Final = "kubectl.kubernetes.io/last-applied-configuration"
_ITSELF: Final = "\0"  # among owned fields, none of which can have this name: the value as a whole
_KUBECTL: Final = "kubectl"  # as `kubectl apply --server-side` calls itself
_SERVERS: Final = frozenset({"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"})


def simulate_apply(file: Fields, stored: Fields, held: Fields, kind: str) -> Fields:
    """The result of `kubectl apply`; `stored` is the object in the file's version, `held` as the cluster gave it, with its managed fields.

    A client-side apply merges maps, replaces lists, and removes what the annotation says was applied before and the file omits. A
    server-side apply merges lists by their keys, and removes fields that only its manager applied before in the same version and the file
    omits. Cost is linear in both objects; values below DEPTH are replaced as a whole.
    """
    version = str(file.get("apiVersion"))
    asked = {**file, "status": stored.get("status")}
    if isinstance(metadata := file.get("metadata"), dict):  # of an exported file: what only a server writes is not applied
        asked["metadata"] = {name: value for name, value in metadata.items() if name not in _SERVERS}
    last, (appliers, others) = _last(held), _managers(held)
    if appliers and (last is None or _KUBECTL in {one.get("manager") for one in appliers}):
        node = whole_schema(kind, version.partition("/")[2])
        merged = _merged(stored, asked, _At(_owned(appliers, version), _owned(others, version), node))
    else:
        metadata = asked.get("metadata")
        if isinstance(metadata, dict) and metadata.get("annotations") is None:  # kubectl sends some, even if the file has none
            asked["metadata"] = {**metadata, "annotations": {}}
        merged = _patched(stored, asked, last or {}, 0)
    return {name: value for name, value in merged.items() if value is not None}


def _last(held: Fields) -> Fields | None:
    """What `kubectl apply` applied last, in whichever version; None where its annotation is missing or can't be used."""
    text = ((held.get("metadata") or {}).get("annotations") or {}).get(LAST)
    try:
        last = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
    return last if isinstance(last, dict) else None


def _patched(stored: Fields, file: Fields, last: Fields, depth: int) -> Fields:
    """The result of kubectl's three-way merge patch."""
    out: Fields = {}
    for name, old in stored.items():
        if name not in file:
            if name not in last:
                out[name] = old
        elif (new := file[name]) is None:
            if name in last and last[name] is None:  # a null that was applied before is no change
                out[name] = old
        elif isinstance(old, dict) and isinstance(new, dict) and depth < DEPTH:
            before = last.get(name)
            out[name] = _patched(old, new, before if isinstance(before, dict) else {}, depth + 1)
        else:
            out[name] = new
    return out | {name: value for name, value in file.items() if name not in stored and value is not None}


def _managers(held: Fields) -> tuple[list[Fields], list[Fields]]:
    """The entries of managers that apply, of kubectl alone if it is one of them, and those of all others."""
    entries = (held.get("metadata") or {}).get("managedFields")
    found = [one for one in (entries if isinstance(entries, list) else ()) if isinstance(one, dict) and not one.get("subresource")]
    appliers = [one for one in found if one.get("operation") == "Apply"]
    appliers = [one for one in appliers if one.get("manager") == _KUBECTL] or appliers
    return appliers, [one for one in found if one not in appliers]


def _owned(entries: Iterable[Fields], version: str) -> Owned:
    """What managers own in a version, all of them together."""
    owned: Owned = {}
    for entry in entries:
        if entry.get("apiVersion") == version:
            _add(owned, entry.get("fieldsV1"), 0)
    return owned


def _add(owned: Owned, fields: Any, depth: int) -> None:
    if not isinstance(fields, dict) or depth >= DEPTH:
        return
    for name, below in fields.items():
        what, _, rest = name.partition(":")
        if what == "f":
            _add(owned.setdefault(rest, {}), below, depth + 1)
        elif what == "k":
            _add(owned.setdefault(item_key(json.loads(rest)), {}), below, depth + 1)
        elif name == ".":
            owned[_ITSELF] = {}


class _At(NamedTuple):
    """A place in a server-side apply: what the applying manager owned there, what others own, and the schema."""

    ours: Owned | None
    others: Owned | None
    node: Schema | None
    depth: int = 0

    def below(self, step: str | int, key: str | None = None) -> _At:
        """The place of a field, or of the item of a list with a key."""
        name = str(step) if key is None else key
        node = child(self.node, step).node
        return _At((self.ours or {}).get(name), (self.others or {}).get(name), node, self.depth + 1)


def _merged(stored: Any, file: Any, at: _At) -> Any:
    """A stored value with the applied one."""
    if at.depth >= DEPTH:
        return file
    if isinstance(stored, dict) and isinstance(file, dict):
        if resolve(at.node or {}).get("x-kubernetes-map-type") == "atomic":
            return file
        out = {}
        for name, old in stored.items():
            below = at.below(name)
            value = _merged(old, file[name], below) if name in file else _left(old, below)
            if value is not None:
                out[name] = value
        return out | {name: value for name, value in file.items() if name not in stored}
    olds, news = keyed_items(stored, at.node), keyed_items(file, at.node)
    if olds is None or news is None:
        return file
    made = [_merged(olds[key], new, at.below(0, key)) if key in olds else new for key, new in news.items()]
    kept = (_left(old, at.below(0, key)) for key, old in olds.items() if key not in news)
    return [*made, *(item for item in kept if item is not None)]


def _left(old: Any, at: _At) -> Any:
    """What stays of a value that the file leaves out; None for nothing."""
    if at.ours is None:
        return old
    if not at.ours or _ITSELF in at.ours:
        return _of_others(old, at)
    return _each(old, at, _left)


def _of_others(old: Any, at: _At) -> Any:
    """What other managers own of a value; None for nothing."""
    if at.others is None:
        return None
    return _each(old, at, _of_others) if at.others else old


def _each(old: Any, at: _At, part: Callable[[Any, _At], Any]) -> Any:
    """A value with a part of each of its fields or items; None where none has any."""
    if at.depth >= DEPTH:
        return None
    if isinstance(old, dict):
        fields = {name: value for name, below in old.items() if (value := part(below, at.below(name))) is not None}
        return fields or None
    items = keyed_items(old, at.node)
    parts = [value for key, item in (items or {}).items() if (value := part(item, at.below(0, key))) is not None]
    return parts or None
