"""The objects that an installation consists of: those of its Helm release, else those that were applied, else those of our overlays."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.resources import files
from typing import Any, Final, TypeAlias

from ...api.crd import SERVICE
from ...api.paths import lookup
from ...certs.installation import Installation
from ...certs.state import Mode
from ...kube import resources
from ...kube.errors import ForbiddenError
from ...kube.protocol import Cluster, Node
from ...kube.resources import DEPLOYMENTS, SECRETS, Resource

Key: TypeAlias = tuple[str, str, str]  # kind, namespace (empty for the cluster's) and name
RESOURCES: Final[Mapping[str, Resource]] = {
    each.kind: each
    for each in (
        resources.SERVICE_ACCOUNTS,
        resources.ROLES,
        resources.ROLE_BINDINGS,
        resources.CLUSTER_ROLES,
        resources.CLUSTER_ROLE_BINDINGS,
        resources.CONFIG_MAPS,
        resources.SERVICES,
        resources.DEPLOYMENTS,
        resources.DISRUPTION_BUDGETS,
        resources.NETWORK_POLICIES,
        resources.MUTATING,
        resources.VALIDATING,
        resources.POLICIES,
        resources.POLICY_BINDINGS,
    )
}
APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
RELEASE: Final = "meta.helm.sh/release-name"
RELEASE_NAMESPACE: Final = "meta.helm.sh/release-namespace"
COMPONENT: Final = "app.kubernetes.io/component"
_MAX_CONCURRENT_REQUESTS: Final = 8
_USUAL: Final = ("dynamo-system", "dynamo-restricted", "webhook-server-cert")  # names in the overlays, which an installation may change
_RECONCILING: Final = frozenset({"reconciler", "planner", "epp"})  # components that nothing but a reconciler needs
_SCHEDULING: Final = ("imagePullSecrets", "nodeSelector", "tolerations", "priorityClassName")


class Installer(StrEnum):
    """The tool that writes the objects of an installation."""

    HELM = "helm"
    CLIENT_SIDE = "kubectl apply"
    SERVER_SIDE = "kubectl apply --server-side"
    OTHER = "kubectl create"


_WRITING: Final = {
    Installer.HELM: "kubectl create -f -",
    Installer.CLIENT_SIDE: "kubectl apply -f -",
    Installer.SERVER_SIDE: "kubectl apply --server-side -f -",
    Installer.OTHER: "kubectl create -f -",
}


@dataclass(frozen=True, slots=True)
class InstalledObjects:
    """The wanted objects of an installation, and their live state."""

    namespace: str = ""
    installer: Installer = Installer.OTHER
    release: str = ""
    wanted: Mapping[Key, Node] = field(default_factory=dict)
    live: Mapping[Key, Node | None] = field(default_factory=dict)  # without objects that may not be read
    forbidden: Mapping[str, str] = field(default_factory=dict)  # what may not be read -> the API server's sentence

    def of_kind(self, *kinds: str) -> Iterator[tuple[Key, Node]]:
        """The wanted objects of some kinds."""
        return ((key, obj) for key, obj in self.wanted.items() if key[0] in kinds)

    def find(self, kind: str, name: str) -> Key | None:
        """The wanted object of a kind and name."""
        return next((key for key in self.wanted if (key[0].lower(), key[2]) == (kind.lower(), name)), None)

    def is_missing(self, key: Key) -> bool:
        """Whether an object was looked for and isn't there."""
        return key in self.live and self.live[key] is None

    def printed(self, key: Key) -> Node:
        """A wanted object as the installation writes it."""
        obj = self.wanted[key]
        if self.installer is not Installer.HELM:
            return obj
        metadata = obj["metadata"]
        notes = {**(metadata.get("annotations") or {}), RELEASE: self.release, RELEASE_NAMESPACE: self.namespace}
        labels = {**(metadata.get("labels") or {}), "app.kubernetes.io/managed-by": "Helm"}
        return {**obj, "metadata": {**metadata, "annotations": notes, "labels": labels}}

    def restore(self, kind: str, name: str) -> str:
        """The command that creates one missing object again; empty where its content isn't known."""
        if self.find(kind, name) is None:
            return ""
        return f"dynamo-webhooks doctor --namespace {self.namespace} --print {kind}/{name} | {_WRITING[self.installer]}"


