"""What `certs inspect` shows: of a cluster everything that a provisioner decides from, of a directory its pair; as text or JSON."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from ....certs.certificate import Certificate, read_certificate, read_certificates, read_key
from ....certs.files import read_file
from ....certs.gather import Gathered
from ....certs.names import TLS_AUTHORITY, TLS_CERTIFICATE, TLS_KEY
from ....certs.plan import next_step
from ....certs.report import bundle_of, phase_of, reports, unready
from ....certs.state import CertificateState, Target
from ....certs.step import Nothing, Wait
from ....certs.trust import holds, ours, shows

Facts = dict[str, Any]


def of_cluster(found: Gathered) -> Facts:
    """All facts, in the order of their importance; never a key."""
    state, now = found.state, found.now
    cause = unready(state, now)
    step = next_step(state, now)
    return {
        "ready": cause is None,
        "reason": cause[1] if cause else "",
        "mode": state.mode.value,
        "phase": phase_of(state, now).value,
        "next": step.why if isinstance(step, (Wait, Nothing)) else type(step).__name__,
        "clockSkewSeconds": round(state.skew.total_seconds()),
        "reports": [{"reason": each.reason, "text": each.text} for each in reports(state, now)],
        "certificate": _certificate(state.serving.leaf) if state.serving and state.serving.leaf else None,
        "authorities": [_certificate(one) for one in _authorities(state)],
        "objects": [_object(each, bundle_of(state, now)) for each in state.targets],
        "endpoints": None
        if state.endpoints is None
        else [{"address": each.address, "fingerprint": each.leaf.fingerprint if each.leaf else ""} for each in state.endpoints],
    }


def of_directory(directory: Path, now: datetime) -> Facts:
    """The pair of a directory. Raises PairError when a file can't be read."""
    chain, key = read_file(directory / TLS_CERTIFICATE), read_key(read_file(directory / TLS_KEY))
    authority = directory / TLS_AUTHORITY
    bundle = read_certificates(read_file(authority)) if authority.exists() else ()
    leaf = read_certificate(chain)
    wrong = "tls.crt must hold a certificate" if leaf is None else _wrong(leaf, key is not None and key.belongs_to(leaf), bundle, now)
    return {
        "ready": not wrong,
        "reason": wrong,
        "certificate": _certificate(leaf) if leaf else None,
        "authorities": [_certificate(one) for one in bundle],
    }


def as_text(facts: Mapping[str, Any]) -> str:
    """One line a fact, for people."""
    lines = ["ready" if facts["ready"] else f"not ready: {facts['reason']}"]
    lines += [f"{key}: {facts[key]}" for key in ("mode", "phase", "next", "clockSkewSeconds") if key in facts]
    lines += [f"{each['reason']}: {each['text']}" for each in facts.get("reports", ())]
    if facts["certificate"]:
        lines += _told("certificate", facts["certificate"])
    for one in facts["authorities"]:
        lines += _told("authority", one)
    for each in facts.get("objects", ()):
        lines.append(f"{each['kind']} {each['name']}: {each['stance']}, {'trusts us' if each['inSync'] else 'does not show the bundle'}")
    endpoints = facts.get("endpoints", ())
    for each in () if endpoints is None else endpoints:
        lines.append(f"endpoint {each['address']}: " + (f"presents {each['fingerprint'][:16]}" if each["fingerprint"] else "no answer"))
    if endpoints is None:
        lines.append("endpoints: not permitted to know them")
    return "".join(f"{line}\n" for line in lines)


def _wrong(leaf: Certificate, belongs: bool, bundle: tuple[Certificate, ...], now: datetime) -> str:
    if not belongs:
        return "tls.key must be the key of tls.crt"
    if not leaf.valid_at(now):
        return f"the certificate must be valid now, and is from {leaf.not_before:%Y-%m-%d} until {leaf.not_after:%Y-%m-%d}"
    return "" if not bundle or any(one.issued(leaf) for one in bundle) else "ca.crt must hold the authority that issued tls.crt"


def _told(what: str, one: Mapping[str, Any]) -> list[str]:
    names = f" for {', '.join(one['names'])}" if one["names"] else ""
    return [f"{what}: {one['subject']}{names}, until {one['notAfter']}, {one['keyKind']}, SHA-256 {one['fingerprint'][:16]}"]


def _certificate(one: Certificate) -> Facts:
    return {
        "subject": one.common_name,
        "names": sorted(one.names),
        "serial": f"{one.parsed.serial_number:x}",
        "notBefore": one.not_before.isoformat(),
        "notAfter": one.not_after.isoformat(),
        "keyKind": one.key_kind,
        "fingerprint": one.fingerprint,
    }


def _authorities(state: CertificateState) -> tuple[Certificate, ...]:
    inside = state.serving.authorities if state.serving else ()
    return tuple(dict.fromkeys((*(ours(state.authority) if state.authority else ()), *inside)))


def _object(target: Target, bundle: bytes) -> Facts:
    needed = read_certificates(bundle)
    synced = shows(target, bundle, needed) and all(holds(one, needed) for one in target.bundles)
    return {"kind": target.kind.value, "name": target.name, "stance": target.stance.value, "inSync": bool(target.bundles) and synced}
