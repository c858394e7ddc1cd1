"""The stored objects: what a step writes into them, whole, in one update; uncached reads, and writes that never overwrite others'."""

from __future__ import annotations

import base64
import copy
import logging
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from ..kube.errors import ConflictError
from ..kube.protocol import Cluster, Node
from ..kube.resources import CONFIG_MAPS, DEPLOYMENTS, SECRETS, Resource
from . import names
from .authority import AUTHORITY_NAME, KeyPair, issue_leaf, make_authority
from .certificate import Certificate
from .names import Names
from .state import CertificateState, Mode, Phase
from .step import (
    AdoptAuthority,
    CreateAuthority,
    DropPrevious,
    MarkPhase,
    PromoteNext,
    RewriteServing,
    Step,
    StoreNext,
    WriteServing,
    WriteTrust,
)
from .trust import list_authorities

LOG: Final = logging.getLogger("certs.store")
LABELS: Final = {
    "app.kubernetes.io/name": "dynamo-webhooks",
    "app.kubernetes.io/component": "provisioner",
    "app.kubernetes.io/part-of": "dynamo-operator",
}
OPAQUE: Final = "Opaque"  # the type of a Secret that may hold anything
TLS: Final = "kubernetes.io/tls"
_NUMBERED: Final = re.compile(re.escape(AUTHORITY_NAME) + r"(\d{1,9})\Z")


class Store:
    """Reads and writes the stored objects of one installation."""

    def __init__(self, cluster: Cluster, called: Names) -> None:
        self._cluster, self._called = cluster, called

    async def authority(self) -> Node | None:
        """The CA Secret."""
        return await self._cluster.get(SECRETS, self._called.authority, self._called.namespace)

    async def serving(self) -> Node | None:
        """The serving Secret."""
        return await self._cluster.get(SECRETS, self._called.serving, self._called.namespace)

    async def trust(self) -> Node | None:
        """The trust ConfigMap."""
        return await self._cluster.get(CONFIG_MAPS, self._called.trust, self._called.namespace)

    async def servers(self, service: str) -> Node | None:
        """The Deployment behind a Service, by the name that the manifests and the chart give it."""
        return await self._cluster.get(DEPLOYMENTS, f"{service}-server", self._called.namespace)

    async def write(self, write: Write) -> Node:
        """Creates the object, or replaces the very version that the decision was made from.

        What can't be replaced is deleted and created. Servers keep their pair meanwhile; after a crash between both, the next step is that
        for an object that is lost.

        Raises: ConflictError or AlreadyExistsError when the stored version differs; then read and decide again.
        """
        resource = _resource(write.kind)
        if not write.version:
            return await self._cluster.create(resource, as_object(write, None, self._called.namespace))
        old = await self._cluster.get(resource, write.name, self._called.namespace)
        if old is None or old["metadata"]["resourceVersion"] != write.version:
            raise ConflictError(409, "Conflict", f"{write.kind} {write.name} has changed since it was read")
        if why := explain_immutable(old, write.type):
            LOG.warning("%s %s is %s: it is deleted and created again", write.kind, write.name, why)
            await self._delete(resource, old)
            head = {key: old["metadata"][key] for key in ("labels", "annotations") if key in old["metadata"]}  # all that stays
            bare = {"apiVersion": "v1", "kind": write.kind, "metadata": head}
            return await self._cluster.create(resource, as_object(write._replace(version=""), bare, self._called.namespace))
        return await self._cluster.replace(resource, as_object(write, old, self._called.namespace))

    async def _delete(self, resource: Resource, old: Node) -> None:
        """Deletes that very version, after removing its finalizers: own objects need none."""
        head = old["metadata"]
        if head.get("finalizers"):
            head = (await self._cluster.replace(resource, {**old, "metadata": {**head, "finalizers": []}}))["metadata"]
        await self._cluster.delete(resource, head["name"], head["namespace"], uid=head["uid"], version=head["resourceVersion"])

    async def annotate(self, kind: str, name: str, notes: dict[str, str]) -> None:
        """Sets annotations of a stored object and touches nothing else."""
        await self._cluster.merge_patch(_resource(kind), name, {"metadata": {"annotations": notes}}, self._called.namespace)


