"""Facts from Kubernetes objects. Total: any content becomes a fact, nothing raises."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, TypeAlias

from ..api.line import of_definition
from ..kube.times import parse_time
from . import names
from .certificate import Certificate, Key, read_certificate, read_certificates, read_key
from .state import AuthoritySecret, Hint, Ownership, Phase, Serving, Target, TargetKind, Trust

Node: TypeAlias = "Mapping[str, Any]"


def read_authority(secret: Node) -> AuthoritySecret:
    """The CA Secret; a key that can't be read or belongs to another certificate counts as lost."""
    data, notes = _decoded(secret), _annotations(secret)
    current, following = read_certificate(data.get(names.CURRENT, b"")), read_certificate(data.get(names.NEXT, b""))
    generation = notes.get(names.GENERATION, "")
    return AuthoritySecret(
        version=_version(secret),
        current=current,
        current_key=_key_of(current, data.get(names.CURRENT_KEY, b"")),
        next=following,
        next_key=_key_of(following, data.get(names.NEXT_KEY, b"")),
        previous=tuple(
            certificate for certificate in read_certificates(data.get(names.PREVIOUS, b"")) if certificate not in {current, following}
        ),
        hint=_hint(notes),
        generation=int(generation) if generation.isascii() and generation.isdecimal() and len(generation) < 10 else 0,
        reason=notes.get(names.REASON, ""),
        requested=notes.get(names.REQUESTED, ""),
        handled=notes.get(names.HANDLED, ""),
    )


def read_serving(secret: Node) -> Serving:
    """The serving Secret."""
    data = _decoded(secret)
    chain, bundle = data.get(names.TLS_CERTIFICATE, b""), data.get(names.TLS_AUTHORITY, b"")
    return Serving(
        version=_version(secret),
        chain=chain,
        leaf=read_certificate(chain),
        key=read_key(data.get(names.TLS_KEY, b"")),
        bundle=bundle,
        authorities=read_certificates(bundle),
        holds_authority_key=names.AUTHORITY_KEY in data,
        authority_key=read_key(data.get(names.AUTHORITY_KEY, b"")),
    )


def read_trust(config_map: Node) -> Trust:
    """The trust ConfigMap."""
    data = config_map.get("data") or {}
    usable = frozenset(str(data.get(names.USABLE, "")).split())
    return Trust(_version(config_map), str(data.get(names.BUNDLE, "")).encode(), usable, _hint(_annotations(config_map)))


def read_target(kind: TargetKind, name: str, obj: Node | None, service: str, namespace: str, *, take_over: bool = False) -> Target:
    """One configuration object, or None; with `take_over` a CRD's foreign stanza counts as not set."""
    if obj is None:
        return Target(kind, name, ownership=Ownership.ABSENT)
    if kind is TargetKind.CRD:
        ownership, bundles = _conversion(obj, (service, namespace), take_over=take_over)
    else:
        entries = [entry.get("clientConfig") or {} for entry in obj.get("webhooks") or ()]
        bundles = tuple(_base64(entry.get("caBundle")) for entry in entries if service_of(entry) == (service, namespace))
        ownership = Ownership.OURS if bundles else Ownership.FOREIGN
    if ownership is not Ownership.FOREIGN and any(note.startswith(names.CERT_MANAGER) for note in _annotations(obj)):
        ownership, bundles = Ownership.ANNOTATED, bundles or (b"",)
    release = of_definition(obj) if kind is TargetKind.CRD else None
    return Target(kind, name, _version(obj), ownership, bundles, release=release or "")


def _conversion(crd: Node, ours: tuple[str, str], *, take_over: bool) -> tuple[Ownership, tuple[bytes, ...]]:
    conversion = (crd.get("spec") or {}).get("conversion") or {}
    if conversion.get("strategy", "None") != "Webhook":
        return Ownership.UNSET, ()
    webhook = conversion.get("webhook") or {}
    config = webhook.get("clientConfig") or {}
    if service_of(config) == ours:
        leads_here = config["service"].get("path") == names.CONVERT and names.REVIEW in (webhook.get("conversionReviewVersions") or ())
        return (Ownership.OURS if leads_here else Ownership.UNSET), (_base64(config.get("caBundle")),)
    return (Ownership.UNSET if take_over else Ownership.FOREIGN), ()


def service_of(config: Node) -> tuple[str, str]:
    """Name and namespace of the Service that a webhook's `clientConfig` names."""
    service = config.get("service") or {}
    return str(service.get("name", "")), str(service.get("namespace", ""))


def _key_of(certificate: Certificate | None, pem: bytes) -> Key | None:
    key = read_key(pem)
    return key if key and certificate and key.belongs_to(certificate) else None


def _hint(notes: Mapping[str, str]) -> Hint:
    phase = Phase(notes[names.PHASE]) if notes.get(names.PHASE) in set(Phase) else None
    return Hint(phase, parse_time(notes.get(names.SINCE)))


def _decoded(secret: Node) -> dict[str, bytes]:
    return {key: _base64(value) for key, value in (secret.get("data") or {}).items()}


def _base64(value: object) -> bytes:
    try:
        return base64.b64decode(value) if isinstance(value, str) else b""
    except (binascii.Error, ValueError):
        return b""


def _annotations(obj: Node) -> dict[str, str]:
    return {key: str(value) for key, value in ((obj.get("metadata") or {}).get("annotations") or {}).items()}


def _version(obj: Node) -> str:
    return str((obj.get("metadata") or {}).get("resourceVersion", ""))
