"""Checks stored objects: in which versions they are, how large they are, what names them, and which are left before a removal."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Final

from ....api.crd import ALLOW_DATA_LOSS
from ....api.kinds import BETA, BY_NAME, GROUP, KINDS, Kind
from ....api.line import Line, decide_line
from ....api.paths import format_path, lookup
from ....api.wording import count_of, shorten
from ....conversion import kinds
from ....conversion.bounds import MAX_ANNOTATION_BYTES
from ....conversion.lens.protocol import ConversionError
from ....conversion.weight import weigh
from ....kube.errors import ApiError, ForbiddenError, NotFoundError
from ....kube.protocol import Cluster, Node
from ....kube.resources import Resource, resource_of_kind
from ....kube.storage_versions import (
    Opener,
    StorageHashes,
    compute_storage_hash,
    load_api_servers,
    read_definition,
    read_storage_hash,
    read_storage_hashes,
)
from ...installation.parts import COMPONENT
from . import repairs
from .finding import DoctorFinding, error, format_name, info, warning
from .observe import ClusterView

_MAX_PATH_CHARACTERS: Final = 700
_MAX_NAMED_OBJECTS: Final = 3  # in one finding
_MAX_LEFT_NAMES: Final = 5  # and of each kind that is left


def find_stored_resource(view: ClusterView, kind: Kind) -> Resource:
    """A kind in the version in which its objects are stored."""
    return resource_of_kind(kind.name, read_definition(view.crds[kind.plural] or {}).storage or kind.storage_version)


def check_versions(view: ClusterView) -> Iterator[DoctorFinding]:
    """The status of a definition names one version, once `migrate` has proven it."""
    for kind in map(BY_NAME.__getitem__, kinds.KINDS):
        if len(stored := read_definition(view.crds[kind.plural] or {}).stored) > 1:
            version = find_stored_resource(view, kind).version
            text = f"objects may be stored in {' and '.join(stored)}, new ones in {version}"
            yield info("stored-versions", f"CustomResourceDefinition {kind.crd_name}", text, repairs.migrate(kind, version))


async def check_servers(cluster: Cluster, opener: Opener, view: ClusterView) -> list[DoctorFinding]:
    """Each API server that can be reached stores what the definitions say. Costs one request to each, at most `MAX_API_SERVERS`."""
    try:
        addresses = await load_api_servers(cluster)
    except ForbiddenError as failed:
        return [warning("permission", "EndpointSlices of default/kubernetes", f"can't be listed: {failed.message}")]
    answers = [
        answer for answer in await asyncio.gather(*(read_storage_hash(opener, each, GROUP, BETA) for each in addresses)) if not answer.wrong
    ]
    # from outside of the cluster there is one address for all of them
    answers = answers or [answer for answer in await read_storage_hashes(opener, (), GROUP, BETA) if not answer.wrong]
    return [each for name in kinds.KINDS for each in _of_servers(view, BY_NAME[name], answers)]


def _of_servers(view: ClusterView, kind: Kind, answers: Sequence[StorageHashes]) -> Iterator[DoctorFinding]:
    version = find_stored_resource(view, kind).version
    wanted = compute_storage_hash(GROUP, version, kind.name)
    hashes = [(answer.server or "one of those behind the usual address", answer.hashes.get(kind.plural)) for answer in answers]
    if late := dict.fromkeys(server for server, stored in hashes if stored and stored != wanted):
        text = f"API server {' and '.join(late)} must store objects in {version} as the definition says, and stores them in another version"
        yield warning("stored-versions", f"CustomResourceDefinition {kind.crd_name}", text, repairs.migrate(kind, version))


async def check_contents(cluster: Cluster, view: ClusterView) -> list[DoctorFinding]:
    """Lists objects in the version in which new ones are stored, one kind after another, of which one is held at a time."""
    findings: list[DoctorFinding] = []
    line = decide_line(view.about.version, view.line)
    for kind in KINDS:
        if kind.name in kinds.KINDS:
            resource = find_stored_resource(view, kind)
            objects = await _list_all(cluster, resource, findings)
            for obj in objects:
                findings += find_long_objects(obj, kind.name, resource.version, line)
            findings += find_managed_fields(view, kind, resource.version, objects)
    return findings


async def _list_all(
    cluster: Cluster,
    resource: Resource,
    findings: list[DoctorFinding],
    *,
    forbidden: str = "permission",
    check: str = "contents",
    harm: str = "",
) -> list[Node]:
    """The objects of every namespace; adds to `findings` why they can't be listed, by the words of two checks."""
    what = f"{resource.plural} of every namespace"
    try:
        return (await cluster.list(resource)).items
    except NotFoundError:
        return []  # the kind is not served
    except ForbiddenError as failed:
        findings.append(warning(forbidden, what, f"can't be listed: {failed.message}"))
    except ApiError as failed:
        findings.append(error(check, what, f"can't be listed{harm}: {failed.message}"))
    return []