def _resource(kind: str) -> Resource:
    return SECRETS if kind == "Secret" else CONFIG_MAPS


class Write(NamedTuple):
    """One write of a whole object. Its text holds keys: never log it."""

    kind: str  # `Secret` or `ConfigMap`
    name: str
    type: str  # of a new Secret
    data: Mapping[str, bytes]  # all keys: what isn't here is deleted
    notes: Mapping[str, str | None]  # annotations to set, or with None to delete; others stay
    version: str  # resourceVersion that must still be there; empty: the object must not exist yet


def make_content(step: Step, state: CertificateState, now: datetime, called: Names) -> Write | None:
    """Make the objects that a step writes, with new keys. None for steps that write no Secret or ConfigMap (WriteBundle, Wait, Nothing)."""
    if isinstance(step, (WriteServing, RewriteServing)):
        return _serving(step, state, now, called)
    if isinstance(step, WriteTrust) or (isinstance(step, MarkPhase) and state.mode is not Mode.MANAGED):
        return _trust(step, state, now, called)
    if isinstance(step, (CreateAuthority, AdoptAuthority, StoreNext, PromoteNext, MarkPhase, DropPrevious)):
        return _authority(step, state, now, called)
    return None


def as_object(write: Write, old: Mapping[str, Any] | None, namespace: str) -> Node:
    """The object to create (no `old`) or to replace `old` with; labels, annotations and whatever else others put there stay."""
    obj: Node = copy.deepcopy(dict(old)) if old else {"apiVersion": "v1", "kind": write.kind}
    meta = obj.setdefault("metadata", {})
    meta |= {"name": write.name, "namespace": namespace}
    if write.version:
        meta["resourceVersion"] = write.version  # optimistic lock: another write in between is a conflict
    meta["labels"] = {**(meta.get("labels") or {}), **LABELS, "nvidia.com/dynamo-operator-namespace": namespace}
    notes = {**(meta.get("annotations") or {}), **write.notes}
    meta["annotations"] = {key: value for key, value in notes.items() if value is not None}
    if write.kind == "Secret":
        obj.setdefault("type", write.type)
        obj["data"] = {key: base64.b64encode(value).decode() for key, value in write.data.items()}
        obj.pop("stringData", None)
    else:
        obj["data"] = {key: value.decode() for key, value in write.data.items()}
        obj.pop("binaryData", None)
    return obj


def explain_immutable(obj: Mapping[str, Any], type_: str) -> str:
    """Why an object can't be replaced and must be made anew; empty when it can be. `type_` is that of our Secret."""
    if obj.get("immutable"):
        return "immutable"
    seen_type = obj.get("type") or OPAQUE
    return f"of type {str(seen_type)[:60]}" if type_ and seen_type not in (OPAQUE, type_) else ""


def _serving(step: WriteServing | RewriteServing, state: CertificateState, now: datetime, called: Names) -> Write:
    old = state.serving
    if isinstance(step, RewriteServing):
        if old is None or old.key is None:
            raise ValueError("a serving Secret is rewritten only when it holds a pair")
        pair = KeyPair(old.chain, old.key.pem)
    else:
        timings, profile = state.timings, state.profile
        pair = issue_leaf(
            _signer(state, step), profile.names, now, life=timings.leaf_life, backdate=timings.backdate, key_kind=profile.key_kind
        )
    data = {names.TLS_CERTIFICATE: pair.certificate, names.TLS_KEY: pair.key, names.TLS_AUTHORITY: step.bundle}
    return Write("Secret", called.serving, TLS, data, {}, old.version if old else "")


def _signer(state: CertificateState, step: WriteServing) -> KeyPair:
    secret = state.authority
    certificate, key = (None, None) if secret is None else (secret.current, secret.current_key)
    if secret and step.signer == "next":
        certificate, key = secret.next, secret.next_key
    if certificate is None or key is None:
        raise ValueError(f"the {step.signer} authority must have a key to sign with")
    return KeyPair(certificate.pem, key.pem)


