"""Runs the actions of `certs` by hand: against a cluster, with the provisioner's own parts."""

from collections.abc import Mapping
from typing import Any

from ....certs import names
from ....certs.certificate import Certificate, read_certificates
from ....certs.contents import make_content
from ....certs.gather import Gatherer, Refusals, RotationFacts
from ....certs.inject import Injector, OverwrittenError
from ....certs.installation import Installation
from ....certs.plan import next_step
from ....certs.policy import can_sign, may_sign
from ....certs.probe import Prober
from ....certs.report import bundle_of, find_unready_cause, list_reports, phase_of
from ....certs.state import Mode, Ownership, Phase, Target
from ....certs.step import NoStep, Wait, WriteServing
from ....certs.store import Store
from ....certs.trust import holds, is_synced, list_own_authorities, list_unsynced
from ....kube.errors import ApiError
from ....kube.protocol import Cluster

Facts = dict[str, Any]


class RefusedError(Exception):
    """The request can't be carried out now; the text is a sentence with the reason and the remedy."""


class CertificateActions:
    """The parts of a provisioner for one installation; no Lease is taken: the lock of each write is enough for one."""

    def __init__(self, cluster: Cluster, about: Installation) -> None:
        profile = about.profile
        self.about, self.store = about, Store(cluster, about.names)
        self.injector = Injector(cluster, profile, take_over=about.take_over)
        prober = Prober(cluster, profile.service, profile.namespace, profile.server_name)
        self.gatherer = Gatherer(cluster, about, self.store, self.injector, prober, Refusals())

    async def issue(self, *, dry_run: bool) -> str:
        """Writes a new certificate of today's authority into the serving Secret; the result as a sentence.

        Raises: RefusedError if nothing may be signed now; ApiError.
        """
        self._managed("a certificate")
        gathered = await self.gatherer.gather()
        state, phase = gathered.state, phase_of(gathered.state, gathered.now)
        if state.authority is None or not can_sign(state.authority, gathered.now):
            raise RefusedError("there is no authority that can sign; run `dynamo-webhooks provision --once` to have one made")
        if not may_sign(state):
            raise RefusedError("this machine's clock differs too much from the API server's to sign anything; set it first")
        if phase is Phase.ISSUE:
            raise RefusedError("a rotation is just changing the certificate; wait until it has")
        write = make_content(WriteServing("current", bundle_of(state, gathered.now), "requested"), state, gathered.now, self.about.names)
        if write is None or dry_run:
            return f"would write a new certificate into the Secret {self.about.names.serving}"
        await self.store.write(write)
        return f"a new certificate is in the Secret {self.about.names.serving}; servers take it into use by themselves"

    async def rotate(self, *, compromised: bool, dry_run: bool) -> str:
        """Request a new authority from the provisioner; return the result as a sentence. Raises: RefusedError, ApiError."""
        self._managed("an authority")
        gathered = await self.gatherer.gather()
        if gathered.state.authority is None:
            raise RefusedError("there is no authority to rotate; run `dynamo-webhooks provision --once` to have one made")
        notes = {names.REQUESTED: gathered.now.isoformat()} | ({names.REASON: "compromised"} if compromised else {})
        values = ", ".join(f"{key}={value}" for key, value in notes.items())
        if dry_run:
            return f"would set {values} on the Secret {self.about.names.authority}"
        await self.store.annotate("Secret", self.about.names.authority, notes)
        return f"set {values} on the Secret {self.about.names.authority}; the provisioner rotates, and `certs inspect` shows how far it is"

    async def inject(self, *, dry_run: bool) -> list[tuple[bool, str]]:
        """Writes the bundle into each object that doesn't show it: whether it succeeded, and a sentence, for each. Raises: ApiError."""
        gathered = await self.gatherer.gather()
        bundle = bundle_of(gathered.state, gathered.now)
        if not bundle:
            raise RefusedError("no authority to trust was found in the CA Secret, the serving Secret or trustFile")
        wrong = list_unsynced(gathered.state, bundle)
        absent = [target for target in gathered.state.targets if target.ownership in {Ownership.ABSENT, Ownership.FOREIGN}]
        return [await self._write(target, bundle, dry_run=dry_run) for target in (*wrong, *absent)]

    async def _write(self, target: Target, bundle: bytes, *, dry_run: bool) -> tuple[bool, str]:
        named = f"{target.kind} {target.name}"
        if target.ownership not in {Ownership.OURS, Ownership.UNSET}:
            why = {
                Ownership.ABSENT: "is not there",
                Ownership.FOREIGN: "points to another service and is left alone",
                Ownership.ANNOTATED: "is written by cert-manager and left alone",
            }[target.ownership]
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


