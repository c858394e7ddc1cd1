"""What the actions of `certs` do, by hand: against a cluster with the provisioner's own parts, or in a directory of files."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from ....certs import names
from ....certs.authority import KeyPair, issue_leaf, make_authority
from ....certs.certificate import Certificate, read_certificate, read_certificates, read_key
from ....certs.files import AUTHORITY, CERTIFICATE, KEY, read_file, store
from ....certs.gather import Gathered, Gatherer, Refusals
from ....certs.inject import Injector, OverwrittenError
from ....certs.installation import Installation
from ....certs.names import AUTHORITY_KEY, TLS_AUTHORITY, TLS_CERTIFICATE, TLS_KEY
from ....certs.plan import next_step
from ....certs.policy import can_sign, may_sign
from ....certs.probe import Prober
from ....certs.report import bundle_of, phase_of, reports, unready
from ....certs.state import CertificateState, Mode, Phase, Stance, Target
from ....certs.step import Nothing, Wait, WriteServing
from ....certs.store import Store, make_content
from ....certs.trust import holds, list_unsynced, ours, shows
from ....kube.errors import ApiError
from ....kube.protocol import Cluster

Facts = dict[str, Any]


class RefusedError(Exception):
    """The request can't be carried out now; the text is a sentence with the reason and the remedy."""


class Hands:
    """The parts of a provisioner for one installation; no Lease is taken: the lock of each write is enough for one."""

    def __init__(self, cluster: Cluster, about: Installation) -> None:
        profile = about.profile
        self.about, self.store = about, Store(cluster, about.called)
        self.injector = Injector(cluster, profile, take_over=about.take_over)
        prober = Prober(cluster, profile.service, profile.namespace, profile.server_name)
        self.gatherer = Gatherer(cluster, about, self.store, self.injector, prober, Refusals())

    async def issue(self, *, dry_run: bool) -> str:
        """Writes a new certificate of today's authority into the serving Secret; the result as a sentence.

        Raises: RefusedError if nothing may be signed now; ApiError.
        """
        self._managed("a certificate")
        found = await self.gatherer.gather()
        state, phase = found.state, phase_of(found.state, found.now)
        if state.authority is None or not can_sign(state.authority, found.now):
            raise RefusedError("there is no authority that can sign; run `dynamo-webhooks provision --once` to have one made")
        if not may_sign(state):
            raise RefusedError("this machine's clock differs too much from the API server's to sign anything; set it first")
        if phase is Phase.ISSUE:
            raise RefusedError("a rotation is just changing the certificate; wait until it has")
        write = make_content(WriteServing("current", bundle_of(state, found.now), "requested"), state, found.now, self.about.called)
        if write is None or dry_run:
            return f"would write a new certificate into the Secret {self.about.called.serving}"
        await self.store.write(write)
        return f"a new certificate is in the Secret {self.about.called.serving}; servers take it into use by themselves"

    async def rotate(self, *, compromised: bool, dry_run: bool) -> str:
        """Request a new authority from the provisioner; return the result as a sentence. Raises: RefusedError, ApiError."""
        self._managed("an authority")
        found = await self.gatherer.gather()
        if found.state.authority is None:
            raise RefusedError("there is no authority to rotate; run `dynamo-webhooks provision --once` to have one made")
        notes = {names.REQUESTED: found.now.isoformat()} | ({names.REASON: "compromised"} if compromised else {})
        told = ", ".join(f"{key}={value}" for key, value in notes.items())
        if dry_run:
            return f"would set {told} on the Secret {self.about.called.authority}"
        await self.store.annotate("Secret", self.about.called.authority, notes)
        return f"set {told} on the Secret {self.about.called.authority}; the provisioner rotates, and `certs inspect` shows how far it is"

    async def inject(self, *, dry_run: bool) -> list[tuple[bool, str]]:
        """Writes the bundle into each object that doesn't show it: whether it succeeded, and a sentence, for each. Raises: ApiError."""
        found = await self.gatherer.gather()
        bundle = bundle_of(found.state, found.now)
        if not bundle:
            raise RefusedError("no authority to trust was found in the CA Secret, the serving Secret or trustFile")
        wrong = list_unsynced(found.state, bundle)
        absent = [one for one in found.state.targets if one.stance in {Stance.ABSENT, Stance.FOREIGN}]
        return [await self._write(one, bundle, dry_run=dry_run) for one in (*wrong, *absent)]

    async def _write(self, target: Target, bundle: bytes, *, dry_run: bool) -> tuple[bool, str]:
        named = f"{target.kind} {target.name}"
        if target.stance not in {Stance.OURS, Stance.UNSET}:
            why = {
                Stance.ABSENT: "is not there",
                Stance.FOREIGN: "points to another service and is left alone",
                Stance.ANNOTATED: "is written by cert-manager and left alone",
            }[target.stance]
            return False, f"{named} {why}"
        if target.refused:
            return False, f"{named}: {target.refused}"
        try:
            await self.injector.write(target, bundle, dry_run=dry_run)
        except (ApiError, OverwrittenError) as error:
            return False, f"{named}: {error}"
        return True, f"{named}: {'would be given the bundle' if dry_run else 'trusts us now'}"

    def _managed(self, what: str) -> None:
        if self.about.mode is not Mode.MANAGED:
            raise RefusedError(f"{what} is not made by the provisioner in mode {self.about.mode}; renew it at its issuer")


