"""Writes a bundle into a configuration object: JSON patches of our entries, which fail if anything changed meanwhile."""

import base64
from collections.abc import Mapping
from typing import Any, Final

from ..kube.errors import ConflictError, InvalidError
from ..kube.protocol import Cluster, Node
from ..kube.resources import CRDS, MUTATING, VALIDATING, Resource
from . import names
from .reading import read_target, service_of
from .state import Ownership, Profile, Target, TargetKind

RESOURCES: Final[dict[TargetKind, Resource]] = {TargetKind.CRD: CRDS, TargetKind.MUTATING: MUTATING, TargetKind.VALIDATING: VALIDATING}
PORT: Final = 443


class OverwrittenError(Exception):
    """The bundle was accepted and then lost: another writer changes this object."""


def make_patch(target: Target, obj: Mapping[str, Any], bundle: bytes, profile: Profile) -> list[Node]:
    """The patch that writes the bundle to our entries of `target`'s object; it tests version and names first, for objects may move."""
    encoded = base64.b64encode(bundle).decode()
    patch: list[Node] = [{"op": "test", "path": "/metadata/resourceVersion", "value": target.version}]
    if target.kind is not TargetKind.CRD:
        for index, entry in enumerate(obj.get("webhooks") or ()):
            if service_of(entry.get("clientConfig") or {}) == (profile.service, profile.namespace):
                patch.append({"op": "test", "path": f"/webhooks/{index}/name", "value": entry.get("name")})
                patch.append({"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": encoded})
    elif target.ownership is Ownership.UNSET:
        patch.append({"op": "add", "path": "/spec/conversion", "value": _stanza(profile, encoded, obj)})
    else:
        patch.append({"op": "add", "path": "/spec/conversion/webhook/clientConfig/caBundle", "value": encoded})
    return patch


class Injector:
    """Reads and writes the configuration objects of one installation."""

    def __init__(self, cluster: Cluster, profile: Profile, *, take_over: bool = False) -> None:
        """With `take_over`, a CRD's stanza that points to another service counts as not set."""
        self._cluster, self._profile, self._take_over = cluster, profile, take_over

    async def read(self, kind: TargetKind, name: str) -> Target:
        """The object as it is now, never from a cache."""
        return self.to_target(kind, name, await self._cluster.get(RESOURCES[kind], name))

    def to_target(self, kind: TargetKind, name: str, obj: Node | None) -> Target:
        """The object as a read or a watch showed it."""
        return read_target(kind, name, obj, self._profile.service, self._profile.namespace, take_over=self._take_over)

    async def write(self, target: Target, bundle: bytes, *, current: Node | None = None, dry_run: bool = False) -> None:
        """Write, then read the object again and compare. `current` is the object as last read, if known.

        Raises: ConflictError when the object isn't what `target` was read from; OverwrittenError; other ApiErrors when it is refused.
        """
        resource = RESOURCES[target.kind]
        obj = current if current is not None else await self._cluster.get(resource, target.name)
        if obj is None or obj["metadata"]["resourceVersion"] != target.version:
            raise _moved(target)
        try:
            await self._cluster.json_patch(resource, target.name, make_patch(target, obj, bundle, self._profile), dry_run=dry_run)
        except InvalidError:
            after = await self._cluster.get(resource, target.name)
            if after is None or after["metadata"]["resourceVersion"] != target.version:
                raise _moved(target) from None  # a test of the patch failed: that is no refusal
            raise
        if dry_run:
            return
        after = await self._cluster.get(resource, target.name)
        if after is not None and any(shown != bundle for shown in self.to_target(target.kind, target.name, after).bundles):
            raise OverwrittenError(f"{target.kind} {target.name} was changed by another client right after the bundle was written")


def _stanza(profile: Profile, encoded: str, crd: Mapping[str, Any]) -> Node:
    """A whole conversion by webhook; the port stays where one of our service is damaged."""
    config = (((crd.get("spec") or {}).get("conversion") or {}).get("webhook") or {}).get("clientConfig") or {}
    port = config["service"].get("port", PORT) if service_of(config) == (profile.service, profile.namespace) else PORT
    service = {"name": profile.service, "namespace": profile.namespace, "path": names.CONVERT, "port": port}
    webhook = {"clientConfig": {"service": service, "caBundle": encoded}, "conversionReviewVersions": [names.REVIEW]}
    return {"strategy": "Webhook", "webhook": webhook}


def _moved(target: Target) -> ConflictError:
    return ConflictError(409, "Conflict", f"{target.kind} {target.name} has changed since it was read")