def _trust(step: Step, state: CertificateState, now: datetime, called: Names) -> Write:
    old = state.trust
    bundle, usable = (step.bundle, step.usable) if isinstance(step, WriteTrust) else (old.bundle, old.usable) if old else (b"", frozenset())
    notes = _entered(step.phase, now) if isinstance(step, MarkPhase) else {}
    data = {names.BUNDLE: bundle, names.USABLE: "".join(f"{one}\n" for one in sorted(usable)).encode()}
    return Write("ConfigMap", called.trust, "", data, notes, old.version if old else "")


def _authority(step: Step, state: CertificateState, now: datetime, called: Names) -> Write:
    secret = state.authority
    data: dict[str, bytes] = {}
    if secret:  # in our encoding, without unreadable values
        held = {
            names.CURRENT: secret.current,
            names.CURRENT_KEY: secret.current_key,
            names.NEXT: secret.next,
            names.NEXT_KEY: secret.next_key,
        }
        data = {slot: one.pem for slot, one in held.items() if one} | _previous(secret.previous)
    generation = _generation(state) + 1
    notes: dict[str, str | None] = {}
    if isinstance(step, CreateAuthority):
        made = _new(state, generation, now)
        data = {names.CURRENT: made.certificate, names.CURRENT_KEY: made.key, **_previous(step.previous)}
        notes = {**_entered(Phase.TRUST if step.previous else Phase.BOOTSTRAP, now), names.GENERATION: str(generation)}
        notes[names.REASON] = "key-lost" if step.previous else None
    elif isinstance(step, AdoptAuthority):
        serving = state.serving
        key = serving.authority_key if serving else None
        if serving is None or key is None:
            raise ValueError("an authority is adopted only with its key")
        certificate = next(one for one in serving.authorities if key.belongs_to(one))
        data = {names.CURRENT: certificate.pem, names.CURRENT_KEY: key.pem}
        notes = {**_entered(Phase.STABLE, now), names.GENERATION: str(generation), names.REASON: "adopted"}
    elif isinstance(step, StoreNext):
        made = _new(state, generation, now)
        data |= {names.NEXT: made.certificate, names.NEXT_KEY: made.key}
        notes = {**_entered(Phase.TRUST, now), names.GENERATION: str(generation), names.REASON: step.reason}
        notes[names.HANDLED] = secret.requested if secret and secret.requested else None
    elif isinstance(step, PromoteNext):
        slots = {names.CURRENT: data.get(names.NEXT), names.CURRENT_KEY: data.get(names.NEXT_KEY)}
        data = {key: value for key, value in slots.items() if value} | _previous(step.previous)
        notes = _entered(Phase.ROLL, now)
    elif isinstance(step, MarkPhase):
        notes = _entered(step.phase, now)
    else:
        data.pop(names.PREVIOUS, None)
        notes = {**_entered(Phase.STABLE, now), names.REASON: None}
    return Write("Secret", called.authority, OPAQUE, data, notes, secret.version if secret else "")


def _new(state: CertificateState, generation: int, now: datetime) -> KeyPair:
    timings = state.timings
    life, kind = timings.authority_life, state.profile.key_kind
    return make_authority(now, generation=generation, life=life, backdate=timings.backdate, key_kind=kind)


def _generation(state: CertificateState) -> int:
    """The highest generation used so far, from the annotation or the names of all known authorities."""
    numbers = [int(found[1]) for one in list_authorities(state) if (found := _NUMBERED.match(one.common_name))]
    return max([0, *numbers, state.authority.generation if state.authority else 0])


def _previous(authorities: tuple[Certificate, ...]) -> dict[str, bytes]:
    return {names.PREVIOUS: b"".join(one.pem for one in authorities)} if authorities else {}


def _entered(phase: Phase, now: datetime) -> dict[str, str | None]:
    return {names.PHASE: phase.value, names.SINCE: now.isoformat(timespec="milliseconds")}