def issue_files(directory: Path, about: Installation, now: datetime, *, dry_run: bool) -> str:
    """Writes tls.crt and tls.key, signed by the directory's authority, which is made if missing; the result as a sentence.

    Raises: RefusedError for an authority that can't sign; OSError.
    """
    timings, profile = about.timings, about.profile
    authority, made = _authority(directory, about, now)
    leaf = issue_leaf(authority, profile.names, now, life=timings.leaf_life, backdate=timings.backdate, key_kind=profile.key_kind)
    what = f"an authority and a certificate for {profile.server_name}" if made else f"a certificate for {profile.server_name}"
    if dry_run:
        return f"would write {what} into {directory}"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if made:
        store(directory / AUTHORITY_KEY, authority.key, 0o600)
        store(directory / AUTHORITY, authority.certificate, 0o644)
    store(directory / KEY, leaf.key, 0o600)
    store(directory / CERTIFICATE, leaf.certificate, 0o644)
    return f"{what} is in {directory}; keep {AUTHORITY_KEY} away from the cluster, servers need the other three"


def _authority(directory: Path, about: Installation, now: datetime) -> tuple[KeyPair, bool]:
    """The authority of the directory and whether it is new; half of one is never completed by another."""
    files = directory / AUTHORITY, directory / AUTHORITY_KEY
    if not any(file.exists() for file in files):
        timings, kind = about.timings, about.profile.key_kind
        return make_authority(now, life=timings.authority_life, backdate=timings.backdate, key_kind=kind), True
    for file in files:
        if not file.exists():
            raise RefusedError(f"{file} must be there beside the other half of the authority; put it there, or choose an empty directory")
    pair = KeyPair(read_file(files[0]), read_file(files[1]))
    certificate, key = read_certificate(pair.certificate), read_key(pair.key)
    if certificate is None or not certificate.is_authority:
        raise RefusedError(f"{files[0]} must hold the certificate of an authority")
    if key is None or not key.belongs_to(certificate):
        raise RefusedError(f"{files[1]} must hold the key of {files[0]}, PEM and not encrypted")
    if not certificate.valid_at(now):
        raise RefusedError(f"{files[0]} must be valid now, and ends at {certificate.not_after:%Y-%m-%d}")
    return KeyPair(certificate.pem, pair.key), False


def describe_cluster(found: Gathered) -> Facts:
    """All facts of a cluster that a provisioner decides from, in the order of their importance; never a key."""
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


def describe_directory(directory: Path, now: datetime) -> Facts:
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