def find_long_objects(obj: Node, kind: str, version: str, line: Line) -> list[DoctorFinding]:
    """An object that the other version shows in part is a warning, one on its way there is for information."""
    metadata, what = obj["metadata"], f"{kind} {format_name(obj)}"
    try:
        weight = weigh(kinds.kind_of(kind, line), obj, version, obj)
    except ConversionError as failed:
        return [warning("sizes", what, f"can't be converted: {shorten(format_path(failed.path), _MAX_PATH_CHARACTERS)} {failed.reason}")]
    if weight is None:
        return []
    level = warning if weight.bytes > MAX_ANNOTATION_BYTES else info
    edit = f"kubectl edit -n {metadata.get('namespace', '')} {BY_NAME[kind].plural}.{version}.{GROUP}/{metadata['name']}"
    return [level("sizes", what, f"{shorten(format_path(weight.path), _MAX_PATH_CHARACTERS)}: {weight.text}", edit)]


def find_managed_fields(view: ClusterView, kind: Kind, version: str, objects: Sequence[Node]) -> Iterator[DoctorFinding]:
    """Versions in managed fields that are not served, each with the number of objects. Linear in the managed fields."""
    known = read_definition(view.crds[kind.plural] or {})
    holders: dict[str, list[Node]] = {}
    for obj in objects if known.versions else ():
        written = (str(entry.get("apiVersion") or "").partition("/") for entry in obj["metadata"].get("managedFields") or ())
        for name in {version for group, _, version in written if group == GROUP}.difference(known.served):
            holders.setdefault(name, []).append(obj)
    for name, held in sorted(holders.items()):
        ours = name != version and name in [each.name for each in kind.versions]
        repair = f"{repairs.migrate(kind, version)} --retire {name}" if ours else ""
        names = ", ".join(map(format_name, held[:_MAX_NAMED_OBJECTS]))
        text = f"metadata.managedFields of {count_of(len(held), 'object')} ({names}{', ...' if len(held) > _MAX_NAMED_OBJECTS else ''})"
        if name in known.versions:
            text += f" name {name}, which is not served: every apply of them fails once it is removed"
            yield warning("managed-fields", kind.plural, text, repair)
        else:
            text += f" must name a version that exists, and name {name}: every apply of them fails"
            yield error("managed-fields", kind.plural, text, repair)


async def check_removal(cluster: Cluster, view: ClusterView) -> list[DoctorFinding]:
    """The findings in the order in which an installation is taken down: webhooks, what would restore them, conversion; objects may stay."""
    findings: list[DoctorFinding] = []
    for kind in KINDS:
        if view.crds[kind.plural] is not None:
            findings += await _left(cluster, view, kind)
    return [*findings, *_webhooks(view), *_processes(view), *_stanzas(view)]


