"""The next step, from facts and time, in mode `managed`; provided.py has the modes with external certificates."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from . import policy, provided, trust
from .certificate import Certificate, read_certificates
from .report import bundle_of
from .shared_steps import rewrite_serving, wait, write_bundles, write_trust
from .state import AuthoritySecret, CertificateState, Mode, Ownership, Phase, Target
from .step import (
    AdoptAuthority,
    CreateAuthority,
    DropPrevious,
    MarkPhase,
    NoStep,
    PromoteNext,
    Step,
    StoreNext,
    Wait,
    WriteBundle,
    WriteServing,
    WriteTrust,
)

_WAITING: Final = frozenset({Phase.TRUST, Phase.ROLL})  # entering these again only makes waits longer


def next_step(state: CertificateState, now: datetime) -> Step:
    """The one thing to do now, by the API server's time. A crash after any step is harmless: the same facts give the same next step."""
    if state.mode is not Mode.MANAGED:
        return provided.next_step(state, now)
    allowed = (step for step in _candidates(state, now) if policy.may_sign(state) or _harmless(step))
    return next(allowed, NoStep("the clock differs too much from the API server's: nothing is signed until it is corrected"))


def published_bundle(state: CertificateState, now: datetime, before: bytes) -> bytes:
    """The bundle that every object had at a look, by which repairs go; empty while another one is on its way to the objects."""
    bundle = b"" if state.mode is Mode.EXTERNAL_INJECTION else bundle_of(state, now)
    return bundle if bundle and (bundle == before or trust.is_trusted_everywhere(state, bundle)) else b""


def repair(target: Target, bundle: bytes) -> WriteBundle | None:
    """The step that gives an object the published bundle, if it lost that."""
    lost = bundle and not target.refused and target.ownership in {Ownership.OURS, Ownership.UNSET}
    return WriteBundle(target, bundle, "drift") if lost and not trust.is_synced(target, bundle, read_certificates(bundle)) else None


def _harmless(step: Step) -> bool:
    """Whether a step is safe with a wrong clock: repairs and waiting phases are."""
    if isinstance(step, MarkPhase):
        return step.phase in _WAITING
    return not isinstance(step, (CreateAuthority, AdoptAuthority, StoreNext, WriteServing, PromoteNext, DropPrevious, WriteTrust))


def _candidates(state: CertificateState, now: datetime) -> Iterator[Step]:
    secret = state.authority
    if secret is None or secret.current is None:
        yield _begin(state)
        return
    phase = policy.derive(state, now)
    if phase is Phase.PREPARE:
        yield StoreNext(policy.rotation_reason(state, now) or secret.reason or "key-lost")
        phase = Phase.STABLE  # reached only when nothing may be signed: repairs go on
    bundle = trust.choose_bundle(state, phase, now)
    if phase in {Phase.TRUST, Phase.SETTLE}:
        yield from _approach(state, secret, phase, bundle, now)
    elif phase is Phase.ISSUE:
        yield from _issue(state, secret, bundle, now)
    elif phase in policy.AFTER_ISSUE:
        yield from _withdraw(state, secret.current, phase, bundle, now)
    else:
        yield from _maintain(state, secret.current, phase, bundle, now)


def _begin(state: CertificateState) -> Step:
    """Adopts the authority that the Go operator left, or creates one and keeps trusting the issuers of served leaves."""
    serving = state.serving
    if state.authority is None and serving and serving.authority_key:
        key = serving.authority_key
        if any(key.belongs_to(authority) for authority in serving.authorities):
            if state.reference_running:
                return NoStep(
                    "the Go operator still has ready pods and would replace an adopted authority; stop it first, or force the adoption"
                )
            return AdoptAuthority()
    return CreateAuthority(trust.list_survivors(state))


def _approach(state: CertificateState, secret: AuthoritySecret, phase: Phase, bundle: bytes, now: datetime) -> Iterator[Step]:
    """TRUST and SETTLE: all objects get the new issuer, the old one keeps signing."""
    current = secret.current
    if secret.next and current and policy.can_sign(secret, now) and (reason := policy.leaf_reason(state, current, now)):
        yield WriteServing("current", bundle, reason)
    yield from rewrite_serving(state, bundle)
    if phase is Phase.TRUST and state.hint.phase is not Phase.TRUST:
        yield MarkPhase(Phase.TRUST)  # before the repair: a crash in between must not leave an old timer running
    yield from write_bundles(state, bundle, "rotation")
    # after the loss of the CA Secret, the serving Secret may be foreign: only pairs that are already served may be served
    outgoing = (current if secret.next else None, *trust.issuers(secret.previous, trust.list_presented_leaves(state)))
    # permission is never withdrawn before DROP: a server may have acted on it
    usable = trust.fingerprints(trust.list_own_authorities(secret)) & (state.trust.usable if state.trust else frozenset())
    yield from write_trust(state, bundle, trust.fingerprints(outgoing) | usable)
    if phase is Phase.TRUST:
        yield _blocked(state, now)
        return
    if state.hint.phase is not Phase.SETTLE or policy.age_of(state.hint.since, now) is None:
        yield MarkPhase(Phase.SETTLE)
    yield wait(state, now, policy.settle_time(state), "every API server must have seen the new authority before it is used")


