"""A cluster as a run sees it: stored objects, namespaces and facts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ...api.kinds import BY_NAME, GROUP, KINDS, Kind
from ...api.line import Line
from ...api.wording import count_of
from ...kube.config import DEFAULT_NAMESPACE, find_context_namespace
from ...kube.errors import ApiError, NotFoundError
from ...kube.protocol import Cluster, Node
from ...kube.resources import NAMESPACES, resource_of_kind
from ...policies.facts import UNKNOWN, Facts, facts_from
from ..console.progress import Progress
from ..facts.gather import gather_facts
from ..installation.connection import connect_cluster
from ..rewrite.emit import emit_yaml
from ..yaml.load import InputError, Source, read_text
from .manifest import Identity, Manifest, find_manifests
from .stored import StoredObject, apply_to, store_as

MANAGER: Final = "dynamo-webhooks-check"  # how this command calls itself to an API server
_LOOK_SECONDS: Final = 0.2
SNAPSHOT_TIMEOUT_SECONDS: Final = 120  # a hundred thousand objects take half of it


class ClusterSnapshot(NamedTuple):
    """The objects read, kinds that can't be listed, and known facts in the form of a facts file; or why nothing was read."""

    items: list[Node | InputError]
    facts: Mapping[str, Any]
    unreachable: str = ""
    namespace: str = DEFAULT_NAMESPACE  # of objects that name none
    phases: Mapping[str, str] | None = None  # of the cluster's namespaces; None where they can't be listed
    later: str = ""  # that the cluster is of a later release than any that is known

    @property
    def files(self) -> list[Source | InputError]:
        """The objects as texts, each named after its object."""
        return [item if isinstance(item, InputError) else make_source(item) for item in self.items]

    def fill(self, facts: Facts) -> Facts:
        """Complete unknown facts from the cluster."""
        known = facts_from(dict(self.facts))
        told_line = facts.operatorVersion is not UNKNOWN  # a given version overrides the cluster's definitions
        missing = [name for name in self.facts if getattr(facts, name) is UNKNOWN and not (told_line and name == "operatorLine")]
        return facts._replace(**{name: getattr(known, name) for name in missing})


def snapshot_cluster(kubeconfig: str, context: str, namespace: str) -> ClusterSnapshot:
    """Asks a cluster once; an empty namespace means all. Raises: UsageError for a kubeconfig that can't be used."""

    async def take() -> ClusterSnapshot:
        async with connect_cluster(MANAGER, kubeconfig, context) as cluster:
            usual = namespace or find_context_namespace(kubeconfig, context)
            items: list[Node | InputError] = []
            reading = asyncio.create_task(take_snapshot(cluster, namespace, items))
            with Progress(lambda: f"reading the cluster: {count_of(len(items), 'object')}") as progress:
                try:
                    async with asyncio.timeout(SNAPSHOT_TIMEOUT_SECONDS):
                        while not (await asyncio.wait([reading], timeout=_LOOK_SECONDS))[0]:
                            progress.tick()
                        return (await reading)._replace(namespace=usual)
                except TimeoutError:
                    reading.cancel()
                    return ClusterSnapshot([], {}, f"the cluster can't be asked: it took longer than {SNAPSHOT_TIMEOUT_SECONDS} s")

    return asyncio.run(take())


async def take_snapshot(cluster: Cluster, namespace: str, items: list[Node | InputError]) -> ClusterSnapshot:
    """Lists the objects of every kind that the cluster serves, in a stable order, into `items`. Changes nothing there."""
    try:
        served = (await cluster.groups()).get(GROUP, frozenset())
        for kind in KINDS:
            items += await _stored(cluster, kind, served, namespace)
        gathered = await gather_facts(cluster)
        return ClusterSnapshot(items, gathered.values, phases=await _phases(cluster), later=gathered.later)
    except ApiError as error:
        return ClusterSnapshot([], {}, f"the cluster can't be asked: {error.message}")


async def _phases(cluster: Cluster) -> Mapping[str, str] | None:
    try:
        listed = (await cluster.list(NAMESPACES)).items
    except ApiError as error:
        if error.code == 0:  # no answer at all
            raise
        return None
    return {each["metadata"]["name"]: (each.get("status") or {}).get("phase", "") for each in listed} or None


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


def make_source(item: Node) -> Source:
    """An object as a text to check or compare, without its managed fields."""
    metadata = {key: value for key, value in item["metadata"].items() if key != "managedFields"}  # for servers, and long
    head = {"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": metadata}
    text = emit_yaml({**head, **{key: value for key, value in item.items() if key not in head}})
    return Source("/".join((f"cluster:{BY_NAME[item['kind']].plural}", *_order(item))), text)


def _order(item: Node) -> tuple[str, str]:
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


class StoredInCluster:
    """Finds stored objects in a cluster snapshot; reads and converts each on demand."""

    has_namespaces: Final = True

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        """Asks nothing more of the cluster."""
        self._namespace = snapshot.namespace
        self._unreachable = snapshot.unreachable
        self._unlisted = {item.name: str(item) for item in snapshot.items if isinstance(item, InputError)}
        self._items = {Identity(item["kind"], *_order(item)): item for item in snapshot.items if not isinstance(item, InputError)}

    def find_stored(self, new: Manifest, line: Line) -> StoredObject | InputError:
        """The stored object, and the result of applying the file. One that can't be read is reported, and is no error."""
        kind = new.identity.kind
        why = self._unreachable or (self._unlisted.get(f"cluster:{BY_NAME[kind].plural}", "") if kind in BY_NAME else "")
        item = self._item(new.identity)
        if item is None:
            return StoredObject(None, f"{why}, so the stored object is not known" if why else "")
        stored = store_as(_read_manifest(item), new.version, line)
        if isinstance(stored, InputError):
            return StoredObject(None, str(stored))
        return apply_to(item, stored, new)

    def stored(self, identity: Identity) -> Manifest | None:
        """The object as the cluster gave it; None where there is none."""
        item = self._item(identity)
        return None if item is None else _read_manifest(item)

    def _item(self, identity: Identity) -> Node | None:
        return self._items.get(identity if identity.namespace else identity._replace(namespace=self._namespace))


def _read_manifest(item: Node) -> Manifest:
    return next(find_manifests(document for document in read_text(make_source(item)) if not isinstance(document, InputError)))