async def _left(cluster: Cluster, view: ClusterView, kind: Kind) -> list[DoctorFinding]:
    """Remaining objects, listed in their stored version, which needs no conversion. They may stay."""
    findings: list[DoctorFinding] = []
    harm = ", and removing the CRD deletes them"
    items = await _list_all(cluster, find_stored_resource(view, kind), findings, forbidden="objects", check="objects", harm=harm)
    if items:
        held = sum(bool(each["metadata"].get("finalizers")) for each in items)
        text = f"{len(items)} are left and may stay: {', '.join(map(format_name, items[:_MAX_LEFT_NAMES]))}"
        text += f" and {len(items) - _MAX_LEFT_NAMES} more" if len(items) > _MAX_LEFT_NAMES else ""
        text += f". To delete them, run kubectl delete {kind.plural} --all --all-namespaces before anything else"
        text += f"; the reconciler then removes the finalizers of {held}" if held else ""
        findings.append(info("objects", f"{kind.plural} of every namespace", text))
    return findings


def _webhooks(view: ClusterView) -> Iterator[DoctorFinding]:
    for kind, name in view.about.targets:
        if view.configurations.get(kind) is not None:
            text = "must be removed before the server: without a server, every write of Dynamo objects is refused"
            yield error("configurations", f"{kind} {name}", text, f"kubectl delete {kind.lower()} {name}")


def _processes(view: ClusterView) -> Iterator[DoctorFinding]:
    """The provisioner, while a definition calls us: it would switch conversion on again."""
    if not any(_calls_us(view, view.crds[kind.plural] or {}) for kind in KINDS):
        return
    for (kind, namespace, name), obj in view.parts.live.items():
        if kind == "Deployment" and obj is not None and lookup(obj, ("metadata", "labels", COMPONENT)) in ("provisioner", "reconciler"):
            text = "must be removed before conversion is switched off, which the provisioner would repair and the reconciler needs"
            yield error("processes", f"Deployment {name}", text, f"kubectl -n {namespace} delete deployment {name}")


def _calls_us(view: ClusterView, crd: Node) -> bool:
    service = lookup(crd, ("spec", "conversion", "webhook", "clientConfig", "service"))
    return (lookup(service, ("name",)), lookup(service, ("namespace",))) == (view.about.profile.service, view.namespace)


def _stanzas(view: ClusterView) -> Iterator[DoctorFinding]:
    """CRDs that call our Service for conversion; switching that off is safe where only the stored version is served."""
    for kind in KINDS:
        crd = view.crds[kind.plural] or {}
        if not _calls_us(view, crd):
            continue
        what, stored, version = (
            f"CustomResourceDefinition {kind.crd_name}",
            read_definition(crd).stored,
            find_stored_resource(view, kind).version,
        )
        if len(stored) > 1:
            text = f"objects may be stored in {' and '.join(stored)}, and must be stored in {version} before conversion is switched off"
            yield error("stored-versions", what, text, repairs.migrate(kind, version))
        text = (
            "calls our Service for conversion: once that is gone, it can't be listed, nor can a namespace be deleted that may hold objects"
        )
        yield error("conversion", what, text, repairs.patch_all("crd", kind.crd_name, list(_without_conversion(crd, version))))


def _without_conversion(crd: Node, stored: str) -> Iterator[Node]:
    """The patch of docs/install.md: the stored version alone is served, unconverted, with the word that gets it past the policy."""
    notes = lookup(crd, ("metadata", "annotations"))
    if isinstance(notes, dict) and notes:
        name = ALLOW_DATA_LOSS.replace("~", "~0").replace("/", "~1")
        yield {"op": "add", "path": f"/metadata/annotations/{name}", "value": "true"}
    else:
        yield {"op": "add", "path": "/metadata/annotations", "value": {ALLOW_DATA_LOSS: "true"}}
    for index, each in enumerate(crd["spec"].get("versions") or ()):
        if each.get("served") and each["name"] != stored:
            yield {"op": "test", "path": f"/spec/versions/{index}/name", "value": each["name"]}
            yield {"op": "replace", "path": f"/spec/versions/{index}/served", "value": False}
    yield {"op": "replace", "path": "/spec/conversion", "value": {"strategy": "None"}}