def _issue(state: CertificateState, secret: AuthoritySecret, bundle: bytes, now: datetime) -> Iterator[Step]:
    """ISSUE: permission for servers, the leaf, the rename; each is found half done by facts."""
    yield from write_bundles(state, bundle, "rotation")
    yield from write_trust(state, bundle, trust.fingerprints((secret.current, secret.next, *secret.previous)))
    issuer, key = (secret.next, secret.next_key) if secret.next else (secret.current, secret.current_key)
    if issuer and key and (reason := policy.leaf_reason(state, issuer, now)):
        yield WriteServing("next" if secret.next else "current", bundle, "rotation" if reason == "issuer-differs" else reason)
    if not secret.next:
        yield MarkPhase(Phase.ROLL)
        return
    # the next `previous`: the current authority, and older ones while their leaves are or may be served; at most three
    older = secret.previous if trust.blind(state) else trust.issuers(secret.previous, trust.list_served_leaves(state))
    yield PromoteNext(tuple(dict.fromkeys(filter(None, (secret.current, *older))))[: trust.MAX_AUTHORITIES - 1])


def _withdraw(state: CertificateState, current: Certificate, phase: Phase, bundle: bytes, now: datetime) -> Iterator[Step]:
    """ROLL, DRAIN and DROP: withdraw the old authority when no server has used it for a while."""
    yield from _leaf(state, current, bundle, now)
    timed = state.hint.phase is phase and policy.age_of(state.hint.since, now) is not None
    if policy.list_foreign_endpoints(state) if phase is Phase.DROP else not timed:
        yield MarkPhase(Phase.ROLL)
    if phase is Phase.DROP:
        yield from _drop(state, current, bundle, now)
        return
    yield from rewrite_serving(state, bundle)
    yield from write_bundles(state, bundle, "drift")
    secret = state.authority
    yield from write_trust(state, bundle, trust.fingerprints((current, *(secret.previous if secret else ()))))
    lasted = policy.age_of(state.hint.since, now) or timedelta(0)
    if phase is Phase.ROLL:
        if policy.has_converged(state) and lasted >= policy.roll_time(state):
            yield MarkPhase(Phase.DROP if policy.is_key_compromised(state) else Phase.DRAIN)
        yield wait(state, now, policy.roll_time(state), "every endpoint must present a leaf of the current authority")
        return
    if policy.has_converged(state) and (lasted >= state.timings.drain or policy.is_key_compromised(state)):
        yield MarkPhase(Phase.DROP)
    yield wait(state, now, state.timings.drain, "the old authority stays trusted in case a server still presents its certificate")


def _drop(state: CertificateState, current: Certificate, bundle: bytes, now: datetime) -> Iterator[Step]:
    """First servers may not use the old authority, then objects don't trust it, then it is deleted."""
    usable = frozenset({current.fingerprint})
    if state.trust is None or state.trust.usable != usable:
        yield WriteTrust(state.trust.bundle if state.trust else bundle, usable)
    yield from write_bundles(state, bundle, "rotation")
    yield from rewrite_serving(state, bundle)
    yield from write_trust(state, bundle, usable)
    if trust.is_trusted_everywhere(state, bundle):
        yield DropPrevious()
    yield _blocked(state, now)


def _maintain(state: CertificateState, current: Certificate, phase: Phase, bundle: bytes, now: datetime) -> Iterator[Step]:
    """STABLE and the end of BOOTSTRAP: renew, repair, wait."""
    yield from _leaf(state, current, bundle, now)
    yield from rewrite_serving(state, bundle)
    yield from write_bundles(state, bundle, "bootstrap" if phase is Phase.BOOTSTRAP else "drift")
    secret = state.authority
    yield from write_trust(state, bundle, trust.fingerprints((current, *(secret.previous if secret else ()))))
    if not trust.is_trusted_everywhere(state, bundle):
        yield _blocked(state, now)
    if state.hint.phase is not Phase.STABLE:
        yield MarkPhase(Phase.STABLE)
    due = [policy.rotation_time(state, current)]
    if state.serving and state.serving.leaf:
        due.append(policy.renewal_time(state.serving.leaf))
    until = min((moment for moment in due if moment > now), default=now + state.timings.resync)
    yield Wait(min(until, now + state.timings.resync), "the certificate is current, and so is each object that may be written")


def _leaf(state: CertificateState, current: Certificate, bundle: bytes, now: datetime) -> Iterator[Step]:
    """A certificate of the current authority, if needed; if another authority's is served, publish the issuer first."""
    if state.authority and policy.can_sign(state.authority, now) and (reason := policy.leaf_reason(state, current, now)):
        if not all(current.issued(leaf) for leaf in trust.list_served_leaves(state)):
            yield from write_bundles(state, bundle, "drift")
        yield WriteServing("current", bundle, reason)


def _blocked(state: CertificateState, now: datetime) -> Step:
    return Wait(now + state.timings.resync, "some configuration objects can't be written, so the rotation stays where it is")