def describe_cluster(gathered: RotationFacts) -> Facts:
    """All facts of a cluster that a provisioner decides from, in the order of their importance; never a key."""
    state, now = gathered.state, gathered.now
    cause = find_unready_cause(state, now)
    step = next_step(state, now)
    authorities = (
        *(list_own_authorities(state.authority) if state.authority else ()),
        *(state.serving.authorities if state.serving else ()),
    )
    return {
        "ready": cause is None,
        "reason": cause[1] if cause else "",
        "mode": state.mode.value,
        "phase": phase_of(state, now).value,
        "next": step.why if isinstance(step, (Wait, NoStep)) else type(step).__name__,
        "clockSkewSeconds": round(state.skew.total_seconds()),
        "reports": [{"reason": each.reason, "text": each.text} for each in list_reports(state, now)],
        "certificate": _certificate(state.serving.leaf) if state.serving and state.serving.leaf else None,
        "authorities": [_certificate(authority) for authority in dict.fromkeys(authorities)],
        "objects": [_object(each, bundle_of(state, now)) for each in state.targets],
        "endpoints": None
        if state.endpoints is None
        else [{"address": each.address, "fingerprint": each.leaf.fingerprint if each.leaf else ""} for each in state.endpoints],
    }


def as_text(facts: Mapping[str, Any]) -> str:
    """One line a fact, for people."""
    lines = ["ready" if facts["ready"] else f"not ready: {facts['reason']}"]
    lines += [f"{key}: {facts[key]}" for key in ("mode", "phase", "next", "clockSkewSeconds")]
    lines += [f"{each['reason']}: {each['text']}" for each in facts["reports"]]
    if facts["certificate"]:
        lines += _describe_certificate("certificate", facts["certificate"])
    for authority in facts["authorities"]:
        lines += _describe_certificate("authority", authority)
    for each in facts["objects"]:
        lines.append(f"{each['kind']} {each['name']}: {each['stance']}, {'trusts us' if each['inSync'] else 'does not show the bundle'}")
    for each in facts["endpoints"] or ():
        lines.append(f"endpoint {each['address']}: " + (f"presents {each['fingerprint'][:16]}" if each["fingerprint"] else "no answer"))
    if facts["endpoints"] is None:
        lines.append("endpoints: not permitted to know them")
    return "".join(f"{line}\n" for line in lines)


def _describe_certificate(what: str, certificate: Mapping[str, Any]) -> list[str]:
    names = f" for {', '.join(certificate['names'])}" if certificate["names"] else ""
    return [
        f"{what}: {certificate['subject']}{names}, until {certificate['notAfter']}, {certificate['keyKind']}, "
        f"SHA-256 {certificate['fingerprint'][:16]}"
    ]


def _certificate(certificate: Certificate) -> Facts:
    return {
        "subject": certificate.common_name,
        "names": sorted(certificate.names),
        "serial": f"{certificate.parsed.serial_number:x}",
        "notBefore": certificate.not_before.isoformat(),
        "notAfter": certificate.not_after.isoformat(),
        "keyKind": certificate.key_kind,
        "fingerprint": certificate.fingerprint,
    }


def _object(target: Target, bundle: bytes) -> Facts:
    needed = read_certificates(bundle)
    synced = is_synced(target, bundle, needed) and all(holds(shown, needed) for shown in target.bundles)
    return {"kind": target.kind.value, "name": target.name, "stance": target.ownership.value, "inSync": bool(target.bundles) and synced}