async def read_parts(cluster: Cluster, about: Installation) -> InstalledObjects:
    """Reads an installation's objects, at most eight at a time. Raises: ApiError when the API server can't be asked."""
    namespace, forbidden = about.profile.namespace, dict[str, str]()
    owners: list[Node] = []
    try:
        owners += (await cluster.list(DEPLOYMENTS, namespace)).items
    except ForbiddenError as error:
        forbidden[f"Deployments of {namespace}"] = error.message
    shipped = _shipped(about)
    live = await _read(cluster, shipped, forbidden)
    owners += [each for each in live.values() if each is not None]
    release = next(filter(None, (_release(each, namespace) for each in owners)), "")
    if release and (wanted := await _manifest(cluster, release, namespace, forbidden)):
        live |= await _read(cluster, (key for key in wanted if key not in live), forbidden)
        return InstalledObjects(namespace, Installer.HELM, release, wanted, {key: live[key] for key in wanted if key in live}, forbidden)
    applied = {key: last_applied for key, each in live.items() if each is not None and (last_applied := _applied(each)) is not None}
    installer = (
        Installer.HELM
        if release
        else Installer.CLIENT_SIDE
        if applied
        else Installer.SERVER_SIDE
        if any(map(_is_server_side, owners))
        else Installer.OTHER
    )
    # objects that were applied are of the user's own overlay, others are as shipped
    wanted = _without_reconciler({**_like_their_siblings(shipped, live), **applied}, live)
    return InstalledObjects(namespace, installer, release, wanted, live, forbidden)


def make_key(obj: Node, namespace: str) -> Key:
    """The key of an object, whose namespace a manifest of Helm may leave out."""
    metadata = obj["metadata"]
    resource = RESOURCES.get(obj["kind"])
    where = metadata.get("namespace") or namespace if resource is None or resource.namespaced else ""
    return obj["kind"], where, metadata["name"]


def _shipped(about: Installation) -> dict[Key, Node]:
    """The objects of the overlay for this installation; empty where it has names of its own, or its certificates aren't ours to publish."""
    if about.profile.service != SERVICE or about.mode is Mode.EXTERNAL_INJECTION:
        return {}
    overlay = "namespaced" if about.restricted else "self-signed" if about.mode is Mode.MANAGED else "external-certificate"
    text = files(__package__).joinpath("shipped.json").read_text(encoding="utf-8")
    places = (about.profile.namespace, about.profile.namespace, about.names.serving)
    for usual, name in zip(_USUAL, places, strict=True):
        text = text.replace(usual, name)
    shipped = json.loads(text)
    return {make_key(obj, about.profile.namespace): obj for obj in (shipped["objects"][index] for index in shipped["overlays"][overlay])}


async def _read(cluster: Cluster, keys: Iterable[Key], forbidden: dict[str, str]) -> dict[Key, Node | None]:
    """The objects as they are; what may not be read is left out."""
    free = asyncio.Semaphore(_MAX_CONCURRENT_REQUESTS)

    async def get(key: Key) -> tuple[Key, Node | None] | None:
        kind, namespace, name = key
        try:
            async with free:
                return key, await cluster.get(RESOURCES[kind], name, namespace)
        except ForbiddenError as error:
            forbidden[f"{kind} {name}"] = error.message
            return None

    known = [key for key in keys if key[0] in RESOURCES]
    return dict(pair for pair in await asyncio.gather(*map(get, known)) if pair is not None)


def _release(obj: Node, namespace: str) -> str:
    """The Helm release that an object belongs to."""
    notes = obj["metadata"].get("annotations") or {}
    labels = obj["metadata"].get("labels") or {}
    ours = labels.get("app.kubernetes.io/part-of") == "dynamo-operator" and notes.get(RELEASE_NAMESPACE) == namespace
    return str(notes.get(RELEASE) or "") if ours else ""


async def _manifest(cluster: Cluster, release: str, namespace: str, forbidden: dict[str, str]) -> dict[Key, Node]:
    """The objects of a Helm release, as Helm stores them; empty where they may not be read."""
    import yaml

    try:
        stored = (await cluster.list(SECRETS, namespace, labels=f"owner=helm,name={release},status=deployed")).items
    except ForbiddenError as error:
        forbidden[f"Helm release {release}"] = error.message
        return {}
    if not stored:
        return {}
    newest = max(stored, key=lambda each: int((each["metadata"].get("labels") or {}).get("version") or 0))
    text = gzip.decompress(base64.b64decode(base64.b64decode(newest["data"]["release"])))
    objects = [each for each in yaml.safe_load_all(json.loads(text)["manifest"]) if each]
    return {make_key(each, namespace): each for each in objects if each["kind"] in RESOURCES}


def _applied(obj: Node) -> Node | None:
    """The object that `kubectl apply` wrote last; None where that isn't known or is another object."""
    try:
        applied = json.loads((obj["metadata"].get("annotations") or {})[APPLIED])
        same = (applied["kind"], applied["metadata"]["name"]) == (obj["kind"], obj["metadata"]["name"])
    except (KeyError, TypeError, ValueError):
        return None
    return applied if same else None


def find_component(obj: Node) -> str:
    """The component that an object belongs to; empty for one without the label."""
    return str((obj["metadata"].get("labels") or {}).get(COMPONENT) or "")


def _without_reconciler(wanted: Mapping[Key, Node], live: Mapping[Key, Node | None]) -> dict[Key, Node]:
    """Leaves the reconciler out where neither its Deployment nor its account is there: webhooks alone are an installation, too."""
    own = [key for key, obj in wanted.items() if key[0] in ("Deployment", "ServiceAccount") and find_component(obj) == "reconciler"]
    others_run = any(live.get(key) is not None for key in wanted if key[0] == "Deployment")
    if not others_run or any(live.get(key, {}) is not None for key in own):
        return dict(wanted)
    return {key: obj for key, obj in wanted.items() if find_component(obj) not in _RECONCILING}


def _is_server_side(obj: Node) -> bool:
    entries = obj["metadata"].get("managedFields") or ()
    return any((each.get("manager"), each.get("operation")) == ("kubectl", "Apply") for each in entries)


def _like_their_siblings(wanted: Mapping[Key, Node], live: Mapping[Key, Node | None]) -> dict[Key, Node]:
    """Shipped Deployments with the image and the place of those that run: an overlay of the user's own names them for all three."""
    pods = [find_pod_spec(each) for (kind, *_), each in live.items() if kind == "Deployment" and each is not None]
    if not pods:
        return dict(wanted)
    image = lookup(pods[0], ("containers", 0, "image"))
    scheduling: Node = {name: pods[0][name] for name in _SCHEDULING if name in pods[0]}
    return {
        key: _with_image(obj, image, scheduling) if key[0] == "Deployment" and isinstance(image, str) else obj
        for key, obj in wanted.items()
    }


def _with_image(deployment: Node, image: str, scheduling: Node) -> Node:
    spec, pod = deployment["spec"], find_pod_spec(deployment)
    containers = [{**each, "image": image} for each in pod["containers"]]
    template = {**spec["template"], "spec": {**pod, **scheduling, "containers": containers}}
    return {**deployment, "spec": {**spec, "template": template}}


def find_pod_spec(deployment: Node) -> dict[str, Any]:
    """The specification of a Deployment's pods; empty where it has none."""
    spec = lookup(deployment, ("spec", "template", "spec"))
    return spec if isinstance(spec, dict) else {}
